use std::time::{Duration, Instant};

use hero_audit::{Audit, Execution, Outcome, Record, Who};
use hero_service::{PULSE, Service, until_pulse};
use hero_store::{Error, Lost, Store};

/// Takes jobs back from servers that died, and checks those that are in queues or run with foreign actors.
pub struct Reaper {
    store: Store,
    /// Whether Redis was away. Then its servers need a moment to renew the leases of running jobs.
    was_away: bool,
    /// The time at which the next check is due.
    due: Option<Instant>,
    audit: Audit,
}

/// Maximum number of jobs that one call checks.
const JOBS_PER_CALL: usize = 32;
/// Interval of the check.
const CHECK_INTERVAL: Duration = Duration::from_millis(400);
/// The pause between two calls of a round. Many jobs may be in queues, and checking them must not keep Redis busy.
const CALL_PAUSE: Duration = Duration::from_millis(15);

impl Reaper {
    /// Creates a reaper for one context.
    pub fn new(store: Store) -> Self {
        Self { store, was_away: false, due: None, audit: Audit::default() }
    }

    /// Returns the reaper with an audit log, which gets the attempts whose servers died.
    pub(super) fn with_audit(self, audit: Audit) -> Self {
        Self { audit, ..self }
    }
}

impl Reaper {
    /// Returns the audit record of an attempt whose server lost its lease.
    fn record(&self, lost: Lost) -> Record {
        Record {
            context: Some(self.store.context()),
            object: Some(format!("job:{}", lost.job)),
            caller: lost.caller,
            execution: Some(Execution { attempt: lost.attempt, end: "lost", duration_ms: None }),
            note: Some("its lease ran out, so it was taken from who ran it".to_owned()),
            ..Record::new(Who::Actor(lost.actor), "execute", Outcome::Bad)
        }
    }

    /// True if this round is so late that this process may not have renewed its own leases either. Never true twice in
    /// a row, so that jobs of dead servers do not wait too long.
    fn was_held_up(&mut self) -> bool {
        let lease = self.store.periods().lease;
        // The minimum remaining time of a lease that was renewed in time, without the pause between two checks and a bit.
        let most = (lease * 2 / 3).saturating_sub(CHECK_INTERVAL + Duration::from_millis(50)).max(Duration::from_millis(100));
        self.due.take().is_some_and(|due| due.elapsed() > most)
    }
}

impl Service for Reaper {
    type Error = Error;

    const NAME: &'static str = "requeuing jobs of dead actors";

    async fn tick(&mut self) -> Result<Duration, Error> {
        if self.was_held_up() {
            return Ok(self.store.periods().lease / 3 + Duration::from_millis(100) + PULSE);
        }
        if std::mem::take(&mut self.was_away) {
            self.store.health().ping().await.inspect_err(|_| self.was_away = true)?;
            return Ok(self.store.periods().lease / 3 + Duration::from_secs(1));
        }
        let Some((looked, lost)) = self.store.queues().reap_lost(JOBS_PER_CALL).await.inspect_err(|_| self.was_away = true)? else {
            self.was_away = true;
            return Ok(Duration::ZERO);
        };
        // The process that ran them may be dead and unable to record it.
        lost.into_iter().for_each(|lost| self.audit.note(|| self.record(lost)));
        let pause = if looked >= JOBS_PER_CALL { CALL_PAUSE } else { until_pulse(CHECK_INTERVAL) };
        self.due = Some(Instant::now() + pause);
        Ok(pause)
    }
}
