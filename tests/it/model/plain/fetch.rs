use hero::model::Status;

use super::{ABANDONED, LEASE, Number, Plain, RETRY_IN, UNWRITTEN};
use crate::model::step::End;

/// Jobs are taken, and end.
impl Plain {
    /// Returns the fetched jobs, with their claims.
    pub fn claim(&mut self, server: usize, place: usize, room: usize) -> Vec<(Number, u32)> {
        let stops: Vec<Number> = self.control.iter().chain(self.control_of.get(&place).into_iter().flatten()).copied().collect();
        let mut taken = Vec::new();
        while taken.len() < room && !self.paused {
            let Some(job) = self.queue.pop_back() else { break };
            let status = self.jobs[job].status;
            if status.is_none() {
                self.unwritten.entry(job).or_insert(self.now + UNWRITTEN);
                continue;
            }
            if !matches!(status, Some(Status::Dispatched | Status::Started)) {
                continue;
            }
            if status == Some(Status::Started) {
                let over = match self.leases.get(&job) {
                    Some(lease) => *lease <= self.now,
                    // Whoever watches a foreign actor's job knows when it is over.
                    None if self.watched.contains_key(&job) => false,
                    None => self.jobs[job].started_at.is_none_or(|since| since + ABANDONED <= self.now),
                };
                if !over {
                    continue;
                }
                self.leases.remove(&job);
                self.jobs[job].seen = false;
                if self.crashed(job) {
                    continue;
                }
            }
            if stops.contains(&job) || self.jobs[job].stopping {
                self.fail(job);
                self.control.retain(|other| *other != job);
                continue;
            }
            let strange = self.watched.remove(&job).is_none() || self.jobs[job].unseen;
            if strange && status != Some(Status::Started) && !self.admit(job) {
                continue;
            }
            let now = self.now;
            let it = &mut self.jobs[job];
            it.attempt += 1;
            it.unknown = false;
            (it.status, it.started_at, it.holder, it.actor) = (Some(Status::Started), Some(now), Some(server), Some(place));
            taken.push((job, it.attempt + it.given_back));
            self.leases.insert(job, self.now + LEASE);
            self.event(job, Status::Started);
        }
        taken
    }

    /// Returns the current status, or none if another actor holds the job. Relatives are released at once if nothing else waits for that.
    pub fn finish(&mut self, server: usize, job: Number, claim: u32, end: End) -> Option<Status> {
        let it = &mut self.jobs[job];
        if it.status != Some(Status::Started) || it.attempt + it.given_back != claim || it.holder != Some(server) {
            return None;
        }
        self.leases.remove(&job);
        let releases_at_once = self.pending.is_empty();
        match end {
            End::Finished => self.end(job, Status::Finished),
            End::Failed => {
                it.failures += 1;
                if !it.stopping && it.failures <= it.retries {
                    (it.status, it.holder) = (Some(Status::Scheduled), None);
                    self.scheduled.insert(job, self.now + RETRY_IN);
                    self.event(job, Status::Scheduled);
                } else {
                    self.fail(job);
                }
            }
            End::Crashed => self.lost(job),
            End::Requeued => {
                it.given_back += 1;
                let attempt = it.attempt - 1;
                self.requeue(job, attempt);
            }
        }
        let status = self.jobs[job].status;
        if releases_at_once {
            self.release();
        }
        status
    }
}
