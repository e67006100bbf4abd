//! The plain model: what the scripts promise, without Redis, time or concurrency.

mod loops;
mod relations;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hero::model::{JobId, Status};
use hero::store::Created;

pub use loops::Refusal;

use super::step::{End, Wish};

pub const LEASE: u64 = 30_000;
pub const RETRY_IN: u64 = 5000;
const GIVEN_UP: u64 = 24 * 3600 * 1000;
const RESTLESS: u64 = 500;
const MISSING: u64 = 30_000;
const ABANDONED: u64 = 90_000;
const UNWRITTEN: u64 = 5000;

/// A job, by its place in [`Plain::jobs`].
pub type Number = usize;

#[derive(Debug, Clone)]
pub struct Job {
    pub id: JobId,
    /// Nothing: it is gone.
    pub status: Option<Status>,
    pub attempt: u32,
    /// How often it was given back.
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
    /// An outsider wrote it, and no server of ours has seen it.
    pub unknown: bool,
    /// When it was noticed that an outsider wrote it.
    pub noticed: Option<u64>,
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
    Heirs,
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
        self.watched.insert(job, self.now + RESTLESS);
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
            noticed: None,
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
        if (!alone || new[0].1.parent.is_some() || !new[0].1.dependents.is_empty()) && super::cycle::waits_for_itself(self, new) {
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

    /// Gives the status it gets, unless it is not a created one.
    pub fn start(&mut self, job: Number) -> Option<Status> {
        if self.jobs[job].status != Some(Status::Created) {
            return None;
        }
        if let Some(parent) = self.jobs[job].parent {
            self.link_parent(job, parent);
        }
        Some(self.begin(job, self.jobs[job].run_at))
    }

    /// Gives the jobs that are taken, with their claims.
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

    /// Gives the status now, or nothing if somebody else holds the job.
    pub fn finish(&mut self, server: usize, job: Number, claim: u32, end: End) -> Option<Status> {
        let it = &mut self.jobs[job];
        if it.status != Some(Status::Started) || it.attempt + it.given_back != claim || it.holder != Some(server) {
            return None;
        }
        self.leases.remove(&job);
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
            End::GivenBack => {
                it.given_back += 1;
                let attempt = it.attempt - 1;
                self.requeue(job, attempt);
            }
        }
        self.jobs[job].status
    }
}

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
