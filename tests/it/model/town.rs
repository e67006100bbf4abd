//! Runs the same steps with the real functions, and compares every answer with that of the model.

use std::time::Duration;

use hero::model::{ErrorKind, JobError, JobId, JobSpec, Output, OutputFormat, Priority, Queue, Status, Target, Timestamp};
use hero::store::{ActorRoom, AttemptEnd, Created, Deleted, Ended, Fetch, NewJob, Retried, Started, Stopping, Store};
use redis::aio::MultiplexedConnection;

use super::plain::{Number, Plain, RETRY_IN, Refusal, Relations};
use super::step::{End, Step, Wish};
use crate::support::Redis;

pub const QUEUE: &str = "hero:q:work:type:osis";
/// Servers at a time.
pub const PLACES: usize = 3;

/// A server of ours, and what it believes to run.
pub struct Server {
    pub number: usize,
    pub store: Store,
    running: Vec<(Number, u32)>,
}

pub struct Town<'r> {
    redis: &'r Redis,
    pub connection: MultiplexedConnection,
    pub plain: Plain,
    pub servers: Vec<Server>,
    /// Every server there was.
    pub names: Vec<String>,
    /// What foreign actors popped.
    hands: Vec<Number>,
}

fn pick(number: u8, of: usize) -> Option<usize> {
    (of > 0).then(|| usize::from(number) % of)
}

impl<'r> Town<'r> {
    pub async fn found(redis: &'r Redis) -> Self {
        let connection = crate::support::connection(&redis::Client::open(redis.url()).unwrap()).await.unwrap();
        let mut town = Self { redis, connection, plain: Plain::default(), servers: Vec::new(), names: Vec::new(), hands: Vec::new() };
        for _ in 0..PLACES {
            let server = town.server().await;
            town.servers.push(server);
        }
        town
    }

    /// Forgets everything but its servers.
    pub async fn clear(&mut self) {
        let _: () = self.run(&["FLUSHALL"]).await;
        self.plain = Plain { now: u64::try_from(Timestamp::local().as_millis()).unwrap(), ..Plain::default() };
        self.hands.clear();
        let now = self.time();
        for server in &mut self.servers {
            server.running.clear();
            server.store.clock().stop_at(now);
        }
    }

    async fn server(&mut self) -> Server {
        let store = self.redis.store().await;
        store.clock().stop_at(self.time());
        self.names.push(store.server().to_string());
        Server { number: self.names.len() - 1, store, running: Vec::new() }
    }

    fn time(&self) -> Timestamp {
        Timestamp::from_millis(self.plain.now.try_into().unwrap())
    }

    fn id(&self, job: Number) -> JobId {
        self.plain.job(job).id.clone()
    }

    fn store(&self) -> &Store {
        &self.servers[0].store
    }

    async fn run<T: redis::FromRedisValue>(&mut self, words: &[&str]) -> T {
        redis::cmd(words[0]).arg(&words[1..]).query_async(&mut self.connection).await.unwrap_or_else(|error| panic!("{words:?}: {error}"))
    }

    /// A job there is or was.
    fn any(&self, number: u8) -> Option<Number> {
        pick(number, self.plain.jobs.len())
    }

    fn several(&self, numbers: &[u8]) -> Vec<Number> {
        let mut jobs: Vec<Number> = Vec::new();
        for job in numbers.iter().filter_map(|number| self.any(*number)) {
            if !jobs.contains(&job) {
                jobs.push(job);
            }
        }
        jobs
    }

    fn relations(&self, wish: &Wish) -> Relations {
        Relations {
            prerequisites: self.several(&wish.prerequisites),
            dependents: self.several(&wish.dependents),
            parent: wish.parent.and_then(|number| self.any(number)),
            predecessor: wish.predecessor.and_then(|number| self.any(number)),
        }
    }

    fn new_job(&self, job: Number, wish: &Wish, of: &Relations) -> NewJob {
        let ids = |jobs: &[Number]| jobs.iter().map(|job| self.id(*job)).collect();
        let spec = JobSpec {
            script: "40 + 2".into(),
            retries: wish.retries.into(),
            run_at: self.plain.job(job).run_at.map(|time| Timestamp::from_millis(time.try_into().unwrap())),
            prerequisites: ids(&of.prerequisites),
            dependents: ids(&of.dependents),
            parent_id: of.parent.map(|job| self.id(job)),
            predecessor_id: of.predecessor.map(|job| self.id(job)),
            ..JobSpec::default()
        };
        NewJob { id: self.id(job), spec, start: wish.start, waited: false, occurrence: None, flow: None }
    }

