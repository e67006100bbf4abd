use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use hero::model::{ErrorKind, JobError, JobId, Output, OutputFormat, Status};
use hero::store::{ActorRoom, AttemptEnd, Claimed, Ended, Fetch, Store};
use tokio::sync::Mutex;

use crate::support::{Redis, connection, until};

/// An actor of the type queue of osis whose attempts end when a test says so.
pub struct Hand {
    store: Store,
    running: Mutex<BTreeMap<JobId, VecDeque<Claimed>>>,
    /// Every attempt it ever took, in order.
    taken: Mutex<Vec<(JobId, u32)>>,
    /// Where others wait for the release of their relatives before each end, so that the end releases none.
    crowded: Option<::redis::Client>,
}

impl Hand {
    pub fn of(store: &Store) -> Self {
        Self { store: store.clone(), running: Mutex::default(), taken: Mutex::default(), crowded: None }
    }

    /// One whose ends leave the release of relatives to `release_relatives`, because others wait for theirs.
    pub fn of_crowded(store: &Store, redis: &Redis) -> Self {
        Self { crowded: Some(::redis::Client::open(redis.url()).unwrap()), ..Self::of(store) }
    }

    /// Fetches all available jobs, and returns their number.
    pub async fn take_all(&self) -> usize {
        let mut count = 0;
        loop {
            let fetched = self.fetch(&[], 128).await;
            if fetched.taken.is_empty() {
                return count;
            }
            count += fetched.taken.len();
            self.keep(fetched.taken).await;
        }
    }

    async fn keep(&self, jobs: Vec<Claimed>) {
        let (mut running, mut taken) = (self.running.lock().await, self.taken.lock().await);
        for claimed in jobs {
            taken.push((claimed.job.clone(), claimed.attempt));
            running.entry(claimed.job.clone()).or_default().push_back(claimed);
        }
    }

    /// Fetches jobs until it has this one.
    pub async fn take(&self, id: &JobId) -> u32 {
        until(&format!("{id} to take"), || async {
            self.take_all().await;
            Some(self.running.lock().await.get(id)?.front()?.attempt)
        })
        .await
    }

    /// The number of times it fetched a job.
    pub async fn times(&self, id: &JobId) -> usize {
        self.taken.lock().await.iter().filter(|(job, _)| job == id).count()
    }

    /// Dies: it forgets its jobs.
    pub async fn forget(&self) {
        self.running.lock().await.clear();
    }

    pub async fn finish(&self, id: &JobId) {
        let output = Output { text: "1".into(), format: OutputFormat::Json };
        assert_eq!(self.end(id, AttemptEnd::Finished(output)).await, Status::Finished);
    }

    /// Finishes an attempt, and returns the jobs that the same call takes.
    pub async fn finish_and_take(&self, id: &JobId) -> Vec<JobId> {
        self.finish_and_take_some(id, 128).await
    }

    /// The same with room for this number of jobs.
    pub async fn finish_and_take_some(&self, id: &JobId, room: usize) -> Vec<JobId> {
        self.take(id).await;
        let claimed = self.running.lock().await.remove(id).unwrap().pop_front().unwrap();
        let output = Output { text: "1".into(), format: OutputFormat::Json };
        let fetched = self.fetch(&[ended(&claimed, AttemptEnd::Finished(output))], room).await;
        assert_eq!(fetched.statuses, [Some(Status::Finished)]);
        let jobs = fetched.taken.iter().map(|claimed| claimed.job.clone()).collect();
        self.keep(fetched.taken).await;
        jobs
    }

    /// The script throws an error. Returns the new status of the job.
    pub async fn fail(&self, id: &JobId) -> Status {
        self.end(id, AttemptEnd::Failed { error: JobError::new(ErrorKind::Script, "no"), retry_in: Duration::from_millis(20) }).await
    }

    /// The engine crashes. Returns the new status of the job.
    pub async fn crash(&self, id: &JobId) -> Status {
        self.end(id, AttemptEnd::Crashed).await
    }

    /// Finishes everything it has in one go.
    pub async fn finish_all(&self) -> usize {
        let running = std::mem::take(&mut *self.running.lock().await);
        let output = || AttemptEnd::Finished(Output { text: "1".into(), format: OutputFormat::Json });
        let ends: Vec<Ended> = running.into_values().flatten().map(|claimed| ended(&claimed, output())).collect();
        for chunk in ends.chunks(128) {
            assert!(self.fetch(chunk, 0).await.statuses.iter().all(|status| *status == Some(Status::Finished)));
        }
        ends.len()
    }

    /// Finishes the attempt it has, which may be nobody's any more.
    pub async fn try_finish(&self, id: &JobId) -> Option<Status> {
        let output = Output { text: "late".into(), format: OutputFormat::Text };
        self.try_end(id, AttemptEnd::Finished(output)).await
    }

    async fn end(&self, id: &JobId, outcome: AttemptEnd) -> Status {
        self.take(id).await;
        self.try_end(id, outcome).await.unwrap_or_else(|| panic!("the end of {id} was not taken"))
    }

    async fn try_end(&self, id: &JobId, outcome: AttemptEnd) -> Option<Status> {
        let claimed = {
            let mut running = self.running.lock().await;
            let attempts = running.get_mut(id).unwrap();
            let claimed = attempts.pop_front().unwrap();
            if attempts.is_empty() {
                running.remove(id);
            }
            claimed
        };
        self.fetch(&[ended(&claimed, outcome)], 0).await.statuses[0]
    }

    async fn fetch(&self, ends: &[Ended], room: usize) -> hero::store::Fetched {
        if let Some(client) = self.crowded.as_ref().filter(|_| !ends.is_empty()) {
            let mut push = ::redis::cmd("LPUSH");
            push.arg("hero:q:release").arg(format!("{} deleted -", JobId::random()));
            let _: i64 = push.query_async(&mut connection(client).await.unwrap()).await.unwrap();
        }
        let (script_type, queues) = ("osis".parse().unwrap(), [("hero:q:work:type:osis".to_owned(), 0)]);
        let actors = [ActorRoom { actor: "osis:default:1".into(), room }];
        self.store.queues().fetch(&Fetch { script_type: &script_type, ends, actors: &actors, queues: &queues }).await.unwrap()
    }
}

fn ended(claimed: &Claimed, outcome: AttemptEnd) -> Ended {
    Ended::of(claimed.job.clone(), claimed.attempt, claimed.claim, claimed.started_at, outcome)
}
