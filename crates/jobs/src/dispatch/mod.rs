//! Creates, starts, waits for and stops jobs.
//!
//! [`Dispatcher`] is the entry point of the library, and its [views] have its methods by what they act on. The loops
//! beside it keep jobs moving, whichever server made them.

mod connect;
mod create;
mod cron;
mod error;
mod explain;
mod follow;
mod indexer;
mod inputs;
mod legacy;
mod log_followers;
mod log_stream;
mod log_sweeper;
mod logs;
mod objects;
mod open_contexts;
mod owner;
mod pause;
mod pressure;
mod promoter;
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
mod timekeeper;
mod timetable;
mod transition;
pub mod views;
mod wait;

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use connect::Loops;
pub use error::Error;
pub use follow::Followed;
pub use hero_model::{JobFilter, JobPage, LogPage, SchedulePage};
pub use hero_store::StoreInfo;
pub use objects::{Objects, Room, Schemas};
#[doc(hidden)]
pub use open_contexts::{OpenContext, Opener};
#[doc(hidden)]
pub use spec::{MOST_RELATIVES, check_bounds, check_relations};
pub use wait::Awaited;

#[doc(hidden)]
pub use self::{
    indexer::Indexer, log_sweeper::LogSweeper, promoter::Promoter, pruner::Pruner, reaper::Reaper, releaser::Releaser,
    scheduler::Scheduler, stopper::Stopper, surveyor::Surveyor, sweeper::Sweeper, timekeeper::Timekeeper,
};

use crate::log_file::LogDirectory;
use hero_access::Authority;
use hero_audit::Audit;
use hero_engine::Names;
use hero_model::{ContextId, JobError, Queue, ScriptType};
use hero_store::Store;
use open_contexts::{ContextState, Contexts};

/// The settings of a dispatcher.
#[doc(hidden)]
#[derive(Debug, Clone)]
pub struct Settings {
    /// Script types that the operator configured, in addition to the built-in ones.
    pub script_types: BTreeSet<ScriptType>,
    /// Types whose actors are configured here but cannot run, each with the reason.
    pub absent: BTreeMap<ScriptType, String>,
    /// Maximum length of a script of a built-in type in each context, in bytes. The default is 64 KB.
    pub longest_scripts: BTreeMap<ContextId, usize>,
    /// The directory of log files.
    pub log_directory: LogDirectory,
    /// Maximum number of bytes of all log files together; beyond it the oldest are removed. 0 is no limit.
    pub log_quota: u64,
    /// The schemas of objects.
    pub schemas: Arc<Schemas>,
    /// The audit log for jobs that schedules make.
    pub audit: Audit,
}

impl Settings {
    /// Returns the defaults of the protocol, with log files below `log_directory`.
    pub fn new(log_directory: LogDirectory) -> Self {
        Self {
            script_types: BTreeSet::new(),
            absent: BTreeMap::new(),
            longest_scripts: BTreeMap::new(),
            log_directory,
            log_quota: 1 << 30,
            schemas: Arc::default(),
            audit: Audit::default(),
        }
    }
}

/// Returns the error in a script of a type, if one is known. The server sets it, because it has engines: the dispatcher
/// parses no script.
#[doc(hidden)]
pub type Compiler = Arc<dyn Fn(&ScriptType, &str, Names) -> Pin<Box<dyn Future<Output = Option<JobError>> + Send>> + Send + Sync>;

/// Explains why the actors of this process take no jobs from a queue yet, because contexts and runners take turns. The
/// server sets it.
#[doc(hidden)]
pub type ExplainWaits = Box<dyn Fn(ContextId, &Queue) -> Option<String> + Send + Sync>;

/// Creates, starts, waits for and stops jobs, in its [views]: `dispatcher.jobs()`, `dispatcher.schedules()` and so on.
/// Cheap to clone.
#[derive(Clone)]
pub struct Dispatcher(Arc<Inner>);

struct Inner {
    contexts: Contexts,
    settings: Settings,
    closing: CancellationToken,
    /// Permits to list jobs.
    lists: Semaphore,
    compiler: OnceLock<Compiler>,
    callers: Arc<OnceLock<Authority>>,
    explain_waits: OnceLock<ExplainWaits>,
}