    /// Takes a step.
    pub async fn take(&mut self, step: &Step) {
        match step {
            Step::Create(wish) => {
                let of = self.relations(wish);
                let job = self.plain.jobs.len();
                self.plain.jobs.push(self.plain.draft(JobId::random(), wish, of.clone()));
                let new = self.new_job(job, wish, &of);
                let expected = self.plain.create(&[(job, of, wish.start)], true);
                let real = self.store().jobs().create(new).await.unwrap();
                compare(&[real], expected);
            }
            Step::CreateGroup(wishes) => self.create_group(wishes).await,
            Step::Start(number) => {
                let Some(job) = self.any(*number) else { return };
                let status = self.plain.job(job).status;
                let expected = match (self.plain.start(job), status) {
                    (Some(status), _) => Started::OnItsWay(status),
                    (None, Some(status)) => Started::Illegal(status),
                    (None, None) => Started::Missing,
                };
                assert_eq!(self.store().jobs().start(&self.id(job)).await.unwrap(), expected);
            }
            Step::Claim { server, room } => self.claim(usize::from(*server) % PLACES, usize::from(*room)).await,
            Step::End { server, nth, end } => self.end(usize::from(*server) % PLACES, *nth, *end).await,
            Step::Renew(server) => {
                let server = &mut self.servers[usize::from(*server) % PLACES];
                let running: Vec<(JobId, u32)> =
                    server.running.iter().map(|(job, claim)| (self.plain.job(*job).id.clone(), *claim)).collect();
                let number = server.number;
                let mut lost = Vec::new();
                for (job, claim) in &server.running {
                    if !self.plain.renew(number, *job, *claim) {
                        lost.push((self.plain.job(*job).id.clone(), *claim));
                    }
                }
                assert_eq!(server.store.queues().renew(&running).await.unwrap(), lost);
                server.running.retain(|(job, claim)| !lost.contains(&(self.plain.job(*job).id.clone(), *claim)));
            }
            Step::Stop(number) => {
                let Some(job) = self.any(*number) else { return };
                let expected = match (self.plain.job(job).status, self.plain.stop(job)) {
                    (None, _) => Stopping::Missing,
                    (Some(status), None) => Stopping::Ended(status),
                    (_, Some(true)) => Stopping::Stopped,
                    (_, Some(false)) => Stopping::Asked,
                };
                assert_eq!(self.store().jobs().stop(&self.id(job)).await.unwrap(), expected);
            }
            Step::Control(server) => {
                let place = usize::from(*server) % PLACES;
                let queues = ["hero:q:ctl:type:osis".to_owned(), format!("hero:q:ctl:type:osis:group:default:inst:{}", place + 1)];
                let expected: Vec<JobId> =
                    self.plain.control(self.servers[place].number, place).into_iter().map(|job| self.id(job)).collect();
                assert_eq!(self.servers[place].store.queues().control(&queues).await.unwrap(), expected);
            }
            Step::Retry(number) => {
                let Some(job) = self.any(*number).filter(|job| self.plain.job(*job).status.is_some()) else { return };
                let expected = match self.plain.retry(job) {
                    Ok(status) => Retried::OnItsWay(status),
                    Err(Refusal::Illegal(status)) => Retried::Illegal(status),
                    Err(Refusal::Blocked(other)) => Retried::Blocked(self.id(other)),
                    Err(Refusal::Cycle(status)) => Retried::Cycle(status),
                };
                assert_eq!(self.store().jobs().retry(&self.id(job)).await.unwrap(), expected);
            }
            Step::Delete(number) => {
                let Some(job) = self.any(*number) else { return };
                let status = self.plain.job(job).status;
                let expected = match status {
                    None => Deleted::Missing,
                    Some(Status::Started) => Deleted::Illegal(Status::Started),
                    Some(_) => self.plain.delete(job).map_or(Deleted::Deleted, Deleted::Open),
                };
                assert_eq!(self.store().jobs().delete(&self.id(job)).await.unwrap(), expected);
            }
            Step::Expire(number) => {
                let Some(job) = self.any(*number).filter(|job| self.plain.expire(*job)) else { return };
                let id = self.id(job);
                let key = format!("hero:job:{id}");
                assert!(self.run::<i64>(&["TTL", &key]).await > 0, "{key} would stay for ever");
                let _: i64 = self.run(&["DEL", &key, &format!("hero:q:reply:{id}"), &format!("hero:log:{id}")]).await;
            }
            Step::Pause(paused) => {
                self.plain.paused = *paused;
                let queue = Queue { script_type: "osis".parse().unwrap(), target: Target::Type, priority: Priority::Normal };
                if *paused {
                    self.store().queues().pause(&queue).await.unwrap();
                } else {
                    self.store().queues().resume(&queue).await.unwrap();
                }
            }
            Step::Discover(number) => {
                let Some(job) = self.any(*number) else { return };
                let expected = self.plain.discover(job);
                assert_eq!(self.store().maintenance().discover(&[self.id(job)]).await.unwrap(), usize::from(expected), "discovered");
            }
            Step::Promote => {
                self.plain.promote();
                self.store().jobs().promote(128).await.unwrap();
            }
            Step::Reap => {
                self.plain.reap();
                self.store().queues().reap(128).await.unwrap();
            }
            Step::Release(limit) => {
                self.plain.release();
                while self.store().jobs().release_relatives((*limit).into()).await.unwrap() {}
            }
            Step::Advance(seconds) => {
                self.plain.now += u64::from(*seconds) * 1000;
                for server in &self.servers {
                    server.store.clock().advance(Duration::from_secs((*seconds).into()));
                }
            }
            Step::Die(place) => {
                let place = usize::from(*place) % PLACES;
                self.servers[place] = self.server().await;
            }
            _ => self.take_foreign(step).await,
        }
    }

