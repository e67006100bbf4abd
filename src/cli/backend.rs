//! What `hero serve` and `hero actor` have in common: Redis, the dispatcher, its loops, and the pools.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::compilers::compiler;
use super::confinement;
use super::context_pool::ContextPool;
use super::engines::Engines;
use super::exposure;
use super::object_schemas;
use super::outside::Granter;
use super::readiness::Watch;
use super::settings::{self, Confinement, LayoutName, Settings};
use super::stores::{connect, for_context, private};
use super::token_key;
use crate::access::{self, Authority, TokenKey};
use crate::actor::{Instances, Mask, Pool, PoolSettings};
use crate::conveyor::{Closer, Consumer, ConsumerSettings};
use crate::dispatch::{self, Dispatcher, Schemas};
use crate::engine::{Capability, EngineSettings, Limits};
use crate::log_file::LogDirectory;
use crate::model::{ContextId, ScriptType, ServerId};
use crate::process::Spawner;
use crate::sal::Outside;
use crate::service;
use crate::store::{Layouts, Managed, Subscriber};

/// Everything that runs below the RPC server.
pub(super) struct Backend {
    pub(super) dispatcher: Dispatcher,
    pub(super) authority: Authority,
    pub(super) server: ServerId,
    pub(super) pools: Vec<ContextPool>,
    /// Which Redis is used, as people are told.
    pub(super) redis: String,
    /// The script types of pools that are not offered here, and why.
    pub(super) absent: BTreeMap<ScriptType, String>,
    managed: Option<Managed>,
    /// Ends the pools.
    pub(super) shutdown: CancellationToken,
    /// Ends the loops, after the pools.
    closing: CancellationToken,
    services: TaskTracker,
    grace: Duration,
    /// Kept to the end, because children die with the thread that started them.
    spawner: Spawner,
}

/// What a backend is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A server, whose callers may have tokens.
    Server,
    /// Actors alone, which nobody calls.
    Actors,
}

/// A signal came while the private Redis was starting, before anything else ran. It is no failure.
#[derive(Debug, thiserror::Error)]
#[error("ended while the private Redis was starting")]
pub(super) struct EndedAtStart;

/// How many concurrent jobs a sal actor runs side by side. The jobs of an osis actor run one after another.
const SIDE_BY_SIDE: usize = 8;
/// How many conveyor jobs are taken ahead for each actor of the pools that consume them.
const TAKEN_AHEAD: usize = 16;
/// How long what is to be done for engines that have ended may take at the end.
const SETTLED: Duration = Duration::from_secs(10);
/// How long the actors may take to be ready.
const READY: Duration = Duration::from_secs(30);

impl Backend {
    /// Starts everything, and returns when every pool has an actor that can run a job.
    pub(super) async fn open(settings: &Settings, purpose: Purpose, shutdown: CancellationToken) -> anyhow::Result<Self> {
        check(settings);
        let engines = Engines::find(settings).await?;
        let absent = engines.absent(settings);
        for (script_type, why) in &absent {
            tracing::warn!(%script_type, "no actor of this script type is offered here: {why}");
        }
        exposure::ensure_none(settings, &engines)?;
        let schemas = object_schemas::read(&settings.object_schemas)?;
        let hero = std::env::current_exe().context("cannot find this program's own file")?;
        let spawner = Spawner::start().context("cannot start the thread that starts children")?;
        let needs_redis = settings.contexts.iter().any(|context| settings.redis_of(*context).is_none());
        let of_redis = if needs_redis { Some(confinement::of_redis(&spawner, &hero).await?) } else { None };
        if settings.confinement == Confinement::Required {
            let of_pool = |(at, pool): (usize, &settings::PoolSettings)| {
                let engine = EngineSettings { program: engines.of_pool(at)?, ..engine_settings(settings, &hero) };
                Some((pool.script_type.clone(), engine))
            };
            let all = settings.pools.iter().enumerate().filter_map(of_pool).collect();
            confinement::ensure(&spawner, settings, all, of_redis.as_deref()).await?;
        }
        let managed = match needs_redis {
            true => Some(tokio::select! {
                started = Managed::start(&spawner, private(settings, hero.clone())) => started?,
                () = shutdown.cancelled() => return Err(EndedAtStart.into()),
            }),
            false => None,
        };
        let mut backend = match Self::assemble(settings, purpose, schemas, absent, managed.as_ref(), spawner, shutdown).await {
            Ok(backend) => backend,
            Err(error) => {
                if let Some(managed) = managed {
                    managed.stop().await;
                }
                return Err(error);
            }
        };
        backend.managed = managed;
        if let Err(error) = backend.start_pools(settings, &engines, hero).await {
            backend.close().await;
            return Err(error);
        }
        if let Err(error) = LogDirectory::new(&settings.log_dir).prepare() {
            tracing::warn!("{error}; each job with a log_path fails until it can");
        }
        confinement::tell(settings, &backend.pools, of_redis.as_deref());
        Ok(backend)
    }

