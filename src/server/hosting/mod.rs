//! The contexts that this process serves: those of its settings always, those made at run time while they are in use.
//!
//! A context of the second kind *sleeps* most of the time: this process knows its object and no more. The context is
//! *opened* when a call names it or something in it is due: then it gets a store, loops and, if there is a permit,
//! pools. When it has been idle for a while it sleeps again.

mod deletion;
mod drain;
mod follower;
mod looks;
mod messaging;
mod opening;
mod pool_permits;
mod rotation;
mod runner_pool;
mod runners;
mod waits;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(crate) use follower::Follower;
pub(crate) use rotation::Rotation;

use self::messaging::MessagingPermit;
use self::pool_permits::PoolPermits;
use super::context_pool::ContextPool;
use super::pools::{ContextPools, PoolStarter};
use super::settings::Settings;
use crate::access::Authority;
use crate::coordinator::MessageLoops;
use crate::dispatch::Dispatcher;
use crate::model::{ContextId, ContextLimits};
use crate::store::Store;

/// The maximum number of contexts made at run time that are open at once.
const MOST_OPEN: usize = 256;
/// The number of doors, which are locks: contexts that share a door are opened and closed one at a time.
const DOORS: usize = 64;

/// The contexts that this process serves. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Hosting(Arc<Inner>);

struct Inner {
    settings: Arc<Settings>,
    dispatcher: Dispatcher,
    authority: Authority,
    /// Starts pools, once that is possible.
    starter: OnceLock<PoolStarter>,
    /// The message loops, in a server.
    message_loops: OnceLock<Arc<MessageLoops>>,
    hosted: Mutex<BTreeMap<ContextId, Hosted>>,
    /// The contexts that this process is deleting.
    deleting: Mutex<BTreeSet<ContextId>>,
    /// The deleted contexts that this process is closing.
    leaving: Mutex<BTreeSet<ContextId>>,
    doors: [tokio::sync::Mutex<()>; DOORS],
    /// One permit for each context made at run time that may have pools at the same time.
    context_permits: Arc<Semaphore>,
    /// The same number of permits for pools of local runners.
    runner_permits: Arc<PoolPermits>,
    /// One permit for each context that is open only for its messages.
    messaging_permits: Arc<Semaphore>,
    /// Notified when a permit may be free, or is wanted.
    moved: Notify,
    /// Makes the pools stop taking jobs, and end when running jobs have ended.
    draining: CancellationToken,
    /// Ends the pools.
    shutdown: CancellationToken,
    /// Ends the loops, after the pools.
    closing: CancellationToken,
    /// The loops that manage pools of runners.
    runner_loops: TaskTracker,
    tasks: TaskTracker,
}

/// A context that is open here.
struct Hosted {
    store: Store,
    /// Whether it is named by the settings and stays open.
    is_pinned: bool,
    /// Ends its loops.
    closing: CancellationToken,
    services: TaskTracker,
    pools: Pools,
    /// The time since which it waits for a permit, if it does.
    waits_since: Option<Instant>,
    /// The permit, if it is open only for its messages.
    messaging: Option<MessagingPermit>,
    /// The time at which it was opened, or a job was last seen running here.
    busy: Instant,
}

/// The state of the pools of a context.
enum Pools {
    None,
    Starting,
    Running(Box<Running>),
    /// The pools are ending. None is started before they have ended, because the jobs that they hold would look lost.
    /// The token ends them with the grace period.
    Ending(CancellationToken),
}

