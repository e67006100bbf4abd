//! Creates, starts, waits for and stops jobs.
//!
//! [`Dispatcher`] is the library's front door; the loops beside it keep jobs moving, whichever server made them.

mod connect;
mod create;
mod cron;
mod error;
mod explain;
mod follow;
mod indexer;
mod log_sweeper;
mod logs;
mod pause;
mod pressure;
mod promoter;
mod protocol;
mod pruner;
mod readiness;
mod reaper;
mod releaser;
mod schedule;
mod scheduler;
mod spec;
mod spelling;
mod stopper;
mod surveyor;
mod sweeper;
mod tail;
mod timekeeper;
mod timetable;
mod wait;

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use crate::store::{JobFilter, JobPage, StoreInfo};
pub use connect::Loops;
pub use error::Error;
pub use follow::Followed;
pub use logs::LogPage;
pub use schedule::SchedulePage;
pub use wait::Awaited;

#[doc(hidden)]
pub use self::{
    indexer::Indexer, log_sweeper::LogSweeper, promoter::Promoter, pruner::Pruner, reaper::Reaper, releaser::Releaser,
    scheduler::Scheduler, stopper::Stopper, surveyor::Surveyor, sweeper::Sweeper, timekeeper::Timekeeper,
};

use crate::log_file::LogDirectory;
use crate::model::{Actor, Backoff, ContextId, Job, JobError, JobId, JobResult, QueueInfo, ScriptType, Status};
use crate::store::{Deleted, JobView, Retried, Started, Stopping, Store};
use pressure::Pressure;
use readiness::Memory;
use tail::Tails;

/// What a dispatcher needs to know beside its stores.
#[doc(hidden)]
#[derive(Debug, Clone)]
pub struct Settings {
    /// Script types that the operator configured, beside the built-in ones.
    pub script_types: BTreeSet<ScriptType>,
    /// The longest script of a built-in type, in bytes.
    pub longest_script: usize,
    /// What `timeout` is by default.
    pub timeout: Duration,
    /// What `retry_backoff` is by default.
    pub retry_backoff: Duration,
    /// Where log files are.
    pub log_directory: LogDirectory,
    /// How many bytes all log files may have together; then the oldest go. 0 is no limit.
    pub log_quota: u64,
}

impl Settings {
    /// The defaults of the protocol, with log files below `log_directory`.
    pub fn new(log_directory: LogDirectory) -> Self {
        Self {
            script_types: BTreeSet::new(),
            longest_script: 64 * 1024,
            timeout: Duration::from_secs(60),
            retry_backoff: Backoff::DEFAULT,
            log_directory,
            log_quota: 1 << 30,
        }
    }
}

/// Says what is wrong with a script of a type, as far as that is known. It is for whoever has an engine: no script is read here.
#[doc(hidden)]
pub type Compiler = Arc<dyn Fn(&ScriptType, &str) -> Pin<Box<dyn Future<Output = Option<JobError>> + Send>> + Send + Sync>;

/// How long `stop` waits for a running script to obey.
const OBEYS_WITHIN: Duration = Duration::from_secs(1);
/// How many lists of jobs are made at once. Others wait.
const LISTS: usize = 4;
/// How long a list of jobs waits for others to be made; then it is refused.
const LIST_WAITS: Duration = Duration::from_secs(2);
/// The most bytes of JSON that a page of jobs has.
const LARGEST_PAGE: usize = 1024 * 1024;

/// Creates, starts, waits for and stops jobs. Cheap to clone.
#[derive(Clone)]
pub struct Dispatcher(Arc<Inner>);

struct Inner {
    stores: BTreeMap<ContextId, Store>,
    settings: Settings,
    /// Contexts can be in different Redis, one full and another not.
    pressure: BTreeMap<ContextId, Arc<Pressure>>,
    memory: BTreeMap<ContextId, Memory>,
    closing: CancellationToken,
    /// Permits to list jobs.
    lists: Semaphore,
    /// The followers of logs, for each context: contexts can be in different Redis, one silent and another not.
    tails: BTreeMap<ContextId, Tails>,
    compiler: OnceLock<Compiler>,
}