    async fn assemble(
        settings: &Settings,
        purpose: Purpose,
        schemas: Schemas,
        absent: BTreeMap<ScriptType, String>,
        managed: Option<&Managed>,
        spawner: Spawner,
        shutdown: CancellationToken,
    ) -> anyhow::Result<Self> {
        let server = ServerId::new();
        let (stores, redis) = connect(settings, managed, &server).await?;
        let mut of_dispatch = dispatch::Settings::new(LogDirectory::new(&settings.log_dir));
        of_dispatch.script_types = known_types(settings);
        of_dispatch.absent = absent.clone();
        of_dispatch.log_quota = settings.log_quota;
        of_dispatch.schemas = Arc::new(schemas);
        let longest = |context: &ContextId| usize::try_from(settings.within(*context).script_source).unwrap_or(usize::MAX);
        of_dispatch.longest_scripts = settings.contexts.iter().map(|context| (*context, longest(context))).collect();
        let dispatcher = Dispatcher::new(stores.clone(), of_dispatch);
        let authority = Authority::new(stores.clone(), token_key(settings, purpose)?);
        let closing = CancellationToken::new();
        let services = TaskTracker::new();
        let loops = dispatcher.start_services(&closing);
        services.spawn(async move { loops.wait().await });
        if settings.login {
            authority.follow().await.context("cannot read who may do what")?;
            services.spawn(service::run(access::Watch::new(authority.clone()), closing.clone()));
        }
        for store in stores {
            let pools = settings.pools.iter().filter(|pool| pool.contexts.contains(&store.context()));
            let types: BTreeSet<_> = pools.map(|pool| pool.script_type.clone()).collect();
            services.spawn(service::run(Closer::new(store.clone()), closing.clone()));
            if let Some(settings) = consumer_settings(settings, store.context()) {
                services.spawn(service::run(Consumer::new(store.clone(), settings), shutdown.clone()));
            }
            services.spawn(service::run(Subscriber::new(store, types.into_iter().collect()), closing.clone()));
        }
        services.close();
        Ok(Self {
            dispatcher,
            authority,
            server,
            pools: Vec::new(),
            redis,
            absent,
            managed: None,
            shutdown,
            closing,
            services,
            grace: settings.grace,
            spawner,
        })
    }

