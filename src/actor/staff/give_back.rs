use super::Staff;
use crate::actor::handle::ActorHandle;
use crate::model::Timestamp;
use crate::store::Ended;

/// Jobs that others shall run.
impl Staff {
    /// Gives jobs back that were taken ahead. If `stale`, because they have waited too long behind busy actors: then an actor
    /// whose next job must run alone takes nothing more until it can.
    ///
    /// What was taken later and comes only after this would be put before them, so nothing may be on its way.
    pub(in crate::actor) fn give_back_what_waits(&mut self, stale: bool) {
        if stale {
            self.prefetch.pause();
            let alone = self.waiting.front().filter(|(_, job)| !job.concurrent).map(|(_, job)| job.slot);
            for (index, actor) in self.actors.iter_mut().enumerate() {
                if alone == Some(index) || actor.own.front().is_some_and(|(_, job)| !job.concurrent) {
                    actor.drain();
                }
            }
        }
        let own = self.actors.iter_mut().flat_map(|actor| actor.own.drain(..));
        let waiting: Vec<_> = self.waiting.drain(..).chain(own).collect();
        // Each goes to the front of its queue, so the one that is to come first goes last.
        self.ends.extend(waiting.into_iter().rev().map(|(_, job)| Ended::released(job.job, job.claim, job.started_at)));
    }

    /// Gives back what did not end in the grace period. The actors, and their engines, end with the foreman.
    pub(in crate::actor) fn give_back_what_runs(&mut self, now: Timestamp) {
        for run in self.actors.iter_mut().flat_map(ActorHandle::drop_workers).collect::<Vec<_>>() {
            tracing::warn!(job = %run.job, "a running job is given back, because this process ends");
            self.end(run.lost, Ended::released(run.job, run.claim, now));
        }
    }
}
