#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod access;
mod actors;
mod batch;
mod bounds;
mod clock;
mod contexts;
mod error;
mod flows;
mod functions;
mod granted;
mod health;
mod jobs;
/// Every key.
pub mod keys;
mod layouts;
mod library;
/// A private Redis server: starts, supervises and ends it.
pub mod managed;
mod messages;
mod network;
mod news;
mod objects;
mod pace;
mod profile;
mod queues;
mod relations;
mod runners;
mod scan;
mod schedules;
mod score;
mod tidy;
mod value;
/// The methods of a store, grouped by subject.
pub mod views;

use std::sync::Arc;
use std::time::Duration;

pub use access::{AccessNews, Change, IdentityFound, StoredToken};
pub use batch::Weight;
pub use library::acl::{acl_rules, own_functions, public_functions};

pub use actors::presence::{PRESENCE, Registration, RegistrationClaim};
pub use clock::Clock;
pub use contexts::{Databases, Listed};
pub use error::{Barred, Error};
pub use flows::{FlowState, StoredFlow, StoredFlowJob};
pub use functions::{
    ActorRoom, Advanced, ContextChange, Created, Deleted, Evicted, Fetch, Fetched, FlowAction, FlowCreated, Granted, IdentityChange,
    IdentityStored, IndexesDeclared, JobOfFlow, LogLines, LoginStored, Making, NewFlow, NewFlowJob, NewJob, NotFired, Numbered,
    ObjectStored, OpenJobs, Pausing, Pending, Portion, Promoted, Pruning, Recovered, Retried, RunnerStored, Scheduling, Started, Stopping,
    TokenCreated, Unlisted, Walked, Written,
};
pub use functions::{Close, Closed, ConveyorEnd, Due, Import, Imported};
pub use functions::{
    FarEnd, Lack, Lost, MadeJobs, MessageAcknowledged, MessageDeleted, MessageStored, NewMessage, NewResult, Received, RunnerJob, Settled,
    Tended,
};
pub use functions::{NewStop, StopReceived, StopTold};
pub use granted::{GrantedRedis, NotGranted};
pub use health::info::{Counters, StoreInfo};
pub use jobs::claimed::Claimed;
#[doc(hidden)]
pub use jobs::codec::ERROR_FIELDS;
pub use jobs::codec::{JobEnd, JobView};
pub use jobs::direct_start::{DirectJob, DirectStart, DirectStarts, NotedLease};
pub use jobs::ended::{AttemptEnd, Ended};
pub use jobs::speculative_run::{SpeculativeRun, may_have_effects};
pub use layouts::conveyor::{AddTo, ConveyorProducer, Relative};
pub use layouts::rhailib::{ReplyQueue, RhailibTasks};
pub use layouts::{LayoutQueues, Layouts, Push, queues_of_pool};
#[doc(hidden)]
pub use library::script_behind_the_modules;
pub use managed::{Durability, Foreseen, Managed, PrivateRedis};
pub use messages::cursor::{ListCursor, StatusCursor};
pub use messages::lists::MessageNames;
pub use messages::mailboxes::Mailboxes;
pub use messages::{AwayJob, StoredMessage};
pub use network::endpoint::Endpoint;
pub use news::alarm::DueKind;
pub use news::events::{Changes, Moment, is_cursor};
pub use news::inbox::{Audience, Inbox, Waiter};
pub use news::subscriber::Subscriber;
pub use news::wake_up::WakeUps;
pub use objects::host_call::{HostCallId, HostCallResult};
pub use objects::{EntryRange, IndexEntries, ReadObject, ReadObjects, key_of_entry};
pub use pace::Pace;
pub use profile::{Profile, RedisWork};
pub use queues::peek::Peek;
pub use queues::{QueuePosition, queue_name};
pub use schedules::{Firing, StoredSchedule};
pub use score::Score;