    async fn create_group(&mut self, wishes: &[(Wish, Vec<u8>)]) {
        let first = self.plain.jobs.len();
        let mut group = Vec::new();
        for (at, (wish, inner)) in wishes.iter().enumerate() {
            let mut of = self.relations(wish);
            // Mostly one that comes before, so that cycles stay rare.
            let others = inner.iter().filter_map(|number| match number % 16 {
                0 => pick(number / 16, wishes.len()),
                _ => pick(number / 16, at),
            });
            for other in others.map(|other| first + other).filter(|other| *other != first + at) {
                if !of.prerequisites.contains(&other) {
                    of.prerequisites.push(other);
                }
            }
            group.push((first + at, of, wish.start));
        }
        for ((wish, _), (_, of, _)) in wishes.iter().zip(&group) {
            self.plain.jobs.push(self.plain.draft(JobId::random(), wish, of.clone()));
        }
        let new: Vec<NewJob> = wishes.iter().zip(&group).map(|((wish, _), (job, of, _))| self.new_job(*job, wish, of)).collect();
        let expected = self.plain.create(&group, false);
        compare(&self.store().jobs().create_all_or_none(&new).await.unwrap(), expected);
    }

    async fn claim(&mut self, place: usize, room: usize) {
        let (script_type, queues) = ("osis".parse().unwrap(), [(QUEUE.to_owned(), 0)]);
        let actors = [ActorRoom { actor: format!("osis:default:{}", place + 1), room }];
        let server = &mut self.servers[place];
        let fetched =
            server.store.queues().fetch(&Fetch { script_type: &script_type, ends: &[], actors: &actors, queues: &queues }).await.unwrap();
        let expected = self.plain.claim(server.number, place, room);
        let real: Vec<(JobId, u32)> = fetched.taken.into_iter().map(|job| (job.job, job.claim)).collect();
        let ids: Vec<(JobId, u32)> = expected.iter().map(|(job, claim)| (self.plain.job(*job).id.clone(), *claim)).collect();
        assert_eq!(real, ids, "taken");
        server.running.extend(expected);
    }