impl Dispatcher {
    /// A dispatcher for the contexts of these stores.
    #[doc(hidden)]
    pub fn new(stores: impl IntoIterator<Item = Store>, settings: Settings) -> Self {
        let stores: BTreeMap<_, _> = stores.into_iter().map(|store| (store.context(), store)).collect();
        let pressure = stores.keys().map(|context| (*context, Arc::default())).collect();
        let memory = stores.keys().map(|context| (*context, Memory::default())).collect();
        let (lists, tails) = (Semaphore::new(LISTS), stores.keys().map(|context| (*context, Tails::default())).collect());
        Self(Arc::new(Inner {
            stores,
            settings,
            pressure,
            memory,
            closing: CancellationToken::new(),
            lists,
            tails,
            compiler: OnceLock::new(),
        }))
    }

    /// Has the scripts of schedules compiled before they are stored. The first compiler counts.
    #[doc(hidden)]
    pub fn compile_with(&self, compiler: Compiler) {
        // A second one would be of the same pools.
        let _ = self.0.compiler.set(compiler);
    }

    /// The contexts that are served here.
    pub fn contexts(&self) -> Vec<ContextId> {
        self.0.stores.keys().copied().collect()
    }

    /// The store of a context.
    #[doc(hidden)]
    pub fn store(&self, context: ContextId) -> Result<&Store, Error> {
        self.0.stores.get(&context).ok_or(Error::NoContext(context))
    }

    /// Every store.
    #[doc(hidden)]
    pub fn stores(&self) -> impl Iterator<Item = &Store> {
        self.0.stores.values()
    }

    /// Starts a created job.
    pub async fn start(&self, context: ContextId, id: &JobId) -> Result<Status, Error> {
        match self.store(context)?.start(id).await.map_err(|error| Error::store(error, Some(id)))? {
            Started::OnItsWay(status) => Ok(status),
            Started::Illegal(status) => Err(Error::State { job_id: id.clone(), status, action: "started" }),
            Started::Missing => Err(Error::NotFound(id.clone())),
            Started::Full(length) => Err(Error::queue_of_job_full(id, length)),
        }
    }

    /// Runs a job again that has ended. Its attempts count on; its retries begin anew.
    pub async fn retry(&self, context: ContextId, id: &JobId) -> Result<Status, Error> {
        match self.store(context)?.retry(id).await.map_err(|error| Error::store(error, Some(id)))? {
            Retried::OnItsWay(status) => Ok(status),
            Retried::Illegal(status) => {
                Err(Error::State { job_id: id.clone(), status, action: "run again; only jobs that have ended can" })
            }
            Retried::Missing => Err(Error::NotFound(id.clone())),
            Retried::Full(length) => Err(Error::queue_of_job_full(id, length)),
            Retried::Cycle(status) => {
                let action = "run again now: it would wait for itself, because a job that it waits for waits for it";
                Err(Error::State { job_id: id.clone(), status, action })
            }
            Retried::Tangled => Err(Error::invalid(
                "job_id",
                format!("job {id} has too many relations behind it to tell whether it would wait for itself if it ran again"),
            )),
            Retried::Busy => Err(Error::relations_busy()),
            Retried::Blocked(prerequisite) => Err(Error::Blocked { job_id: id.clone(), prerequisite }),
        }
    }