pub use crate::keys::ConveyorKeys;
use crate::keys::Keys;
use batch::Batch;
use hero_model::{ContextId, ServerId};
use network::connection::RedisConnection;
use network::home::Home;

/// The lifetimes of leases and jobs.
#[derive(Debug, Clone)]
pub struct Periods {
    /// A running job belongs to its actor for this time, unless the lease is renewed.
    pub lease: Duration,
    /// A finished job is kept for this time.
    pub keep_finished: Duration,
    /// A finished job of `run_and_wait` is kept for this time.
    pub keep_waited: Duration,
    /// A job that ended in error is kept for this time.
    pub keep_error: Duration,
    /// A job that is never started is stopped after this time.
    pub keep_created: Duration,
}

impl Default for Periods {
    fn default() -> Self {
        let hours = |hours: u64| Duration::from_secs(hours * 3600);
        Self {
            lease: Duration::from_secs(30),
            keep_finished: hours(24),
            keep_waited: hours(1),
            keep_error: hours(7 * 24),
            keep_created: hours(24),
        }
    }
}

/// The jobs of one context.
///
/// Cheap to clone. A write whose answer got lost may have been executed. Every write can be repeated, or is refused the second time.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    keys: Keys,
    database: i64,
    /// In a cluster, a key by which nodes find the context.
    signpost: Option<String>,
    server: ServerId,
    /// The server's argument for functions: the first one in `request.lua`.
    server_argument: String,
    clock: Clock,
    periods: Periods,
    /// The settings that the store was made with.
    settings: Settings,
    bounds: bounds::ContextBounds,
    memory: health::memory::Memory,
    memory_throttle: health::memory_throttle::MemoryThrottle,
    push: Push,
    commands: Arc<RedisConnection>,
    fetches: RedisConnection,
    inbox: Arc<Inbox>,
    wake_ups: WakeUps,
    alarms: news::alarm::Alarms,
    direct_starts: DirectStarts,
    surveys: actors::survey::Surveys,
    logged_keys: health::spoilt::LoggedKeys,
    filter_cache: jobs::filter_cache::FilterCache,
    runner_types: runners::types::RunnerTypes,
    /// Permits to read long results.
    readers: tokio::sync::Semaphore,
    changes: Changes,
    /// Notified when a job ended in this process whose relatives are to be released.
    releases: tokio::sync::Notify,
    create: Batch<functions::Creation, Created>,
    /// The large ones, so that others do not wait while so much data is sent.
    create_large: Batch<functions::Creation, Created>,
    /// The jobs whose relations must be followed.
    related: Batch<relations::related::Related, Created>,
    relation_budget: relations::budget::RelationBudget,
    /// The room of each caller for groups that it stages at a time.
    staging_rooms: relations::caller_semaphores::CallerSemaphores,
    start: Batch<hero_model::JobId, Started>,
}

/// The settings of a store.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The address of Redis.
    pub endpoint: Endpoint,
    /// The context whose jobs these are.
    pub context: ContextId,
    /// The id of this start of this process.
    pub server: ServerId,
    /// The lifetimes of leases and jobs.
    pub periods: Periods,
    /// The most jobs in a queue.
    pub queue_limit: usize,
    /// The queues for new jobs.
    pub push: Push,
}

