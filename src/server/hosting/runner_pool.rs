use std::time::{Duration, Instant};

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::pool_permits::PoolPermit;
use super::{Hosting, TIME_SLICE};
use crate::model::Runner;
use crate::server::pools::{ContextPools, PoolStarter};
use crate::store::Store;

/// A local runner, and its pool while it has one.
pub(super) struct RunnerPool {
    pub(super) runner: Runner,
    pub(super) state: State,
    /// The time since which it has jobs and waits for a permit, if it does.
    pub(super) waits_since: Option<Instant>,
    /// The number of failed starts in a row.
    failures: u32,
}

/// The state of the pool.
pub(super) enum State {
    /// There is no pool. One may start from this time on.
    Resting(Option<Instant>),
    /// The pool takes jobs.
    Running(Box<Running>),
    /// The pool takes no jobs, and ends when its jobs have. The token ends it with the grace period.
    Leaving(JoinHandle<()>, CancellationToken),
}

/// A pool that takes jobs.
pub(super) struct Running {
    pools: ContextPools,
    shutdown: CancellationToken,
    since: Instant,
    /// The time at which a job was last seen running.
    busy: Instant,
    /// Whether it takes no jobs, because its turn is over and others wait.
    is_paused: bool,
    permit: PoolPermit,
}

/// Idle time before a pool makes way for another.
const IDLE_TIME: Duration = Duration::from_secs(1);
/// The pause after a failed start; it doubles with each further failure.
const RESTART_DELAY: Duration = Duration::from_secs(1);
/// The maximum pause.
const MAX_RESTART_DELAY: Duration = Duration::from_secs(60);

impl RunnerPool {
    pub(super) const fn new(runner: Runner) -> Self {
        Self { runner, state: State::Resting(None), waits_since: None, failures: 0 }
    }

    /// Whether it has no pool.
    pub(super) const fn rests(&self) -> bool {
        matches!(self.state, State::Resting(_))
    }

    /// Whether it has no pool and one may start.
    pub(super) fn may_start(&self, now: Instant) -> bool {
        matches!(self.state, State::Resting(after) if after.is_none_or(|after| after <= now))
    }

    /// The number of running jobs in its pool. Counts at least one for a pool that is leaving.
    pub(super) fn jobs(&self) -> usize {
        match &self.state {
            State::Resting(_) => 0,
            State::Running(running) => running.jobs(),
            State::Leaving(..) => 1,
        }
    }

    /// Starts its pool. A failed start is retried after a growing pause.
    pub(super) async fn start(&mut self, hosting: &Hosting, starter: &PoolStarter, store: &Store, permit: PoolPermit) {
        let (id, context, shutdown) = (self.runner.runner_id, store.context(), hosting.0.shutdown.child_token());
        match starter.start_runner(store, &self.runner, &hosting.limits_of(context), &shutdown).await {
            Ok(Some(pools)) => {
                tracing::info!(runner = %id, %context, script_type = %self.runner.script_type, "the pool of a runner has started");
                let now = Instant::now();
                self.state = State::Running(Box::new(Running { pools, shutdown, since: now, busy: now, is_paused: false, permit }));
                self.failures = 0;
            }
            // It cannot run here, as was logged when the runner was seen.
            Ok(None) => self.state = State::Resting(Some(Instant::now() + MAX_RESTART_DELAY)),
            Err(error) => {
                // End what had started.
                shutdown.cancel();
                let again = RESTART_DELAY.saturating_mul(1 << self.failures.min(6)).min(MAX_RESTART_DELAY);
                tracing::warn!(runner = %id, %context, "the pool of a runner does not start, and is tried again in {again:?}: {error:#}");
                self.state = State::Resting(Some(Instant::now() + again));
                self.failures = self.failures.saturating_add(1);
            }
        }
    }

    /// Ends its pool if it was idle for `idle`, or if its turn is over and others wait; notes when it has ended. While
    /// its jobs run it takes no others and keeps its permit, unless another pool gives one up first.
    pub(super) fn look(&mut self, now: Instant, idle: Duration, tasks: &TaskTracker) {
        match &mut self.state {
            State::Resting(_) => {}
            State::Leaving(ending, _) => {
                if ending.is_finished() {
                    self.state = State::Resting(None);
                }
            }
            State::Running(running) => {
                if running.jobs() > 0 {
                    running.busy = now;
                }
                let (quiet, since) = (now - running.busy, now - running.since);
                let is_asked = (quiet >= IDLE_TIME || since >= TIME_SLICE) && running.permit.is_wanted();
                // If it was paused before, it has taken none since, so no long job has just begun.
                let gives_permit = is_asked && running.is_paused && running.jobs() == 0;
                running.pause(is_asked);
                if quiet >= idle || gives_permit {
                    self.leave(tasks);
                }
            }
        }
    }

    /// Makes its pool stop taking jobs, and end when running ones have ended.
    pub(super) fn leave(&mut self, tasks: &TaskTracker) {
        match std::mem::replace(&mut self.state, State::Resting(None)) {
            State::Running(mut running) => {
                running.permit.leave();
                let shutdown = running.shutdown.clone();
                self.state = State::Leaving(tasks.spawn(left(running)), shutdown);
            }
            other => self.state = other,
        }
    }

    /// Whether it takes no more jobs but still has some.
    pub(super) fn is_leaving(&self) -> bool {
        matches!(&self.state, State::Leaving(ending, _) if !ending.is_finished())
    }

    /// Ends its pool: running scripts get the grace period.
    pub(super) fn shut(&self) {
        match &self.state {
            State::Resting(_) => {}
            State::Running(running) => running.shutdown.cancel(),
            State::Leaving(_, shutdown) => shutdown.cancel(),
        }
    }

    /// Waits until its pool has ended.
    pub(super) async fn ended(self) {
        match self.state {
            State::Resting(_) => {}
            State::Running(running) => running.ended().await,
            // It does not panic; if it did, nothing would be left to end.
            State::Leaving(ending, _) => drop(ending.await),
        }
    }
}

impl Running {
    fn jobs(&self) -> usize {
        self.pools.pools.iter().map(|entry| entry.pool.status.jobs()).sum()
    }

    fn pause(&mut self, paused: bool) {
        if std::mem::replace(&mut self.is_paused, paused) != paused {
            self.pools.pools.iter().for_each(|entry| entry.pool.pause(paused));
        }
    }

    async fn ended(&self) {
        for entry in &self.pools.pools {
            entry.pool.ended().await;
        }
    }
}

/// Makes a pool stop taking jobs, and frees its permit when the running ones have ended.
async fn left(running: Box<Running>) {
    running.pools.pools.iter().for_each(|entry| entry.pool.leave());
    running.ended().await;
}