    async fn start_pools(&mut self, settings: &Settings, engines: &Engines, hero: PathBuf) -> anyhow::Result<()> {
        let mask = Mask::new(&settings.mask)?;
        let (dispatcher, spawner) = (self.dispatcher.clone(), self.spawner.clone());
        let mut granter = Granter::new(settings, &hero, &spawner, &dispatcher);
        for (at, pool) in settings.pools.iter().enumerate() {
            let Some(program) = engines.of_pool(at) else { continue };
            for context in &pool.contexts {
                let mut of_pool = pool_settings(&settings.within(*context), pool, &hero, &mask);
                of_pool.engine.program = program.clone();
                if let Some(most) = settings.process_memory(*context) {
                    of_pool.engine.program.limit_memory(most);
                }
                of_pool.log_directory = of_pool.log_directory.of(*context);
                let granted = settings.granted_in(*context, pool.granted());
                of_pool.outside = granter.outside(pool, *context, &granted).await?;
                of_pool.engine.capabilities.extend(granted);
                let store = self.dispatcher.store(*context)?.clone();
                let started = Pool::start(store, self.dispatcher.clone(), self.spawner.clone(), of_pool, self.shutdown.clone()).await;
                let pool = started.with_context(|| format!("cannot start the pool {}{}", pool.script_type, for_context(*context)))?;
                self.pools.push(ContextPool { context: *context, pool });
            }
        }
        self.dispatcher.compile_with(compiler(&self.spawner, &self.pools));
        let ready = async {
            while self.pools.iter().any(|entry| entry.pool.status.live() == 0) && !self.shutdown.is_cancelled() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        if tokio::time::timeout(READY, ready).await.is_err() {
            bail!("the engines of a pool did not start within {} s; the log says why", READY.as_secs());
        }
        Ok(())
    }

    /// Starts watching whether this server can do its work, for `/readyz` and for the log.
    pub(super) fn watch(&self) -> Watch {
        let watch = Watch::new(self.dispatcher.clone(), &self.pools);
        tokio::spawn(service::run(watch.clone(), self.shutdown.clone()));
        watch
    }

    /// The pools that serve a context.
    pub(super) fn pools_of(&self, context: ContextId) -> impl Iterator<Item = &Pool> {
        self.pools.iter().filter(move |entry| entry.context == context).map(|entry| &entry.pool)
    }

    /// Ends the pools: running scripts get the grace period, then callers that still wait are answered.
    pub(super) async fn drain(&self) {
        self.shutdown.cancel();
        let jobs: usize = self.pools.iter().map(|hosted| hosted.pool.status.jobs()).sum();
        if jobs > 0 {
            tracing::info!(jobs, grace = ?self.grace, "draining: so many jobs run here, and have so long to end; what has not ended then runs again");
        }
        let pools = async {
            for entry in &self.pools {
                entry.pool.ended().await;
            }
        };
        if tokio::time::timeout(self.grace + Duration::from_secs(10), pools).await.is_err() {
            tracing::warn!("a pool did not end in time; its jobs come back when their leases are over");
        }
        self.dispatcher.close();
    }

    /// Ends everything in an order in which nothing gets lost: the pools, the loops, and a private Redis last.
    pub(super) async fn close(self) {
        self.drain().await;
        self.closing.cancel();
        if tokio::time::timeout(Duration::from_secs(5), self.services.wait()).await.is_err() {
            tracing::warn!("a loop did not end in time");
        }
        if let Some(managed) = self.managed {
            managed.stop().await;
        }
        self.spawner.settled(SETTLED).await;
    }
}

/// The key of the tokens that callers show. Where nobody has to show one, or nobody calls, it may be one that is forgotten.
fn token_key(settings: &Settings, purpose: Purpose) -> anyhow::Result<TokenKey> {
    match (purpose, settings.login) {
        (Purpose::Actors, _) => Ok(TokenKey::random()),
        (Purpose::Server, true) => token_key::read(settings),
        (Purpose::Server, false) => Ok(token_key::read(settings).unwrap_or_else(|error| {
            tracing::debug!("tokens that are made now will be worth nothing later: {error:#}");
            TokenKey::random()
        })),
    }
}

/// Warns of settings that have no effect.
fn check(settings: &Settings) {
    for pool in &settings.pools {
        for (name, names, layout) in [("worker_ids", &pool.worker_ids, LayoutName::Legacy), ("circles", &pool.circles, LayoutName::Rhailib)]
        {
            if names.is_some() && !settings.compat.contains(&layout) {
                tracing::warn!(pool = %pool.script_type, "{name} has no effect, because compat does not name its layout");
            }
        }
    }
}

/// The script types that are accepted besides the built-in ones, also while no actor runs them.
fn known_types(settings: &Settings) -> BTreeSet<ScriptType> {
    let of_pools = settings.pools.iter().map(|pool| &pool.script_type);
    settings.script_types.iter().map(|configured| &configured.name).chain(of_pools).cloned().collect()
}

/// What the pools of a context take from conveyor queues, if anything.
fn consumer_settings(settings: &Settings, context: ContextId) -> Option<ConsumerSettings> {
    let of_pool = |pool: &settings::PoolSettings| {
        let queues = pool.conveyor_queues.iter().flatten();
        queues.map(|queue| (queue.clone(), pool.script_type.clone())).collect::<Vec<_>>()
    };
    let pools = || settings.pools.iter().filter(|pool| pool.contexts.contains(&context));
    let mut queues: Vec<_> = pools().flat_map(of_pool).collect();
    // A queue that several pools name is read once. Its jobs that name no script type are for the first of these pools.
    let mut seen = BTreeSet::new();
    queues.retain(|(queue, _)| seen.insert(queue.clone()));
    if queues.is_empty() {
        return None;
    }
    let consuming = pools().filter(|pool| pool.conveyor_queues.as_ref().is_some_and(|queues| !queues.is_empty()));
    Some(ConsumerSettings {
        namespace: settings.conveyor_namespace.clone(),
        queues,
        script_types: [ScriptType::osis(), ScriptType::sal()].into_iter().chain(known_types(settings)).collect(),
        backlog: consuming.map(|pool| pool.instances.len() * TAKEN_AHEAD).sum(),
        longest_script: usize::try_from(settings.within(context).script_source).unwrap_or(usize::MAX),
    })
}

/// The queues of other layouts for a pool. They are named after the script type unless the pool says otherwise.
fn layouts(settings: &Settings, pool: &settings::PoolSettings) -> Layouts {
    let of = |layout| settings.compat.contains(&layout);
    let names = |layout, given: &Option<Vec<_>>| match given {
        _ if !of(layout) => Vec::new(),
        Some(names) => names.clone(),
        None => vec![Layouts::name(&pool.script_type)],
    };
    Layouts {
        worker_ids: names(LayoutName::Legacy, &pool.worker_ids),
        circles: names(LayoutName::Rhailib, &pool.circles),
        runner: of(LayoutName::Runner),
    }
}

fn engine_settings(settings: &Settings, hero: &std::path::Path) -> EngineSettings {
    let bytes = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    let mut engine = EngineSettings::new(hero.to_owned());
    engine.confined = settings.confinement == Confinement::Required;
    engine.limits = Limits {
        operations: (settings.script_operations > 0).then_some(settings.script_operations),
        memory: settings.script_memory,
        strict: settings.script_strict,
        source: bytes(settings.script_source),
        result: bytes(settings.script_result),
        log: bytes(settings.script_log),
        ..Limits::default()
    };
    // Zero means never.
    engine.recycle_after_jobs = if settings.recycle_jobs == 0 { u64::MAX } else { settings.recycle_jobs };
    engine.recycle_after = if settings.recycle_age.is_zero() { Duration::MAX } else { settings.recycle_age };
    engine.recycle_above_bytes = if settings.recycle_memory == 0 { u64::MAX } else { settings.recycle_memory };
    engine
}

fn pool_settings(settings: &Settings, pool: &settings::PoolSettings, hero: &std::path::Path, mask: &Mask) -> PoolSettings {
    PoolSettings {
        script_type: pool.script_type.clone(),
        group: pool.group.clone(),
        instances: match &pool.instances {
            settings::Instances::Count(count) => Instances::Count(*count),
            settings::Instances::Numbers(numbers) => Instances::Numbers(numbers.clone()),
        },
        outside: Outside::default(),
        engine: EngineSettings { capabilities: Capability::of(&pool.script_type).to_vec(), ..engine_settings(settings, hero) },
        fair: pool.fair,
        side_by_side: if pool.script_type == ScriptType::sal() { SIDE_BY_SIDE } else { 1 },
        timeout: Duration::from_secs(60),
        layouts: layouts(settings, pool),
        mask: mask.clone(),
        log_directory: LogDirectory::new(&settings.log_dir),
        grace: settings.grace,
    }
}
