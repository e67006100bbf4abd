use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use hero_engine::Meter;
use hero_store::PRESENCE;

/// The state of the actors of a pool. An actor is identified by its index in the pool, a worker by its index in the
/// actor.
#[derive(Debug, Default)]
pub struct PoolStatus {
    actors: Mutex<Vec<ActorStatus>>,
}

#[derive(Debug, Clone, Default)]
struct ActorStatus {
    confinement: Option<String>,
    /// Its engines, by worker.
    engines: BTreeMap<usize, Arc<Meter>>,
    /// The processor time of earlier engines.
    before: Duration,
    live: bool,
    /// The number of jobs it runs.
    running: usize,
    /// The time at which Redis last took its presence. `None` before the first heartbeat: the registration was claimed
    /// before that.
    seen: Option<Instant>,
    /// Whether another process has its registration.
    displaced: bool,
}

impl PoolStatus {
    /// Creates the state of actors without an engine.
    pub(super) fn of(actors: usize) -> Self {
        Self { actors: Mutex::new(vec![ActorStatus::default(); actors]) }
    }

    fn locked(&self) -> MutexGuard<'_, Vec<ActorStatus>> {
        self.actors.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Returns the number of actors that have an engine, or start one for their next job.
    pub fn live(&self) -> usize {
        self.locked().iter().filter(|actor| actor.live).count()
    }

    /// Returns the number of live actors that have a presence.
    pub fn present(&self) -> usize {
        let present = |actor: &&ActorStatus| actor.live && !actor.displaced && actor.seen.is_none_or(|seen| seen.elapsed() < PRESENCE);
        self.locked().iter().filter(present).count()
    }

    /// Notes a heartbeat. `held` is true if the actor still has its registration.
    pub(super) fn beat(&self, actor: usize, held: bool) {
        if let Some(status) = self.locked().get_mut(actor) {
            (status.seen, status.displaced) = (Some(Instant::now()), !held);
        }
    }

    /// Returns the number of running jobs.
    pub fn jobs(&self) -> usize {
        self.running().iter().sum()
    }

    pub(super) fn running(&self) -> Vec<usize> {
        self.locked().iter().map(|actor| actor.running).collect()
    }

    /// Returns the confinement that each engine reports.
    pub fn confinements(&self) -> Vec<String> {
        self.locked().iter().filter_map(|actor| actor.confinement.clone()).collect()
    }

    pub(super) fn confinement(&self, actor: usize) -> Option<String> {
        self.locked().get(actor).and_then(|status| status.confinement.clone())
    }

    /// Returns the process ids of the engines.
    pub fn engines(&self) -> Vec<u32> {
        self.locked().iter().flat_map(|actor| actor.engines.values().map(|engine| engine.pid())).collect()
    }

    /// Returns the processor time of all engines, including those that have ended.
    pub fn processor_time(&self) -> Duration {
        self.locked().iter().map(|actor| actor.before + actor.engines.values().map(|engine| engine.read()).sum::<Duration>()).sum()
    }

    /// Notes a new engine.
    pub(super) fn engine(&self, actor: usize, worker: usize, engine: &Arc<Meter>, confinement: &str) {
        if let Some(status) = self.locked().get_mut(actor) {
            (status.confinement, status.live) = (Some(confinement.to_owned()), true);
            let ended = status.engines.insert(worker, Arc::clone(engine));
            status.before += ended.map_or(Duration::ZERO, |ended| ended.read());
        }
    }

    /// Notes that the idle engine of a worker has ended.
    pub(super) fn engine_ended(&self, actor: usize, worker: usize) {
        if let Some(status) = self.locked().get_mut(actor) {
            let ended = status.engines.remove(&worker);
            status.before += ended.map_or(Duration::ZERO, |ended| ended.read());
        }
    }

    pub(super) fn set_running(&self, actor: usize, running: usize, live: bool) {
        if let Some(status) = self.locked().get_mut(actor) {
            (status.running, status.live) = (running, live);
        }
    }
}
