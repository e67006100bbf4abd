//! The plain model: the promises of the functions, without Redis, time or concurrency.

mod create;
mod fetch;
mod loops;
mod relations;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hero::model::{JobId, Status};

pub use create::Relations;
pub use loops::Refusal;

const LEASE: u64 = 30_000;
pub const RETRY_IN: u64 = 5000;
const GIVEN_UP: u64 = 24 * 3600 * 1000;
const FOREIGN_PAUSE: u64 = 500;
const MISSING: u64 = 30_000;
const ABANDONED: u64 = 90_000;
const UNWRITTEN: u64 = 5000;

/// A job, by its place in [`Plain::jobs`].
pub type Number = usize;

#[derive(Debug, Clone)]
pub struct Job {
    pub id: JobId,
    /// None if the job was deleted.
    pub status: Option<Status>,
    pub attempt: u32,
    /// The number of times it was requeued.
    pub given_back: u32,
    pub failures: u32,
    pub crashes: u32,
    pub retries: u32,
    /// The server of ours that runs it.
    pub holder: Option<usize>,
    /// The place whose actor ran it last.
    pub actor: Option<usize>,
    pub stopping: bool,
    pub run_at: Option<u64>,
    pub started_at: Option<u64>,
    pub seen: bool,
    pub seen_at: u64,
    pub missing_at: Option<u64>,
    pub prerequisites: Vec<Number>,
    pub parent: Option<Number>,
    pub predecessor: Option<Number>,
    /// Its relations were looked at.
    pub linked: bool,
    /// A foreign program wrote it, and no server of ours has seen it.
    pub unknown: bool,
    /// When it was discovered that a foreign program wrote it.
    pub discovered: Option<u64>,
    /// A server of ours put it into its queue.
    pub queued: bool,
    /// It is only known because another one waits for it.
    pub unseen: bool,
    /// Somebody is related to it; the parent.
    pub rel: Option<Option<Number>>,
    /// A server of ours stored it.
    pub made: bool,
    /// Every status that an event told.
    pub events: Vec<Status>,
}

/// What a job waits for: by which list, and whose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum List {
    Dependents,
    Children,
    Continuations,
}

#[derive(Debug, Clone, Default)]
pub struct Plain {
    pub now: u64,
    pub jobs: Vec<Job>,
    /// The left end first.
    pub queue: VecDeque<Number>,
    pub scheduled: BTreeMap<Number, u64>,
    pub leases: BTreeMap<Number, u64>,
    pub watched: BTreeMap<Number, u64>,
    pub unwritten: BTreeMap<Number, u64>,
    pub lists: BTreeMap<(List, Number), Vec<Number>>,
    pub active: BTreeMap<Number, BTreeSet<Number>>,
    pub pending: VecDeque<(Number, Status, Option<Number>)>,
    pub paused: bool,
    /// Stop requests for all actors, and for those of each place.
    pub control: Vec<Number>,
    pub control_of: BTreeMap<usize, Vec<Number>>,
}

fn is_final(status: Option<Status>) -> bool {
    status.is_some_and(Status::is_final)
}

impl Plain {
    pub fn job(&self, job: Number) -> &Job {
        &self.jobs[job]
    }

    fn event(&mut self, job: Number, status: Status) {
        self.jobs[job].events.push(status);
    }

    /// In how many lists a job waits.
    fn open(&self, job: Number) -> usize {
        self.lists.values().flatten().filter(|other| **other == job).count()
    }

    pub fn closed(&self, job: Number) -> bool {
        let status = self.jobs[job].status;
        (status.is_none() || is_final(status)) && !self.active.contains_key(&job) && !self.lists.contains_key(&(List::Children, job))
    }

    /// Entries of a sorted set that are due, as Redis gives them.
    fn due(&self, set: &BTreeMap<Number, u64>) -> Vec<Number> {
        let mut due: Vec<_> =
            set.iter().filter(|(_, time)| **time <= self.now).map(|(job, time)| (*time, &self.jobs[*job].id, *job)).collect();
        due.sort();
        due.into_iter().map(|(_, _, job)| job).collect()
    }

    fn join(&mut self, list: List, owner: Number, job: Number) {
        self.lists.entry((list, owner)).or_default().push(job);
        self.jobs[owner].rel.get_or_insert(None);
    }

    fn enqueue(&mut self, job: Number, again: bool) {
        if again {
            self.queue.push_back(job)
        } else {
            self.queue.push_front(job)
        }
        self.watched.insert(job, self.now + FOREIGN_PAUSE);
    }

    fn begin(&mut self, job: Number, due: Option<u64>) -> Status {
        let status = match due.filter(|due| *due > self.now) {
            Some(due) => {
                self.scheduled.insert(job, due);
                Status::Scheduled
            }
            None => {
                self.scheduled.remove(&job);
                if self.open(job) > 0 { Status::WaitingForPrerequisites } else { Status::Dispatched }
            }
        };
        self.jobs[job].status = Some(status);
        if status == Status::Dispatched {
            self.jobs[job].queued = true;
            self.enqueue(job, false);
        }
        self.event(job, status);
        status
    }

    /// Everything that follows an end.
    fn end(&mut self, job: Number, status: Status) {
        self.jobs[job].status = Some(status);
        (self.jobs[job].holder, self.jobs[job].unknown) = (None, false);
        self.leases.remove(&job);
        self.watched.remove(&job);
        self.event(job, status);
        if let Some(parent) = self.jobs[job].rel {
            self.pending.push_back((job, status, parent));
        }
    }

    fn fail(&mut self, job: Number) {
        self.end(job, Status::Error);
    }

    fn withdraw(&mut self, job: Number) {
        self.scheduled.remove(&job);
        self.watched.remove(&job);
        if let Some(at) = self.queue.iter().position(|other| *other == job) {
            self.queue.remove(at);
        }
    }

    fn requeue(&mut self, job: Number, attempt: u32) {
        let it = &mut self.jobs[job];
        (it.status, it.holder, it.attempt) = (Some(Status::Dispatched), None, attempt);
        (it.queued, it.unknown) = (true, false);
        self.enqueue(job, true);
        self.event(job, Status::Dispatched);
    }

    /// True: it has ended.
    fn crashed(&mut self, job: Number) -> bool {
        self.jobs[job].crashes += 1;
        let last = self.jobs[job].crashes >= 3;
        if last {
            self.fail(job);
        }
        last
    }
}