    /// Stops a job that has not ended. A running job gets a second to obey; then its status is given as it is.
    pub async fn stop(&self, context: ContextId, id: &JobId) -> Result<Status, Error> {
        let store = self.store(context)?;
        let failed = |error| Error::store(error, Some(id));
        let mut waiter = store.inbox().register(id);
        match store.stop(id).await.map_err(failed)? {
            Stopping::Stopped => Ok(Status::Error),
            Stopping::Ended(status) => Err(Error::State { job_id: id.clone(), status, action: "stopped" }),
            Stopping::Missing => Err(Error::NotFound(id.clone())),
            Stopping::Asked => {
                if let JobView::Open(_) = store.wait(id).await.map_err(failed)? {
                    // Running out of time is an answer, too: the job has not obeyed yet.
                    let _ = tokio::time::timeout(OBEYS_WITHIN, waiter.reply()).await;
                }
                self.status(context, id).await
            }
        }
    }

    /// Where a job is in its life.
    pub async fn status(&self, context: ContextId, id: &JobId) -> Result<Status, Error> {
        let status = self.store(context)?.status(id).await.map_err(|error| Error::store(error, Some(id)))?;
        status.ok_or_else(|| Error::NotFound(id.clone()))
    }

    /// Everything that is known of a job.
    pub async fn job(&self, context: ContextId, id: &JobId) -> Result<Job, Error> {
        let job = self.store(context)?.job(id).await.map_err(|error| Error::store(error, Some(id)))?;
        job.ok_or_else(|| Error::NotFound(id.clone()))
    }

    /// A few fields of a job; what is longer is as if it were not there.
    async fn part(&self, context: ContextId, id: &JobId, fields: &[&str], longest: usize) -> Result<Job, Error> {
        let parts =
            self.store(context)?.parts(std::slice::from_ref(id), fields, longest).await.map_err(|error| Error::store(error, Some(id)))?;
        parts.into_iter().flatten().next().ok_or_else(|| Error::NotFound(id.clone()))
    }

    /// Everything that is known of a job that has so many bytes at most.
    pub async fn job_within(&self, context: ContextId, id: &JobId, bytes: usize) -> Result<Job, Error> {
        let job = self.store(context)?.job_within(id, bytes).await.map_err(|error| Error::store(error, Some(id)))?;
        let too_large = |size| Error::TooLarge { what: "the job", size, limit: bytes, setting: "max_response" };
        job.ok_or_else(|| Error::NotFound(id.clone()))?.map_err(too_large)
    }

    /// The result of a job that has ended.
    pub async fn result(&self, context: ContextId, id: &JobId) -> Result<JobResult, Error> {
        self.result_within(context, id, usize::MAX).await
    }

    /// The same for an output of so many bytes at most. A longer one is not read.
    pub async fn result_within(&self, context: ContextId, id: &JobId, bytes: usize) -> Result<JobResult, Error> {
        let mut look = self.look(context, id).await?;
        if look == JobView::Long {
            look = self.look_within(context, id, bytes).await?;
        }
        match look {
            JobView::Ended(end) => wait::result(id, end),
            JobView::Open(status) => {
                Err(Error::State { job_id: id.clone(), status, action: "asked for its result; wait_job waits for it" })
            }
            JobView::Missing | JobView::Long => Err(Error::NotFound(id.clone())),
        }
    }

    async fn look(&self, context: ContextId, id: &JobId) -> Result<JobView, Error> {
        self.store(context)?.look(id).await.map_err(|error| Error::store(error, Some(id)))
    }

    /// A page of jobs, newest first, without what is long. It may end before `limit`, because it holds no more than about a megabyte.
    pub async fn list(&self, context: ContextId, filter: &JobFilter, cursor: Option<&str>, limit: usize) -> Result<JobPage, Error> {
        self.list_within(context, filter, cursor, limit, LARGEST_PAGE).await
    }

    /// The same with a limit on the bytes of JSON, which also holds no more than about a megabyte.
    pub async fn list_within(
        &self,
        context: ContextId,
        filter: &JobFilter,
        cursor: Option<&str>,
        limit: usize,
        bytes: usize,
    ) -> Result<JobPage, Error> {
        let store = self.store(context)?;
        spec::check_filter(filter)?;
        let busy = || Error::Busy { what: "too many lists of jobs at once", retry_after: error::RETRY_AFTER };
        let _permit = tokio::time::timeout(LIST_WAITS, self.0.lists.acquire()).await.map_err(|_| busy())?.map_err(|_| busy())?;
        let page = store.list(filter, cursor, limit, bytes.min(LARGEST_PAGE)).await.map_err(|error| Error::store(error, None))?;
        page.ok_or_else(|| Error::bad_cursor("use next_cursor of the page before"))
    }

