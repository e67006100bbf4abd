//! Makes the pools of a context, according to the settings.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::context_pool::ContextPool;
use super::engines::Engines;
use super::resources::Granter;
use super::settings::{self, Confinement, LayoutName, Settings};
use super::stores::for_context;
use crate::access::Authority;
use crate::actor::{Instances, Mask, Pool, PoolSettings};
use crate::audit::Audit;
use crate::conveyor::ConsumerSettings;
use crate::dispatch::Dispatcher;
use crate::engine::{Capability, EngineSettings, Limits, Program};
use crate::log_file::LogDirectory;
use crate::model::{ContextId, ContextLimits, Runner, ScriptType};
use crate::process::Spawner;
use crate::sal::{Files, Resources};
use crate::store::{Layouts, Store, queues_of_pool};

/// The number of jobs that a sal actor runs concurrently. The jobs of an osis actor run one after another.
const SIDE_BY_SIDE: usize = 8;
/// The number of conveyor jobs taken ahead for each actor of the pools that consume them.
const TAKEN_AHEAD: usize = 16;

/// Starts the pools of any context.
pub(crate) struct PoolStarter {
    settings: Arc<Settings>,
    engines: Engines,
    hero: PathBuf,
    mask: Mask,
    spawner: Spawner,
    dispatcher: Dispatcher,
    audit: Audit,
    authority: Authority,
}

/// The pools of a context, with the means to change their limits at run time.
pub(crate) struct ContextPools {
    pub(crate) pools: Vec<Arc<ContextPool>>,
    /// The current limits of each pool's scripts, and their maximum.
    bounds: Vec<(watch::Sender<Limits>, Limits)>,
    /// The files that their scripts share, if any, and the quota of the settings.
    files: Option<(Files, u64)>,
}

impl ContextPools {
    /// Applies the limits of the context, from the next job on.
    pub(crate) fn limit(&self, limits: &ContextLimits) {
        for (bound, most) in &self.bounds {
            bound.send_if_modified(|now| {
                let then = most.within(limits.script_operations.map(u64::from), limits.cpu_time.map(|limit| limit.duration()));
                let differs = *now != then;
                *now = then;
                differs
            });
        }
        if let Some((files, most)) = &self.files {
            files.limit(limits.files_quota.map_or(*most, |own| own.min(*most)));
        }
    }
}

impl PoolStarter {
    pub(crate) fn new(
        settings: Arc<Settings>,
        engines: Engines,
        hero: PathBuf,
        spawner: Spawner,
        dispatcher: Dispatcher,
        audit: Audit,
        authority: Authority,
    ) -> anyhow::Result<Self> {
        let mask = Mask::new(&settings.mask)?;
        Ok(Self { settings, engines, hero, mask, spawner, dispatcher, audit, authority })
    }

    /// Whether any pool that can run here serves a context.
    pub(crate) fn serves(&self, context: ContextId) -> bool {
        let mut offered = self.settings.pools.iter().enumerate().filter(|(at, _)| self.engines.of_pool(*at).is_some());
        offered.any(|(_, pool)| pool.serves(context, &self.settings))
    }

    /// Whether a pool of the settings that serves a context takes the jobs of a type that name no group or actor.
    pub(crate) fn serves_type(&self, context: ContextId, script_type: &ScriptType) -> bool {
        let mut of_type = self.settings.pools.iter().enumerate().filter(|(_, pool)| pool.script_type == *script_type);
        self.settings.compat.contains(&LayoutName::Runner)
            && of_type.any(|(at, pool)| pool.serves(context, &self.settings) && self.engines.of_pool(at).is_some())
    }

    /// Whether runners of a type can have pools here.
    pub(crate) fn offers(&self, script_type: &ScriptType) -> bool {
        let mut of_type = self.settings.pools.iter().enumerate().filter(|(_, pool)| pool.script_type == *script_type);
        of_type.any(|(at, _)| self.engines.of_pool(at).is_some())
    }

    /// Starts the pools of a context. They end with `shutdown`.
    pub(crate) async fn start(&self, store: &Store, limits: &ContextLimits, shutdown: &CancellationToken) -> anyhow::Result<ContextPools> {
        let (context, settings) = (store.context(), &*self.settings);
        let served = settings.pools.iter().enumerate().filter(|(_, pool)| pool.serves(context, settings));
        let offered = served.filter_map(|(at, pool)| Some((pool.clone(), self.engines.of_pool(at)?, layouts(settings, pool))));
        self.start_all(store, offered.collect(), limits, shutdown).await
    }

    /// Starts the pool of a runner, which ends with `shutdown`. It has the settings of the first pool of its script
    /// type, and one actor. Returns `None` if no pool of that type can run here.
    pub(crate) async fn start_runner(
        &self,
        store: &Store,
        runner: &Runner,
        limits: &ContextLimits,
        shutdown: &CancellationToken,
    ) -> anyhow::Result<Option<ContextPools>> {
        let of_type = self.settings.pools.iter().enumerate().filter(|(_, pool)| pool.script_type == runner.script_type);
        let Some((pool, program)) = of_type.filter_map(|(at, pool)| Some((pool, self.engines.of_pool(at)?))).next() else {
            return Ok(None);
        };
        let (group, instances) = (runner.runner_id.group(), settings::Instances::Count(1));
        let pool = settings::PoolSettings { group, instances, conveyor_queues: None, ..pool.clone() };
        // Jobs of the coordinator's layout; the other layouts have workers of their own.
        let layouts = Layouts { worker_ids: Vec::new(), circles: Vec::new(), runner: true };
        self.start_all(store, vec![(pool, program, layouts)], limits, shutdown).await.map(Some)
    }

