//! Stops, retries, deletions, and the loops of servers, in the plain model.

use hero::model::JobId;

use super::*;
use crate::model::cycle::waits_for_itself;

/// Why a job does not run again.
#[derive(Debug)]
pub enum Refusal {
    Illegal(Status),
    Blocked(Number),
    Cycle(Status),
}

impl Plain {
    pub fn renew(&mut self, server: usize, job: Number, claim: u32) -> bool {
        let it = &self.jobs[job];
        let held = it.status == Some(Status::Started) && it.attempt + it.given_back == claim && it.holder == Some(server);
        if held {
            self.leases.insert(job, self.now + LEASE);
        }
        held
    }

    /// Returns true if it has ended, and false if its actor was told to stop it.
    pub fn stop(&mut self, job: Number) -> Option<bool> {
        let status = self.jobs[job].status.filter(|status| !status.is_final())?;
        if status != Status::Started {
            self.withdraw(job);
            self.fail(job);
            return Some(true);
        }
        self.jobs[job].stopping = true;
        let told = match self.jobs[job].holder {
            Some(_) => self.control_of.entry(self.jobs[job].actor.unwrap()).or_default(),
            None => &mut self.control,
        };
        // However often it is asked for, it is told once.
        told.retain(|other| *other != job);
        told.insert(0, job);
        Some(false)
    }

    /// Returns the jobs that the server shall stop.
    pub fn control(&mut self, server: usize, place: usize) -> Vec<Number> {
        let mut mine = Vec::new();
        for queue in [None, Some(place)] {
            let ids = match queue {
                None => self.control.clone(),
                Some(place) => self.control_of.get(&place).cloned().unwrap_or_default(),
            };
            let mut done = BTreeSet::new();
            for job in ids {
                match self.jobs[job].status {
                    None => continue,
                    Some(Status::Started) if self.jobs[job].holder == Some(server) => {
                        self.jobs[job].stopping = true;
                        mine.push(job);
                    }
                    // Whoever runs it is told.
                    Some(Status::Started) => {
                        self.jobs[job].stopping = true;
                        continue;
                    }
                    Some(Status::Finished | Status::Error) => {}
                    Some(_) => {
                        self.withdraw(job);
                        self.fail(job);
                    }
                }
                done.insert(job);
            }
            match queue {
                None => self.control.retain(|job| !done.contains(job)),
                Some(place) => self.control_of.entry(place).or_default().retain(|job| !done.contains(job)),
            }
        }
        mine
    }

    /// The status it gets; or that it has not ended, as `Err`; or the prerequisite in error.
    pub fn retry(&mut self, job: Number) -> Result<Status, Refusal> {
        let status = self.jobs[job].status.expect("asked for jobs that are there");
        if !status.is_final() {
            return Err(Refusal::Illegal(status));
        }
        if self.watched.contains_key(&job) {
            self.settle(job);
            let status = self.jobs[job].status.unwrap();
            if !status.is_final() {
                return Err(Refusal::Illegal(status));
            }
        }
        let others = self.jobs[job].prerequisites.clone();
        if let Some(other) = others.iter().find(|other| self.jobs[**other].status == Some(Status::Error)) {
            return Err(Refusal::Blocked(*other));
        }
        // Others that ran before may wait for it now.
        let waits = |other: &Number| self.jobs[*other].status.is_some_and(|status| status != Status::Finished);
        let of = Relations {
            prerequisites: others.iter().copied().filter(waits).collect(),
            dependents: Vec::new(),
            parent: self.jobs[job].parent,
            predecessor: self.jobs[job].predecessor,
        };
        if waits_for_itself(self, &[(job, of, true)]) {
            return Err(Refusal::Cycle(self.jobs[job].status.unwrap()));
        }
        // What it waited for before does not matter any more.
        self.unlink(job);
        self.control.retain(|other| *other != job);
        self.control_of.values_mut().for_each(|list| list.retain(|other| *other != job));
        let it = &mut self.jobs[job];
        (it.failures, it.crashes, it.stopping, it.seen, it.missing_at, it.started_at) = (0, 0, false, false, None, None);
        (it.linked, it.unknown) = (true, false);
        let there: Vec<Number> = others.into_iter().filter(|other| self.jobs[*other].status.is_some()).collect();
        self.link_prerequisites(job, &there);
        if let Some(other) = self.jobs[job].predecessor {
            self.link_predecessor(job, other);
        }
        if let Some(parent) = self.jobs[job].parent {
            self.link_parent(job, parent);
        }
        Ok(self.begin(job, None))
    }

    /// Deletes a job that does not run. It stays, and this gives its status, while children of it run, or it has ended and its descendants have not.
    pub fn delete(&mut self, job: Number) -> Option<Status> {
        if is_final(self.jobs[job].status) && self.watched.contains_key(&job) {
            self.settle(job);
        }
        let status = self.jobs[job].status;
        if self.active.contains_key(&job) || is_final(status) && !self.closed(job) {
            return status;
        }
        self.unlink(job);
        self.withdraw(job);
        self.jobs[job].status = None;
        if let Some(parent) = self.jobs[job].rel.filter(|_| !is_final(status)) {
            self.pending.push_back((job, Status::Error, parent));
        }
        None
    }

