use std::time::Duration;

use tokio::time::Instant;

use super::lease::Holdings;
use crate::model::JobId;

/// Claims that Redis says this pool has, and that nobody here knows of.
///
/// A call whose answer got lost may have started some, and it may do so later: what a proxy or a stalled Redis has kept is
/// executed when nobody waits for it any more. But a claim may also just be on its way here, so it counts as lost only when
/// it is still unknown after a second.
#[derive(Debug, Default)]
pub(super) struct Doubt {
    suspects: Vec<(Instant, JobId, u32)>,
    /// Until when a call without an answer may still start jobs.
    until: Option<Instant>,
}

/// How long a claim may be on its way.
const ON_ITS_WAY: Duration = Duration::from_secs(1);
/// A call that is executed later than this after it was sent starts nothing (`LATE` in `turn.lua` and `create.lua`), with a second to spare.
const LATE: Duration = Duration::from_millis(6500);

impl Doubt {
    /// Notes that a call got no answer. It is looked for what it starts for as long as it may, and for a lease at least.
    pub(super) fn arise(&mut self, lease: Duration) {
        self.until = Some(Instant::now() + lease.max(LATE));
    }

    /// Whether there is something to look at again.
    pub(super) fn remains(&self) -> bool {
        !self.suspects.is_empty() || self.until.is_some_and(|until| Instant::now() < until)
    }

    /// Compares what Redis says with what is known, and gives what is lost; `at_once` does not wait for what may be on its way.
    pub(super) fn examine(&mut self, held: Vec<(JobId, u32)>, known: &Holdings, at_once: bool) -> Vec<(JobId, u32)> {
        let (now, before) = (Instant::now(), std::mem::take(&mut self.suspects));
        let mut lost = Vec::new();
        for (job, claim) in held.into_iter().filter(|held| !known.contains(held)) {
            let since = before.iter().find(|(_, suspect, of)| *suspect == job && *of == claim).map_or(now, |(since, _, _)| *since);
            if at_once || now.duration_since(since) >= ON_ITS_WAY {
                lost.push((job, claim));
            } else {
                self.suspects.push((since, job, claim));
            }
        }
        lost
    }
}