    async fn start_all(
        &self,
        store: &Store,
        offered: Vec<(settings::PoolSettings, Program, Layouts)>,
        limits: &ContextLimits,
        shutdown: &CancellationToken,
    ) -> anyhow::Result<ContextPools> {
        let (context, settings) = (store.context(), &*self.settings);
        let within = settings.within(context);
        let mut granter = Granter::new(settings, &self.hero, &self.spawner, &self.dispatcher);
        let (mut pools, mut bounds) = (Vec::new(), Vec::new());
        for (pool, program, layouts) in offered {
            let mut of_pool = pool_settings(&within, &pool, &self.hero, &self.mask);
            (of_pool.audit, of_pool.layouts) = (self.audit.clone(), layouts);
            of_pool.authority = Some(self.authority.clone());
            of_pool.engine.program = program;
            if let Some(most) = settings.process_memory(context) {
                of_pool.engine.program.limit_memory(most);
            }
            of_pool.log_directory = self.dispatcher.log_directory().of(context);
            let granted = settings.granted_in(context, pool.granted());
            of_pool.resources = granter.resources(&pool, context, &granted).await?;
            of_pool.engine.capabilities.extend(granted);
            let most = of_pool.engine.limits.clone();
            let (bound, bounded) = watch::channel(most.clone());
            of_pool.bounds = Some(bounded);
            bounds.push((bound, most));
            let started = Pool::start(store.clone(), self.dispatcher.clone(), self.spawner.clone(), of_pool, shutdown.clone()).await;
            let pool = started.with_context(|| format!("cannot start the pool {}{}", pool.script_type, for_context(context)))?;
            pools.push(Arc::new(ContextPool { context, pool }));
        }
        let files = granter.files_of(context).map(|files| (files, within.files_quota));
        let started = ContextPools { pools, bounds, files };
        started.limit(limits);
        Ok(started)
    }
}

/// Returns the queues from which pools take jobs in contexts made at run time. The names are the same in each context.
pub(crate) fn queues_everywhere(settings: &Settings) -> Vec<String> {
    let of_pool = |pool: &settings::PoolSettings| {
        let conveyor = pool.conveyor_queues.as_deref().unwrap_or_default();
        queues_of_pool(&pool.script_type, &pool.group, &layouts(settings, pool), settings.conveyor_namespace.as_ref(), conveyor)
    };
    let mut queues: Vec<String> = settings.pools.iter().filter(|pool| pool.everywhere).flat_map(of_pool).collect();
    queues.sort_unstable();
    queues.dedup();
    queues
}

/// Returns the settings of conveyor consumers in a context, if its pools have any.
pub(crate) fn consumer_settings(settings: &Settings, context: ContextId) -> Option<ConsumerSettings> {
    let of_pool = |pool: &settings::PoolSettings| {
        let queues = pool.conveyor_queues.iter().flatten();
        queues.map(|queue| (queue.clone(), pool.script_type.clone())).collect::<Vec<_>>()
    };
    let pools = || settings.pools.iter().filter(|pool| pool.serves(context, settings));
    let mut queues: Vec<_> = pools().flat_map(of_pool).collect();
    // A queue named by several pools is read once. Its jobs without a script type go to the first of these pools.
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

/// Returns the queues of other layouts for a pool. They are named after the script type unless the pool names them.
pub(crate) fn layouts(settings: &Settings, pool: &settings::PoolSettings) -> Layouts {
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

pub(crate) fn engine_settings(settings: &Settings, hero: &std::path::Path) -> EngineSettings {
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
        bounds: None,
        script_type: pool.script_type.clone(),
        group: pool.group.clone(),
        instances: match &pool.instances {
            settings::Instances::Count(count) => Instances::Count(*count),
            settings::Instances::Numbers(numbers) => Instances::Numbers(numbers.clone()),
        },
        resources: Resources::default(),
        engine: EngineSettings { capabilities: Capability::of(&pool.script_type).to_vec(), ..engine_settings(settings, hero) },
        fair: pool.fair,
        side_by_side: if pool.script_type == ScriptType::sal() { SIDE_BY_SIDE } else { 1 },
        engine_idle: settings.engine_idle,
        layouts: layouts(settings, pool),
        mask: mask.clone(),
        log_directory: LogDirectory::new(&settings.log_dir),
        grace: settings.grace,
        audit: Audit::default(),
        authority: None,
    }
}

/// Returns the script types accepted besides the built-in ones, even while no actor runs them.
pub(crate) fn known_types(settings: &Settings) -> BTreeSet<ScriptType> {
    let of_pools = settings.pools.iter().map(|pool| &pool.script_type);
    settings.script_types.iter().map(|configured| &configured.name).chain(of_pools).cloned().collect()
}