    /// Whether its time can be over.
    pub fn expire(&mut self, job: Number) -> bool {
        let can = self.expires(job) && !self.pending.iter().any(|(other, ..)| *other == job);
        if can {
            self.jobs[job].status = None;
        }
        can
    }

    /// Whether Redis deletes it when its time is over.
    pub fn expires(&self, job: Number) -> bool {
        is_final(self.jobs[job].status) && !self.watched.contains_key(&job) && !self.jobs[job].unknown && self.closed(job)
    }

    /// Whether a foreign program wrote the job, and no server knew it.
    pub fn discover(&mut self, job: Number) -> bool {
        let now = self.now;
        let it = &mut self.jobs[job];
        let Some(status) = it.status.filter(|_| it.unknown || it.unseen) else { return false };
        let heard_of = it.unseen;
        (it.unknown, it.unseen, it.discovered) = (false, false, Some(now));
        if heard_of && !self.watched.contains_key(&job) {
            return true;
        }
        match status {
            Status::Dispatched => {
                if self.admit(job) {
                    self.watched.insert(job, now);
                }
            }
            Status::Started => drop(self.watched.insert(job, now)),
            Status::Finished | Status::Error => self.settle(job),
            Status::Scheduled | Status::Created => {}
            Status::WaitingForPrerequisites => unreachable!("admitted when it began to wait"),
        }
        true
    }

    pub fn promote(&mut self) {
        for job in self.due(&self.scheduled) {
            self.scheduled.remove(&job);
            match self.jobs[job].status {
                Some(Status::Scheduled) => drop(self.begin(job, None)),
                Some(Status::Created) => self.fail(job),
                _ => {}
            }
        }
        let now = self.now;
        self.unwritten.retain(|_, time| *time > now);
    }

    pub fn reap(&mut self) {
        for job in self.due(&self.leases) {
            self.leases.remove(&job);
            match self.jobs[job].status {
                Some(Status::Started) => self.lost(job),
                status if is_final(status) => self.settle(job),
                _ => {}
            }
        }
        for job in self.due(&self.watched) {
            match self.jobs[job].status {
                Some(Status::Dispatched) => self.look_at_queued(job),
                Some(Status::Started) if self.jobs[job].holder.is_some() => drop(self.watched.remove(&job)),
                Some(Status::Started) => self.look_at_started(job),
                Some(Status::Finished | Status::Error) => self.settle(job),
                _ => drop(self.watched.remove(&job)),
            }
        }
    }

    pub(in crate::model) fn look_at_queued(&mut self, job: Number) {
        self.watched.insert(job, self.now + FOREIGN_PAUSE);
        if self.queue.contains(&job) {
            self.jobs[job].missing_at = None;
            return;
        }
        if self.jobs[job].unseen {
            return;
        }
        if let Some(discovered) = self.jobs[job].discovered.filter(|_| !self.jobs[job].queued) {
            // A foreign program put it where we do not look.
            self.watched.insert(job, self.now + FOREIGN_PAUSE.max(((self.now - discovered) / 60).min(60_000)));
            return;
        }
        let since = *self.jobs[job].missing_at.get_or_insert(self.now);
        if self.now - since >= MISSING {
            self.jobs[job].missing_at = None;
            self.enqueue(job, true);
        }
    }

    pub(in crate::model) fn look_at_started(&mut self, job: Number) {
        let now = self.now;
        let it = &mut self.jobs[job];
        if !it.seen {
            it.attempt += 1;
            (it.seen, it.seen_at, it.started_at, it.missing_at) = (true, now, Some(now), None);
            self.event(job, Status::Started);
        } else if now >= it.seen_at + ABANDONED {
            it.seen = false;
            self.watched.remove(&job);
            return self.lost(job);
        }
        self.watched.insert(job, now + FOREIGN_PAUSE);
    }

    /// Records an end that a foreign actor wrote.
    pub(in crate::model) fn settle(&mut self, job: Number) {
        self.watched.remove(&job);
        let it = &mut self.jobs[job];
        if !std::mem::take(&mut it.seen) {
            it.attempt += 1;
        }
        (it.missing_at, it.holder) = (None, None);
        if it.status == Some(Status::Finished) {
            return self.end(job, Status::Finished);
        }
        it.failures += 1;
        if it.stopping || it.failures > it.retries {
            return self.fail(job);
        }
        (it.status, it.unknown) = (Some(Status::Scheduled), false);
        let pause = backoff(&it.id, it.failures);
        self.scheduled.insert(job, self.now + pause);
        self.event(job, Status::Scheduled);
    }

    pub(in crate::model) fn lost(&mut self, job: Number) {
        if self.jobs[job].stopping {
            self.fail(job);
        } else if !self.crashed(job) {
            self.requeue(job, self.jobs[job].attempt);
        }
    }
}

/// How long a job waits that a foreign actor ended, ms: twice as long each time, give or take a quarter by a number that its id and the failure
/// give.
fn backoff(id: &JobId, failures: u32) -> u64 {
    // This is the SHA-1 of a text.
    let sum = redis::Script::new(&format!("{id}{failures}")).get_hash().to_owned();
    let chance = f64::from(u32::from_str_radix(&sum[..4], 16).unwrap()) / 65535.0;
    (2_f64.powi(i32::try_from(failures).unwrap() - 1) * (0.75 + 0.5 * chance) * 1000.0).floor() as u64
}
