use hero::model::{JobId, Status};
use hero::store::Created;

use super::{GIVEN_UP, Job, List, Number, Plain};
use crate::model::cycle::waits_for_itself;
use crate::model::step::Wish;

/// Whom a new job is related to.
#[derive(Debug, Clone, Default)]
pub struct Relations {
    pub prerequisites: Vec<Number>,
    pub dependents: Vec<Number>,
    pub parent: Option<Number>,
    pub predecessor: Option<Number>,
}

impl Relations {
    fn is_empty(&self) -> bool {
        self.prerequisites.is_empty() && self.dependents.is_empty() && self.parent.is_none() && self.predecessor.is_none()
    }
}

/// Jobs are made, and start.
impl Plain {
    /// A new job as a wish has it, not stored.
    pub fn draft(&self, id: JobId, wish: &Wish, relations: Relations) -> Job {
        Job {
            id,
            status: None,
            attempt: 0,
            given_back: 0,
            failures: 0,
            crashes: 0,
            retries: wish.retries.into(),
            holder: None,
            actor: None,
            stopping: false,
            run_at: wish.later.map(|seconds| self.now + u64::from(seconds) * 1000),
            started_at: None,
            seen: false,
            seen_at: 0,
            missing_at: None,
            prerequisites: relations.prerequisites,
            parent: relations.parent,
            predecessor: relations.predecessor,
            linked: false,
            unknown: false,
            discovered: None,
            queued: false,
            unseen: false,
            rel: None,
            made: false,
            events: Vec::new(),
        }
    }

    /// Stores jobs, all or none. The jobs are in `jobs` already, at the end. Nothing: one would wait for itself.
    pub fn create(&mut self, new: &[(Number, Relations, bool)], alone: bool) -> Option<Vec<Created>> {
        let given: Vec<Number> = if alone { Vec::new() } else { new.iter().map(|(job, ..)| *job).collect() };
        let refused: Vec<Option<Created>> = new.iter().map(|(_, of, _)| self.refused(of, &given)).collect();
        if refused.iter().any(Option::is_some) {
            return Some(refused.into_iter().map(|refused| refused.unwrap_or(Created::None)).collect());
        }
        if (!alone || new[0].1.parent.is_some() || !new[0].1.dependents.is_empty()) && waits_for_itself(self, new) {
            return None;
        }
        // Those that are named by earlier ones are known to be there.
        for (job, ..) in new.iter().filter(|_| !alone) {
            self.jobs[*job].status = Some(Status::Created);
        }
        let mut pushed = Vec::new();
        let answers = new.iter().map(|(job, of, start)| Created::Created(self.store(*job, of, *start, &mut pushed))).collect();
        for job in pushed {
            self.enqueue(job, false);
        }
        Some(answers)
    }

    fn store(&mut self, job: Number, of: &Relations, start: bool, pushed: &mut Vec<Number>) -> Status {
        let due = self.jobs[job].run_at;
        self.jobs[job].made = true;
        if of.is_empty() {
            let status = match (start, due) {
                (false, _) => Status::Created,
                (true, Some(_)) => Status::Scheduled,
                (true, None) => Status::Dispatched,
            };
            match (status, due) {
                (Status::Created, _) => drop(self.scheduled.insert(job, self.now + GIVEN_UP)),
                (_, Some(due)) => drop(self.scheduled.insert(job, due)),
                _ => pushed.push(job),
            }
            self.jobs[job].queued = status == Status::Dispatched;
            self.jobs[job].status = Some(status);
            self.event(job, status);
            return status;
        }
        (self.jobs[job].status, self.jobs[job].linked) = (Some(Status::Created), true);
        let failed = self.link_prerequisites(job, &of.prerequisites);
        if let Some(other) = of.predecessor {
            self.link_predecessor(job, other);
        }
        for &other in &of.dependents {
            self.jobs[other].prerequisites.push(job);
            self.jobs[other].linked = true;
            self.join(List::Dependents, job, other);
        }
        if let Some(parent) = of.parent.filter(|_| start) {
            self.link_parent(job, parent);
        }
        if failed.is_some() {
            self.fail(job);
            Status::Error
        } else if start {
            self.begin(job, due)
        } else {
            self.scheduled.insert(job, self.now + GIVEN_UP);
            self.event(job, Status::Created);
            Status::Created
        }
    }

    /// Returns its new status, unless it is not a created job.
    pub fn start(&mut self, job: Number) -> Option<Status> {
        if self.jobs[job].status != Some(Status::Created) {
            return None;
        }
        if let Some(parent) = self.jobs[job].parent {
            self.link_parent(job, parent);
        }
        Some(self.begin(job, self.jobs[job].run_at))
    }
}
