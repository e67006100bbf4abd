use super::Foreman;
use crate::actor::desk::Desk;
use crate::store::Ended;

/// Jobs that others shall run.
impl Foreman {
    /// Gives jobs back that were taken ahead; if `stale`, only what has waited too long behind busy actors.
    pub(super) fn give_back_what_waits(&mut self, stale: bool) {
        if stale {
            self.pace.slowed();
            if let Some((_, job)) = self.waiting.front().filter(|(_, job)| !job.concurrent)
                && let Some(desk) = self.actors.get_mut(job.slot)
            {
                desk.clear();
            }
        }
        let own = self.actors.iter_mut().flat_map(|desk| desk.own.drain(..));
        let waiting: Vec<_> = self.waiting.drain(..).chain(own).collect();
        // Each goes to the front of its queue, so the one that is to come first goes last.
        self.ends.extend(waiting.into_iter().rev().map(|(_, job)| Ended::released(job.job, job.attempt, job.started_at)));
    }

    /// Gives back what did not end in the grace period. The actors, and their engines, end with this foreman.
    pub(super) fn give_back_what_runs(&mut self) {
        for job in self.actors.iter_mut().flat_map(Desk::abandon) {
            tracing::warn!(%job, "a running job is given back, because this process ends");
            let attempt = self.holdings.attempt(&job).unwrap_or_default();
            self.ends.push(Ended::released(job, attempt, self.store.clock().now()));
        }
    }
}
