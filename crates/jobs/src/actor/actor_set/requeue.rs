use super::ActorSet;
use crate::actor::handle::ActorHandle;
use hero_model::Timestamp;
use hero_store::{AttemptEnd, Claimed, Ended};

/// Requeues jobs, so that others run them.
impl ActorSet {
    /// Requeues the jobs that were fetched ahead. `stale` is true if they have waited too long behind busy actors. Then
    /// an actor whose next job must run alone takes nothing more until it can run that job.
    ///
    /// No job may be on its way here when this is called: a job that arrives later would be requeued in front of these.
    pub(in crate::actor) fn requeue_waiting(&mut self, stale: bool) {
        if stale {
            self.prefetch.pause();
            let alone = self.waiting.front().filter(|(_, job)| !job.concurrent).map(|(_, job)| job.actor_index);
            for (index, actor) in self.actors.iter_mut().enumerate() {
                if alone == Some(index) || actor.own.front().is_some_and(|(_, job)| !job.concurrent) {
                    actor.drain();
                }
            }
        }
        let own = self.actors.iter_mut().flat_map(|actor| actor.own.drain(..));
        let waiting: Vec<_> = self.waiting.drain(..).chain(own).collect();
        self.claims.clear();
        // Each goes to the front of its queue, so the first in order is requeued last.
        let requeued = |job: Claimed| Ended::of(job.job, job.attempt, job.claim, job.started_at, AttemptEnd::Requeued);
        waiting.into_iter().rev().for_each(|(_, job)| self.end_waiting(requeued, job));
    }

    /// Requeues the jobs that did not end in the grace period. The actors and their engines end with the fetcher.
    pub(in crate::actor) fn requeue_running(&mut self, now: Timestamp) {
        let of_actor = |(index, actor): (usize, &mut ActorHandle)| actor.drop_workers().into_iter().map(move |run| (index, run));
        for (actor, run) in self.actors.iter_mut().enumerate().flat_map(of_actor).collect::<Vec<_>>() {
            tracing::warn!(job = %run.job, "a running job is requeued, because this process ends");
            self.record(actor, &run, &AttemptEnd::Requeued);
            self.end(run.lost, Ended::of(run.job, run.attempt, run.claim, now, AttemptEnd::Requeued), run.speculation.as_ref());
        }
    }
}
