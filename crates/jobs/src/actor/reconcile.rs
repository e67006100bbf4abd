use std::time::Duration;

use tokio::time::Instant;

use super::lease::HeldLeases;
use hero_model::JobId;
use hero_store::Fetch;

/// Finds claims that Redis counts for this pool although the pool does not know of them.
///
/// If the answer to a call was lost, the call may have started jobs. It may also do so later: a proxy or a stalled
/// Redis executes a call that it kept even when nobody waits for it any more. But a claim that the pool does not know
/// of may also be on its way here. So it counts as lost only if it is still unknown after a second.
#[derive(Debug, Default)]
pub(super) struct Reconciler {
    /// Unknown claims, each with the time at which it was first seen.
    suspects: Vec<(Instant, JobId, u32)>,
    /// Until then, an unanswered call may still start jobs.
    until: Option<Instant>,
}

/// A claim may be on its way here for this long.
const CLAIM_ON_ITS_WAY: Duration = Duration::from_secs(1);
/// A call that Redis executes later than this after it was sent starts nothing. One second is added as a margin.
const MAX_CALL_AGE: Duration = Fetch::MAX_CALL_AGE.saturating_add(Duration::from_secs(1));

impl Reconciler {
    /// Notes that a call got no answer. The pool is compared with Redis while that call may still start jobs, and at
    /// least for the length of a lease.
    pub(super) fn note_unanswered(&mut self, lease: Duration) {
        self.until = Some(Instant::now() + lease.max(MAX_CALL_AGE));
    }

    /// True if the pool must be compared with Redis again.
    pub(super) fn has_more_to_compare(&self) -> bool {
        !self.suspects.is_empty() || self.until.is_some_and(|until| Instant::now() < until)
    }

    /// Compares the claims that Redis counts with those that the pool knows, and returns the lost ones. With `at_once`,
    /// unknown claims count as lost immediately.
    pub(super) fn compare(&mut self, held: Vec<(JobId, u32)>, known: &HeldLeases, at_once: bool) -> Vec<(JobId, u32)> {
        let (now, before) = (Instant::now(), std::mem::take(&mut self.suspects));
        let mut lost = Vec::new();
        for (job, claim) in held.into_iter().filter(|held| !known.contains(held)) {
            let since = before.iter().find(|(_, suspect, of)| *suspect == job && *of == claim).map_or(now, |(since, _, _)| *since);
            if at_once || now.duration_since(since) >= CLAIM_ON_ITS_WAY {
                lost.push((job, claim));
            } else {
                self.suspects.push((since, job, claim));
            }
        }
        lost
    }
}