    /// Deletes a job that does not run, with its log and its reply. Its log file goes at once where it is in this server's directory.
    pub async fn delete(&self, context: ContextId, id: &JobId) -> Result<(), Error> {
        let (store, failed) = (self.store(context)?, |error| Error::store(error, Some(id)));
        let path = match store.job(id).await {
            Ok(job) => job.and_then(|job| job.log_path),
            Err(error) if error.may_pass() => return Err(failed(error)),
            // What a foreign program made of the key has no log file.
            Err(_) => None,
        };
        match store.delete(id).await.map_err(failed)? {
            Deleted::Deleted => {
                if let Some(path) = path {
                    self.remove_log_file(context, id, path).await;
                }
                Ok(())
            }
            Deleted::Illegal(status) => Err(Error::State { job_id: id.clone(), status, action: "deleted; stop it first" }),
            Deleted::Open(status) => Err(Error::State { job_id: id.clone(), status, action: "deleted before its children have ended" }),
            Deleted::Missing => Err(Error::NotFound(id.clone())),
        }
    }

    /// Every live actor, those of other programs included.
    pub async fn actors(&self, context: ContextId) -> Result<Vec<Actor>, Error> {
        let actors = self.store(context)?.actors_now().await.map_err(|error| Error::store(error, None))?;
        Ok(actors.to_vec())
    }

    /// Every work queue in use.
    pub async fn queues(&self, context: ContextId) -> Result<Vec<QueueInfo>, Error> {
        self.store(context)?.queues().await.map_err(|error| Error::store(error, None))
    }

    /// How the store of the default context is.
    pub async fn store_info(&self) -> Result<StoreInfo, Error> {
        self.store(ContextId::default())?.store_info().await.map_err(|error| Error::store(error, None))
    }

    /// Ends every wait in this process with [`Error::StillRunning`], because the process is about to end. The jobs go on.
    pub fn close(&self) {
        self.0.closing.cancel();
    }

    /// The loops that keep jobs of all contexts moving.
    #[doc(hidden)]
    pub fn start_services(&self, shutdown: &CancellationToken) -> TaskTracker {
        let tasks = TaskTracker::new();
        for (store, pressure) in self.stores().zip(self.0.pressure.values()) {
            let run = |service| tasks.spawn(service);
            run(boxed(Promoter::new(store.clone()), shutdown));
            run(boxed(Scheduler::new(store.clone()).minding(pressure.clone()), shutdown));
            run(boxed(Reaper::new(store.clone()), shutdown));
            run(boxed(Releaser::new(store.clone()), shutdown));
            run(boxed(Indexer::new(store.clone()), shutdown));
            run(boxed(Surveyor::new(store.clone()), shutdown));
            run(boxed(Stopper::new(store.clone(), self.0.settings.script_types.clone()), shutdown));
            run(boxed(Sweeper::new(store.clone()), shutdown));
            run(boxed(Timekeeper::new(store.clone()), shutdown));
            run(boxed(Pruner::new(store.clone(), pressure.clone()), shutdown));
        }
        let directory = |store: &Store| (store.clone(), self.0.settings.log_directory.of(store.context()));
        let sweeper = LogSweeper::new(self.stores().map(directory).collect(), self.0.settings.log_quota);
        tasks.spawn(boxed(sweeper, shutdown));
        tasks.close();
        tasks
    }
}

fn boxed(service: impl crate::service::Service, shutdown: &CancellationToken) -> futures_util::future::BoxFuture<'static, ()> {
    Box::pin(crate::service::run(service, shutdown.clone()))
}