impl Store {
    /// Prepares a store, and checks that Redis is there, is suitable, and is set up for jobs.
    ///
    /// Also returns warnings about a set-up that works but is unwise.
    pub async fn connect(settings: Settings) -> Result<(Self, Vec<String>), Error> {
        let (home, keys) = Home::find(&settings.endpoint, settings.context).await?;
        let home = Arc::new(home);
        let commands = Arc::new(RedisConnection::to(&home)?);
        let mut warnings = match health::info::check(&commands).await {
            // A link retries again and again. A single attempt finds the cause.
            Err(Error::Deadline(deadline)) => {
                commands.blocking().await?;
                return Err(Error::Deadline(deadline));
            }
            checked => checked?,
        };
        if home.is_in_a_cluster() {
            warnings.extend(health::info::cluster_warning(&commands).await);
        }
        commands.load_library().await?;
        commands.load_public().await?;
        let (fetches, push) = (RedisConnection::to(&home)?, settings.push);
        let inner = Arc::new_cyclic(|inner| Inner {
            changes: Changes::new(commands.clone(), &keys),
            create: functions::create_batch(inner.clone()),
            create_large: functions::create_batch(inner.clone()),
            related: relations::related::relate_batch(inner.clone()),
            relation_budget: relations::budget::RelationBudget::default(),
            staging_rooms: relations::caller_semaphores::CallerSemaphores::new(functions::STAGED_OF_A_CALLER),
            start: functions::start_batch(inner.clone()),
            database: if home.is_in_a_cluster() { 0 } else { settings.endpoint.database(settings.context.0) },
            signpost: home.is_in_a_cluster().then(|| keys.events()),
            server_argument: library::fcall::server_argument(&keys, &settings.server, &settings.periods),
            keys,
            server: settings.server.clone(),
            clock: Clock::default(),
            periods: settings.periods.clone(),
            bounds: bounds::ContextBounds::new(settings.queue_limit),
            settings,
            memory: health::memory::Memory::default(),
            memory_throttle: health::memory_throttle::MemoryThrottle::default(),
            fetches,
            push,
            commands,
            inbox: Arc::default(),
            wake_ups: WakeUps::default(),
            alarms: news::alarm::Alarms::default(),
            direct_starts: DirectStarts::default(),
            surveys: actors::survey::Surveys::default(),
            logged_keys: health::spoilt::LoggedKeys::default(),
            filter_cache: jobs::filter_cache::FilterCache::default(),
            runner_types: runners::types::RunnerTypes::default(),
            readers: tokio::sync::Semaphore::new(functions::MAX_LONG_READERS),
            releases: tokio::sync::Notify::new(),
        });
        let store = Self(inner);
        store.maintenance().set_clock().await?;
        Ok((store, warnings))
    }

    /// The context whose jobs these are.
    pub fn context(&self) -> ContextId {
        self.0.keys.context()
    }

    /// Returns the labels of a metric of this context: these, and the context unless it is 0.
    pub fn labels<const N: usize>(&self, labels: [(&'static str, String); N]) -> Vec<metrics::Label> {
        let context = (self.context() != ContextId(0)).then(|| ("context", self.context().to_string()));
        labels.into_iter().chain(context).map(|(name, value)| metrics::Label::new(name, value)).collect()
    }

    /// The keys of the context.
    pub fn keys(&self) -> &Keys {
        &self.0.keys
    }

    /// The id of this start of this process.
    pub fn server(&self) -> &ServerId {
        &self.0.server
    }

    /// The time of the store.
    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// The lifetimes of leases and jobs.
    pub fn periods(&self) -> &Periods {
        &self.0.periods
    }

    /// Replies for the waiters of this server.
    pub fn inbox(&self) -> &Arc<Inbox> {
        &self.0.inbox
    }

    /// The wake-ups of the pools of this process.
    pub fn wake_ups(&self) -> &WakeUps {
        &self.0.wake_ups
    }

    /// The room of the pools of this process for direct starts.
    pub fn direct_starts(&self) -> &DirectStarts {
        &self.0.direct_starts
    }
}

impl Inner {
    /// The settings of the store that do not depend on the context.
    fn settings(&self) -> &Settings {
        &self.settings
    }

    async fn location(&self) -> Result<String, Error> {
        let info: String = self.commands.call(redis::cmd("INFO").arg("server")).await?;
        let run = info.lines().find_map(|line| line.strip_prefix("run_id:")).unwrap_or_default().trim();
        Ok(format!("{run}/{}/{}", self.database, self.keys.prefix()))
    }
}
