//! The plain model: what the scripts promise, without Redis, time or concurrency.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hero::model::{JobId, Status};
use hero::store::Created;

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

    fn lost(&mut self, job: Number) {
        if self.jobs[job].stopping {
            self.fail(job);
        } else if !self.crashed(job) {
            self.requeue(job, self.jobs[job].attempt);
        }
    }

    /// Gives a prerequisite that ended in error.
    fn link_prerequisites(&mut self, job: Number, others: &[Number]) -> Option<Number> {
        let mut failed = None;
        for &other in others {
            match self.jobs[other].status {
                Some(Status::Error) if !self.watched.contains_key(&other) => failed = failed.or(Some(other)),
                Some(Status::Finished) => {}
                status => {
                    self.join(List::Dependents, other, job);
                    self.heed(other, status);
                }
            }
        }
        failed
    }

    fn link_predecessor(&mut self, job: Number, other: Number) {
        if !self.closed(other) {
            self.join(List::Heirs, other, job);
            let status = self.jobs[other].status;
            if !is_final(status) {
                self.heed(other, status);
            }
        }
    }

    /// Has a job looked after that others wait for and that an outsider may have.
    fn heed(&mut self, job: Number, status: Option<Status>) {
        let elsewhere = !matches!(status, Some(Status::Created | Status::Scheduled | Status::WaitingForPrerequisites));
        if elsewhere && !self.leases.contains_key(&job) && !self.watched.contains_key(&job) {
            self.watched.insert(job, self.now + RESTLESS);
            self.jobs[job].unseen = true;
        }
    }

    fn link_parent(&mut self, job: Number, parent: Number) {
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
            self.heed(parent, status);
        }
    }

    fn waits(&self, job: Number) -> bool {
        matches!(self.jobs[job].status, Some(Status::Created | Status::Scheduled | Status::WaitingForPrerequisites))
    }

    /// A new job as a wish has it, not stored.
    pub fn draft(&self, id: JobId, wish: &Wish, relations: Relations) -> Job {
        Job {
            id,
            status: None,
            attempt: 0,
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

    /// Why a job cannot be stored. `given` are stored with it.
    fn refused(&self, of: &Relations, given: &[Number]) -> Option<Created> {
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

    /// Gives the jobs that are taken, with their attempts.
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
            taken.push((job, it.attempt));
            self.leases.insert(job, self.now + LEASE);
            self.event(job, Status::Started);
        }
        taken
    }

    /// Whether a job that an outsider queued may run now.
    fn admit(&mut self, job: Number) -> bool {
        let it = &mut self.jobs[job];
        let (linked, others, parent, predecessor) = (it.linked, it.prerequisites.clone(), it.parent, it.predecessor);
        (it.unknown, it.unseen) = (false, false);
        it.noticed.get_or_insert(self.now);
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
            if missing || super::cycle::waits_for_itself(self, &[(job, of, true)]) || self.link_prerequisites(job, &others).is_some() {
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

    /// Gives the status now, or nothing if somebody else holds the job.
    pub fn finish(&mut self, server: usize, job: Number, attempt: u32, end: End) -> Option<Status> {
        let it = &mut self.jobs[job];
        if it.status != Some(Status::Started) || it.attempt != attempt || it.holder != Some(server) {
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
            End::GivenBack => self.requeue(job, attempt - 1),
        }
        self.jobs[job].status
    }

    pub fn renew(&mut self, server: usize, job: Number, attempt: u32) -> bool {
        let it = &self.jobs[job];
        let held = it.status == Some(Status::Started) && it.attempt == attempt && it.holder == Some(server);
        if held {
            self.leases.insert(job, self.now + LEASE);
        }
        held
    }

    /// True: it has ended. False: whoever runs it was told.
    pub fn stop(&mut self, job: Number) -> Option<bool> {
        let status = self.jobs[job].status.filter(|status| !status.is_final())?;
        if status != Status::Started {
            self.withdraw(job);
            self.fail(job);
            return Some(true);
        }
        self.jobs[job].stopping = true;
        match self.jobs[job].holder {
            Some(_) => self.control_of.entry(self.jobs[job].actor.unwrap()).or_default().insert(0, job),
            None => self.control.insert(0, job),
        }
        Some(false)
    }

    /// Gives the jobs that the server shall stop.
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
                    Some(Status::Started) => continue,
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
    pub fn retry(&mut self, job: Number) -> Result<Status, Result<Status, Number>> {
        let status = self.jobs[job].status.expect("asked for jobs that are there");
        if !status.is_final() {
            return Err(Ok(status));
        }
        if self.watched.contains_key(&job) {
            self.settle(job);
            let status = self.jobs[job].status.unwrap();
            if !status.is_final() {
                return Err(Ok(status));
            }
        }
        let others = self.jobs[job].prerequisites.clone();
        if let Some(other) = others.iter().find(|other| self.jobs[**other].status == Some(Status::Error)) {
            return Err(Err(*other));
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

    /// Takes a job out of all lists.
    fn unlink(&mut self, job: Number) {
        for list in self.lists.values_mut() {
            list.retain(|other| *other != job);
        }
        self.lists.retain(|_, list| !list.is_empty());
    }

    /// Deletes a job that does not run. It stays, and this gives its status, if it has ended and its descendants have not.
    pub fn delete(&mut self, job: Number) -> Option<Status> {
        if is_final(self.jobs[job].status) && self.watched.contains_key(&job) {
            self.settle(job);
        }
        let status = self.jobs[job].status;
        if is_final(status) && !self.closed(job) {
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

    /// Whether it was one that an outsider wrote and nobody knew.
    pub fn notice(&mut self, job: Number) -> bool {
        let now = self.now;
        let it = &mut self.jobs[job];
        let Some(status) = it.status.filter(|_| it.unknown || it.unseen) else { return false };
        let heard_of = it.unseen;
        (it.unknown, it.unseen, it.noticed) = (false, false, Some(now));
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

    fn look_at_queued(&mut self, job: Number) {
        self.watched.insert(job, self.now + RESTLESS);
        if self.queue.contains(&job) {
            self.jobs[job].missing_at = None;
            return;
        }
        if self.jobs[job].unseen {
            return;
        }
        if let Some(noticed) = self.jobs[job].noticed.filter(|_| !self.jobs[job].queued) {
            // An outsider put it where we do not look.
            self.watched.insert(job, self.now + RESTLESS.max(((self.now - noticed) / 60).min(60_000)));
            return;
        }
        let since = *self.jobs[job].missing_at.get_or_insert(self.now);
        if self.now - since >= MISSING {
            self.jobs[job].missing_at = None;
            self.enqueue(job, true);
        }
    }

    fn look_at_started(&mut self, job: Number) {
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
        self.watched.insert(job, now + RESTLESS);
    }

    /// Takes note of an end that a foreign actor wrote.
    fn settle(&mut self, job: Number) {
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
        let pause = 1000 * 2_u64.pow(it.failures - 1);
        self.scheduled.insert(job, self.now + pause);
        self.event(job, Status::Scheduled);
    }

    fn unblock(&mut self, job: Number) {
        if self.jobs[job].status == Some(Status::WaitingForPrerequisites) && self.open(job) == 0 {
            self.begin(job, None);
        }
    }

    fn give_up(&mut self, job: Number) {
        if self.waits(job) {
            self.scheduled.remove(&job);
            self.fail(job);
        }
    }

    /// The next job of a list.
    fn next_of(&mut self, list: List, owner: Number) -> Option<Number> {
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
            while let Some(heir) = self.next_of(List::Heirs, job) {
                self.unblock(heir);
            }
            if let Some(parent) = parent {
                self.leave(job, parent);
            }
        }
    }

    fn leave(&mut self, job: Number, parent: Number) {
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