struct Running {
    pools: ContextPools,
    shutdown: CancellationToken,
    since: Instant,
    /// Whether it takes no jobs, because its turn is over and others wait.
    is_paused: bool,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Hosting {
    pub(crate) fn new(
        settings: Arc<Settings>,
        dispatcher: Dispatcher,
        authority: Authority,
        shutdown: CancellationToken,
        closing: CancellationToken,
    ) -> Self {
        let (starter, message_loops, hosted, deleting, leaving, moved, runner_loops, tasks) = Default::default();
        let doors = [const { tokio::sync::Mutex::const_new(()) }; DOORS];
        let context_permits = Arc::new(Semaphore::new(settings.contexts_running));
        let runner_permits = PoolPermits::new(settings.contexts_running);
        let messaging_permits = Arc::new(Semaphore::new(messaging::MAX_OPEN));
        let inner = Inner {
            settings,
            dispatcher,
            authority,
            starter,
            message_loops,
            hosted,
            deleting,
            leaving,
            doors,
            context_permits,
            runner_permits,
            messaging_permits,
            moved,
            draining: CancellationToken::new(),
            shutdown,
            closing,
            runner_loops,
            tasks,
        };
        Self(Arc::new(inner))
    }

    /// Sets the starter of pools; from now on pools can start.
    pub(crate) fn start_pools_with(&self, starter: PoolStarter) {
        // Set only once.
        let _ = self.0.starter.set(starter);
    }

    /// Starts the message loops in all contexts that are open, and in those opened later.
    pub(crate) fn bring_messages_with(&self, message_loops: &Arc<MessageLoops>) {
        let hosted = self.hosted();
        for (context, hosted) in &*hosted {
            message_loops.serve(*context, &hosted.closing);
        }
        // Set only once.
        let _ = self.0.message_loops.set(Arc::clone(message_loops));
    }

    fn hosted(&self) -> MutexGuard<'_, BTreeMap<ContextId, Hosted>> {
        self.0.hosted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn door(&self, context: ContextId) -> tokio::sync::MutexGuard<'_, ()> {
        self.door_of(context).lock().await
    }

    fn door_of(&self, context: ContextId) -> &tokio::sync::Mutex<()> {
        &self.0.doors[context.0 as usize % DOORS]
    }

    fn is_same_door(&self, one: ContextId, other: ContextId) -> bool {
        std::ptr::eq(self.door_of(one), self.door_of(other))
    }

    /// Returns the pools of the contexts that are always served.
    pub(crate) fn pools(&self) -> Vec<Arc<ContextPool>> {
        self.pools_if(|hosted| hosted.is_pinned)
    }

    fn pools_if(&self, which: impl Fn(&Hosted) -> bool) -> Vec<Arc<ContextPool>> {
        let hosted = self.hosted();
        let running = hosted.values().filter(|hosted| which(hosted)).filter_map(|hosted| match &hosted.pools {
            Pools::Running(running) => Some(&running.pools.pools),
            _ => None,
        });
        running.flatten().cloned().collect()
    }

    /// Returns the number of running jobs in all pools.
    pub(crate) fn jobs(&self) -> usize {
        self.pools_if(|_| true).iter().map(|entry| entry.pool.status.jobs()).sum()
    }

    /// Waits after the shutdown until all pools have ended.
    pub(crate) async fn ended(&self) {
        self.0.tasks.close();
        self.0.tasks.wait().await;
        for entry in self.pools_if(|_| true) {
            entry.pool.ended().await;
        }
    }

    /// Waits after the closing until the loops of all contexts have ended.
    pub(crate) async fn closed(&self) {
        let services: Vec<TaskTracker> = self.hosted().values().map(|hosted| hosted.services.clone()).collect();
        for of_context in services {
            of_context.wait().await;
        }
    }

    /// Applies the limits of a context's object, as far as the settings allow.
    fn limit(&self, store: &Store, limits: &ContextLimits) {
        let within = self.0.settings.within(store.context());
        let lower = |common: usize, own: Option<u32>| match (common, own) {
            (common, None) => common,
            (0, Some(own)) => own as usize,
            (common, Some(own)) => common.min(own as usize),
        };
        let queue = usize::try_from(within.queue_length).unwrap_or(usize::MAX);
        store.limits().set_queues(limits.queue_length.map_or(queue, |own| queue.min(own as usize)));
        store.limits().set_running(lower(within.max_running, limits.max_running));
        store.limits().set_jobs_per_second(limits.jobs_per_second.unwrap_or(0));
        store.limits().set_objects(limits.objects_quota.unwrap_or(0));
    }

    fn limits_of(&self, context: ContextId) -> ContextLimits {
        self.0.authority.context(context).map(|context| context.limits).unwrap_or_default()
    }

    /// Whether a context was made at run time.
    fn is_made(&self, context: ContextId) -> bool {
        !self.0.settings.contexts.contains(&context)
    }
}

/// Time for which a context takes jobs while others wait for its permit.
const TIME_SLICE: Duration = Duration::from_secs(10);

/// Idle time before a context sleeps.
const IDLE_TIME: Duration = Duration::from_secs(60);
