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
mod inputs;
mod log_sweeper;
mod logs;
mod objects;
mod owner;
mod pause;
mod pressure;
mod promoter;
mod protocol;
mod pruner;
mod query;
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
mod transition;
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
pub use objects::{Objects, Room, Schemas};
pub use schedule::SchedulePage;
pub use wait::Awaited;

#[doc(hidden)]
pub use self::{
    indexer::Indexer, log_sweeper::LogSweeper, promoter::Promoter, pruner::Pruner, reaper::Reaper, releaser::Releaser,
    scheduler::Scheduler, stopper::Stopper, surveyor::Surveyor, sweeper::Sweeper, timekeeper::Timekeeper,
};

use crate::log_file::LogDirectory;
use crate::model::{Backoff, ContextId, JobError, ScriptType};
use crate::store::Store;
use pressure::Pressure;
use readiness::Memory;
use tail::Tails;

/// What a dispatcher needs to know beside its stores.
#[doc(hidden)]
#[derive(Debug, Clone)]
pub struct Settings {
    /// Script types that the operator configured, beside the built-in ones.
    pub script_types: BTreeSet<ScriptType>,
    /// Of these types actors were to be here, but cannot; and why.
    pub absent: BTreeMap<ScriptType, String>,
    /// The longest script of a built-in type in a context, in bytes; 64 KB where none is named.
    pub longest_scripts: BTreeMap<ContextId, usize>,
    /// What `timeout` is by default.
    pub timeout: Duration,
    /// What `retry_backoff` is by default.
    pub retry_backoff: Duration,
    /// Where log files are.
    pub log_directory: LogDirectory,
    /// How many bytes all log files may have together; then the oldest go. 0 is no limit.
    pub log_quota: u64,
    /// What objects have to fit.
    pub schemas: Arc<Schemas>,
}

impl Settings {
    /// The defaults of the protocol, with log files below `log_directory`.
    pub fn new(log_directory: LogDirectory) -> Self {
        Self {
            script_types: BTreeSet::new(),
            absent: BTreeMap::new(),
            longest_scripts: BTreeMap::new(),
            timeout: Duration::from_secs(60),
            retry_backoff: Backoff::DEFAULT,
            log_directory,
            log_quota: 1 << 30,
            schemas: Arc::default(),
        }
    }
}

/// Says what is wrong with a script of a type, as far as that is known. It is for whoever has an engine: no script is read here.
#[doc(hidden)]
pub type Compiler = Arc<dyn Fn(&ScriptType, &str) -> Pin<Box<dyn Future<Output = Option<JobError>> + Send>> + Send + Sync>;

/// Creates, starts, waits for and stops jobs. Cheap to clone.
#[derive(Clone)]
pub struct Dispatcher(Arc<Inner>);

struct Inner {
    stores: BTreeMap<ContextId, Store>,
    settings: Settings,
    /// Contexts can be in different Redis, one full and another not.
    pressure: BTreeMap<ContextId, Arc<Pressure>>,
    memory: BTreeMap<ContextId, Memory>,
    objects: BTreeMap<ContextId, Objects>,
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
        let of = |store: &Store| (store.context(), Objects::new(store.clone(), Arc::clone(&settings.schemas)));
        let objects = stores.values().map(of).collect();
        let memory = stores.keys().map(|context| (*context, Memory::default())).collect();
        let (lists, tails) = (Semaphore::new(query::LISTS), stores.keys().map(|context| (*context, Tails::default())).collect());
        Self(Arc::new(Inner {
            stores,
            settings,
            pressure,
            memory,
            objects,
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

    /// The objects of a context.
    pub fn objects(&self, context: ContextId) -> Result<&Objects, Error> {
        self.0.objects.get(&context).ok_or(Error::NoContext(context))
    }

    /// Every store.
    #[doc(hidden)]
    pub fn stores(&self) -> impl Iterator<Item = &Store> {
        self.0.stores.values()
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