    async fn end(&mut self, place: usize, nth: u8, end: End) {
        let server = &mut self.servers[place];
        let Some(at) = pick(nth, server.running.len()) else { return };
        let (job, claim) = server.running.remove(at);
        let outcome = match end {
            End::Finished => AttemptEnd::Finished(Output { text: "42".into(), format: OutputFormat::Json }),
            End::Failed => AttemptEnd::Failed { error: JobError::new(ErrorKind::Script, "no"), retry_in: Duration::from_millis(RETRY_IN) },
            End::Crashed => AttemptEnd::Crashed,
            End::Requeued => AttemptEnd::Requeued,
        };
        let id = self.plain.job(job).id.clone();
        let ended = Ended::of(id, claim, claim, Timestamp::local(), outcome);
        let script_type = "osis".parse().unwrap();
        let fetched =
            server.store.queues().fetch(&Fetch { script_type: &script_type, ends: &[ended], actors: &[], queues: &[] }).await.unwrap();
        let releases_at_once = self.plain.pending.is_empty();
        assert_eq!(fetched.statuses, [self.plain.finish(server.number, job, claim, end)], "ended");
        // A fetch releases a bounded number of relatives; `release_relatives` releases the others.
        while releases_at_once && server.store.jobs().release_relatives(128).await.unwrap() {}
    }

    async fn take_foreign(&mut self, step: &Step) {
        match step {
            Step::Write { prerequisites, parent } => {
                let of = Relations {
                    prerequisites: self.several(prerequisites),
                    parent: parent.and_then(|number| self.any(number)),
                    ..Relations::default()
                };
                let wish = Wish {
                    start: true,
                    later: None,
                    retries: 1,
                    prerequisites: Vec::new(),
                    dependents: Vec::new(),
                    parent: None,
                    predecessor: None,
                };
                let (job, id) = (self.plain.jobs.len(), JobId::random());
                let ids: Vec<String> = of.prerequisites.iter().map(|job| format!("\"{}\"", self.id(*job))).collect();
                let (key, ids) = (format!("hero:job:{id}"), format!("[{}]", ids.join(",")));
                let mut words =
                    vec!["HSET", &key, "id", id.as_str(), "status", "dispatched", "script", "1", "script_type", "osis", "retries", "1"];
                words.extend(["prerequisites", &ids]);
                let parent = of.parent.map(|job| self.id(job).to_string());
                words.extend(parent.iter().flat_map(|parent| ["parent_id", parent]));
                let _: i64 = self.run(&words).await;
                let _: i64 = self.run(&["LPUSH", QUEUE, id.as_str()]).await;
                let mut it = self.plain.draft(id, &wish, of);
                (it.status, it.unknown) = (Some(Status::Dispatched), true);
                self.plain.jobs.push(it);
                self.plain.queue.push_front(job);
            }
            Step::Push(number) => {
                let Some(job) = self.any(*number) else { return };
                self.plain.queue.push_front(job);
                let _: i64 = self.run(&["LPUSH", QUEUE, self.id(job).as_str()]).await;
            }
            Step::Take => {
                let job = self.plain.queue.pop_back();
                let id: Option<String> = self.run(&["RPOP", QUEUE]).await;
                assert_eq!(id, job.map(|job| self.id(job).to_string()));
                self.hands.extend(job);
            }
            Step::Begin(number) => {
                let Some(job) = pick(*number, self.hands.len()).map(|at| self.hands[at]) else { return };
                if self.plain.job(job).status == Some(Status::Dispatched) {
                    (self.plain.jobs[job].status, self.plain.jobs[job].holder) = (Some(Status::Started), None);
                    let _: i64 = self.run(&["HSET", &format!("hero:job:{}", self.id(job)), "status", "started"]).await;
                }
            }
            Step::Finish { nth, well } => {
                let Some(job) = pick(*nth, self.hands.len()).map(|at| self.hands.swap_remove(at)) else { return };
                let it = &mut self.plain.jobs[job];
                if it.holder.is_none() && matches!(it.status, Some(Status::Dispatched | Status::Started)) {
                    let (status, field) = if *well { (Status::Finished, "output") } else { (Status::Error, "error") };
                    it.status = Some(status);
                    let key = format!("hero:job:{}", it.id);
                    let _: i64 = self.run(&["HSET", &key, field, "no", "status", status.as_str()]).await;
                }
            }
            _ => unreachable!("{step:?} is a step of ours"),
        }
    }
}

fn compare(real: &[Created], expected: Option<Vec<Created>>) {
    match expected {
        Some(expected) => assert_eq!(real, expected, "created"),
        None => assert!(real.iter().any(|answer| matches!(answer, Created::Cycle(_))), "a cycle was not seen: {real:?}"),
    }
}