impl Dispatcher {
    /// Creates a dispatcher for the contexts of these stores.
    #[doc(hidden)]
    pub fn new(stores: impl IntoIterator<Item = Store>, settings: Settings) -> Self {
        let contexts = Contexts::default();
        for store in stores {
            let longest = settings.longest_scripts.get(&store.context()).copied();
            contexts.add(store, Arc::clone(&settings.schemas), longest);
        }
        let (closing, lists) = (CancellationToken::new(), Semaphore::new(query::MAX_CONCURRENT_LISTS));
        let (compiler, callers, explain_waits) = Default::default();
        Self(Arc::new(Inner { contexts, settings, closing, lists, compiler, callers, explain_waits }))
    }

    /// Returns the directory of log files. All clones share whether it can be written.
    pub fn log_directory(&self) -> &LogDirectory {
        &self.0.settings.log_directory
    }

    /// Sets the compiler for scripts that are only checked. Only the first call has an effect.
    #[doc(hidden)]
    pub fn compile_with(&self, compiler: Compiler) {
        // A second one would use the same pools.
        let _ = self.0.compiler.set(compiler);
    }

    /// Makes schedules end whose callers were deleted, and skip runs while their callers may not create jobs. Only the
    /// first call has an effect.
    #[doc(hidden)]
    pub fn set_callers(&self, callers: Authority) {
        // A second one would know the same identities.
        let _ = self.0.callers.set(callers);
    }

    /// Explains jobs that wait because contexts and runners take turns. Only the first call has an effect.
    #[doc(hidden)]
    pub fn explain_waits(&self, explain: ExplainWaits) {
        // There are no other actors in this process.
        let _ = self.0.explain_waits.set(explain);
    }

    /// Ends every wait in this process with [`Error::StillRunning`], because the process is about to end. The jobs go
    /// on.
    pub fn close(&self) {
        self.0.closing.cancel();
    }

    /// Returns the audit log of this process.
    pub fn audit(&self) -> &Audit {
        &self.0.settings.audit
    }

    /// True if this process is about to end.
    pub fn is_closing(&self) -> bool {
        self.0.closing.is_cancelled()
    }

    /// Starts the loops that keep the jobs of all open contexts moving, and one that removes log files of the contexts
    /// that are open in each round.
    #[doc(hidden)]
    pub fn start_services(&self, shutdown: &CancellationToken) -> TaskTracker {
        let tasks = TaskTracker::new();
        for state in self.0.contexts.all() {
            self.run_services(&state, &tasks, shutdown);
        }
        let dispatcher = self.clone();
        let directories = move || {
            let directory = |store: Store| (store.clone(), dispatcher.0.settings.log_directory.of(store.context()));
            dispatcher.contexts().stores().into_iter().map(directory).collect()
        };
        tasks.spawn(boxed(LogSweeper::of(Box::new(directories), self.0.settings.log_quota), shutdown));
        tasks.close();
        tasks
    }

    /// Starts the loops that keep the jobs of one open context moving.
    #[doc(hidden)]
    pub fn start_services_of(&self, context: ContextId, shutdown: &CancellationToken) -> TaskTracker {
        let tasks = TaskTracker::new();
        if let Ok(open) = self.contexts().opened(context) {
            self.run_services(&open.0, &tasks, shutdown);
        }
        tasks.close();
        tasks
    }

    fn run_services(&self, state: &ContextState, tasks: &TaskTracker, shutdown: &CancellationToken) {
        let (store, pressure) = (state.store(), &state.pressure);
        let run = |service| tasks.spawn(service);
        run(boxed(Promoter::new(store.clone()), shutdown));
        let scheduler = Scheduler::new(store.clone()).with_pressure(pressure.clone()).with_audit(self.0.settings.audit.clone());
        run(boxed(scheduler.with_callers(self.0.callers.clone()), shutdown));
        run(boxed(Reaper::new(store.clone()).with_audit(self.0.settings.audit.clone()), shutdown));
        run(boxed(Releaser::new(store.clone()), shutdown));
        run(boxed(Indexer::new(store.clone()), shutdown));
        run(boxed(Surveyor::new(store.clone()), shutdown));
        run(boxed(Stopper::new(store.clone(), self.0.settings.script_types.clone()), shutdown));
        run(boxed(Sweeper::new(store.clone()), shutdown));
        run(boxed(Timekeeper::new(store.clone()), shutdown));
        run(boxed(Pruner::new(store.clone(), pressure.clone()), shutdown));
    }
}

fn boxed(service: impl hero_service::Service, shutdown: &CancellationToken) -> futures_util::future::BoxFuture<'static, ()> {
    Box::pin(hero_service::run(service, shutdown.clone()))
}
