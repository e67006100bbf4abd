//! Dependencies between jobs, in the plain model.

use hero::store::Created;

use super::*;

impl Plain {
    /// Returns a prerequisite that ended in error.
    pub(in crate::model) fn link_prerequisites(&mut self, job: Number, others: &[Number]) -> Option<Number> {
        let mut failed = None;
        for &other in others {
            match self.jobs[other].status {
                Some(Status::Error) if !self.watched.contains_key(&other) => failed = failed.or(Some(other)),
                Some(Status::Finished) => {}
                status => {
                    self.join(List::Dependents, other, job);
                    self.watch_end_of(other, status);
                }
            }
        }
        failed
    }

    pub(in crate::model) fn link_predecessor(&mut self, job: Number, other: Number) {
        if !self.closed(other) {
            self.join(List::Continuations, other, job);
            let status = self.jobs[other].status;
            if !is_final(status) {
                self.watch_end_of(other, status);
            }
        }
    }

    /// Has a job looked after that others wait for and that a foreign program may have.
    pub(in crate::model) fn watch_end_of(&mut self, job: Number, status: Option<Status>) {
        let elsewhere = !matches!(status, None | Some(Status::Created | Status::Scheduled | Status::WaitingForPrerequisites));
        if elsewhere && !self.leases.contains_key(&job) && !self.watched.contains_key(&job) {
            self.watched.insert(job, self.now + FOREIGN_PAUSE);
            self.jobs[job].unseen = true;
        }
    }

    pub(in crate::model) fn link_parent(&mut self, job: Number, parent: Number) {
        let status = self.jobs[parent].status;
        if status.is_none() {
            return;
        }
        self.jobs[job].rel = Some(Some(parent));
        self.jobs[parent].rel.get_or_insert(None);
        if is_final(status) {
            self.active.entry(parent).or_default().insert(job);
        } else {
            self.join(List::Children, parent, job);
            self.watch_end_of(parent, status);
        }
    }

    pub(in crate::model) fn waits(&self, job: Number) -> bool {
        matches!(self.jobs[job].status, Some(Status::Created | Status::Scheduled | Status::WaitingForPrerequisites))
    }

    /// Why a job cannot be stored. `given` are stored with it.
    pub(in crate::model) fn refused(&self, of: &Relations, given: &[Number]) -> Option<Created> {
        let params = [
            ("prerequisites", of.prerequisites.clone()),
            ("parent_id", of.parent.into_iter().collect()),
            ("predecessor_id", of.predecessor.into_iter().collect()),
            ("dependents", of.dependents.clone()),
        ];
        for (param, others) in params {
            let missing = others.into_iter().filter(|other| !given.contains(other) && self.jobs[*other].status.is_none());
            let missing: Vec<JobId> = missing.map(|other| self.jobs[other].id.clone()).collect();
            if !missing.is_empty() {
                return Some(Created::NoRelative(param, missing));
            }
        }
        for other in &of.dependents {
            let it = &self.jobs[*other];
            let can = match it.status {
                Some(Status::Created | Status::WaitingForPrerequisites) => true,
                Some(Status::Scheduled) => it.attempt == 0,
                _ => given.contains(other),
            };
            if !can {
                return Some(Created::Late(it.id.clone(), it.status.unwrap()));
            }
        }
        None
    }

    /// Whether a job that a foreign program queued may run now.
    pub(in crate::model) fn admit(&mut self, job: Number) -> bool {
        let it = &mut self.jobs[job];
        let (linked, others, parent, predecessor) = (it.linked, it.prerequisites.clone(), it.parent, it.predecessor);
        (it.unknown, it.unseen) = (false, false);
        it.discovered.get_or_insert(self.now);
        if linked {
            if let Some(parent) = parent.filter(|_| self.jobs[job].rel.flatten() != parent) {
                self.link_parent(job, parent);
            }
        } else if others.is_empty() && parent.is_none() && predecessor.is_none() {
            return true;
        } else {
            self.jobs[job].linked = true;
            let of = Relations { prerequisites: others.clone(), dependents: Vec::new(), parent, predecessor };
            let missing = others.iter().any(|other| self.jobs[*other].status.is_none());
            if missing || crate::model::cycle::waits_for_itself(self, &[(job, of, true)]) || self.link_prerequisites(job, &others).is_some()
            {
                self.fail(job);
                return false;
            }
            if let Some(other) = predecessor {
                self.link_predecessor(job, other);
            }
            if let Some(parent) = parent {
                self.link_parent(job, parent);
            }
        }
        if self.open(job) == 0 {
            return true;
        }
        self.jobs[job].status = Some(Status::WaitingForPrerequisites);
        self.event(job, Status::WaitingForPrerequisites);
        false
    }

    /// Removes a job from all lists.
    pub(in crate::model) fn unlink(&mut self, job: Number) {
        for list in self.lists.values_mut() {
            list.retain(|other| *other != job);
        }
        self.lists.retain(|_, list| !list.is_empty());
    }

    pub(in crate::model) fn unblock(&mut self, job: Number) {
        if self.jobs[job].status == Some(Status::WaitingForPrerequisites) && self.open(job) == 0 {
            self.begin(job, None);
        }
    }

    pub(in crate::model) fn give_up(&mut self, job: Number) {
        if self.waits(job) {
            self.scheduled.remove(&job);
            self.fail(job);
        }
    }

    /// The next job of a list.
    pub(in crate::model) fn next_of(&mut self, list: List, owner: Number) -> Option<Number> {
        let jobs = self.lists.get_mut(&(list, owner))?;
        let job = jobs.remove(0);
        if jobs.is_empty() {
            self.lists.remove(&(list, owner));
        }
        Some(job)
    }

    /// Lets go who waits for jobs that have ended, until nobody is left.
    pub fn release(&mut self) {
        while let Some((job, status, parent)) = self.pending.pop_front() {
            let status = self.jobs[job].status.unwrap_or(status);
            if !status.is_final() || self.watched.contains_key(&job) {
                // It was retried, and its next end comes here again.
                continue;
            }
            let well = status == Status::Finished;
            while let Some(other) = self.next_of(List::Dependents, job) {
                if well { self.unblock(other) } else { self.give_up(other) }
            }
            while let Some(child) = self.next_of(List::Children, job) {
                if self.waits(child) && well {
                    self.active.entry(job).or_default().insert(child);
                    self.unblock(child);
                } else {
                    self.give_up(child);
                }
            }
            if self.active.contains_key(&job) {
                continue;
            }
            while let Some(continuation) = self.next_of(List::Continuations, job) {
                self.unblock(continuation);
            }
            if let Some(parent) = parent {
                self.leave(job, parent);
            }
        }
    }

    pub(in crate::model) fn leave(&mut self, job: Number, parent: Number) {
        let Some(active) = self.active.get_mut(&parent) else { return };
        if !active.remove(&job) {
            return;
        }
        if active.is_empty() {
            self.active.remove(&parent);
        }
        if self.closed(parent) {
            let it = &self.jobs[parent];
            self.pending.push_back((parent, it.status.unwrap_or(Status::Error), it.rel.flatten()));
        }
    }
}
