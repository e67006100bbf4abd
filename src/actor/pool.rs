use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::foreman::Foreman;
use super::guard::{Controller, Holdings, Renewer};
use super::presence::{Heartbeat, leave_posts, take_posts};
use super::scout::{scout, scouted};
use super::staff::{Hire, Staff};
use super::worker::Worker;
use super::{Error, Mask};
use crate::engine::EngineSettings;
use crate::log_file::LogDirectory;
use crate::model::{Name, Presence, Priority, Queue, ScriptType, Target};
use crate::process::{self, Spawner};
use crate::service;
use crate::store::{Compat, PRESENCE, Post, Store};

/// Which instance numbers the actors of a pool have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Instances {
    /// So many, with the lowest free numbers.
    Count(u32),
    /// Exactly these.
    Numbers(Vec<u32>),
}

/// What a pool is to be.
#[derive(Debug, Clone)]
pub struct PoolSettings {
    /// The script type of its jobs.
    pub script_type: ScriptType,
    /// Its group.
    pub group: Name,
    /// Its actors.
    pub instances: Instances,
    /// What its scripts may use.
    pub capabilities: Vec<String>,
    /// How its engines are started and replaced.
    pub engine: EngineSettings,
    /// The timeout of jobs whose hash names none.
    pub timeout: Duration,
    /// Whether the callers of its type and group queues take turns.
    pub fair: bool,
    /// How many concurrent jobs one actor may run side by side, each in an engine of its own.
    pub side_by_side: usize,
    /// The queues of other layouts it takes from, too.
    pub compat: Compat,
    /// What must not reach a log.
    pub mask: Mask,
    /// Where log files are.
    pub log_directory: LogDirectory,
    /// How long running scripts may go on when the pool stops.
    pub grace: Duration,
}

/// How the actors of a pool are.
#[derive(Debug, Default)]
pub struct PoolStatus {
    actors: Mutex<Vec<ActorStatus>>,
}

#[derive(Debug, Clone, Default)]
struct ActorStatus {
    confinement: Option<String>,
    /// The processes of its engines, by worker.
    engines: BTreeMap<usize, u32>,
    live: bool,
    /// How many jobs it runs.
    running: usize,
    /// When Redis last took its presence; nothing before the first heartbeat, as its post was taken before that.
    seen: Option<Instant>,
    /// Whether somebody else has its post.
    displaced: bool,
}

impl PoolStatus {
    fn locked(&self) -> MutexGuard<'_, Vec<ActorStatus>> {
        self.actors.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// How many actors have an engine.
    pub fn live(&self) -> usize {
        self.locked().iter().filter(|actor| actor.live).count()
    }

    /// How many actors have an engine and a presence.
    pub fn present(&self) -> usize {
        let present = |actor: &&ActorStatus| actor.live && !actor.displaced && actor.seen.is_none_or(|seen| seen.elapsed() < PRESENCE);
        self.locked().iter().filter(present).count()
    }

    /// Notes a heartbeat: whether the post is still the actor's.
    pub(super) fn beat(&self, slot: usize, held: bool) {
        if let Some(actor) = self.locked().get_mut(slot) {
            (actor.seen, actor.displaced) = (Some(Instant::now()), !held);
        }
    }

    pub(super) fn running(&self) -> Vec<usize> {
        self.locked().iter().map(|actor| actor.running).collect()
    }

    /// How the engines say they are confined.
    pub fn confinements(&self) -> Vec<String> {
        self.locked().iter().filter_map(|actor| actor.confinement.clone()).collect()
    }

    pub(super) fn confinement(&self, slot: usize) -> Option<String> {
        self.locked().get(slot).and_then(|actor| actor.confinement.clone())
    }

    /// The processes of the engines.
    pub fn engines(&self) -> Vec<u32> {
        self.locked().iter().flat_map(|actor| actor.engines.values().copied()).collect()
    }

    /// Notes a fresh engine.
    pub(super) fn engine(&self, slot: usize, lane: usize, pid: u32, confinement: &str) {
        if let Some(actor) = self.locked().get_mut(slot) {
            (actor.confinement, actor.live) = (Some(confinement.to_owned()), true);
            actor.engines.insert(lane, pid);
        }
    }

    /// Notes that a worker has left, and its engine with it.
    pub(super) fn retire(&self, slot: usize, lane: usize) {
        if let Some(actor) = self.locked().get_mut(slot) {
            actor.engines.remove(&lane);
        }
    }

    pub(super) fn set_running(&self, slot: usize, running: usize, live: bool) {
        if let Some(actor) = self.locked().get_mut(slot) {
            (actor.running, actor.live) = (running, live);
        }
    }
}

/// The actors of one script type and group that this process hosts.
pub struct Pool {
    /// What it was to be.
    pub settings: Arc<PoolSettings>,
    /// How its actors are.
    pub status: Arc<PoolStatus>,
    /// Where its actors are.
    pub posts: Vec<Post>,
    tasks: TaskTracker,
}

impl Pool {
    /// Takes posts and starts the actors. What earlier incarnations of them left behind is run again: at once if they ran on this machine and their
    /// process has ended, else when they have been silent for some time. They work until shutdown; then running scripts get the grace period, and what does
    /// not end in it is given back.
    pub async fn start(store: Store, spawner: Spawner, settings: PoolSettings, shutdown: CancellationToken) -> Result<Self, Error> {
        let settings = Arc::new(settings);
        let presence = Presence {
            pid: Some(std::process::id()),
            hostname: Some(rustix::system::uname().nodename().to_string_lossy().into_owned()),
            started_at: Some(store.clock().now()),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            capabilities: settings.capabilities.clone(),
            incarnation: Some(store.server().to_string()),
            process: process::identity(),
            ..Presence::default()
        };
        let (posts, predecessors) = take_posts(&store, &settings, &presence).await?;
        let status = Arc::new(PoolStatus { actors: Mutex::new(vec![ActorStatus::default(); posts.len()]) });
        let (holdings, tasks) = (Holdings::default(), TaskTracker::new());
        let (reports, incoming) = mpsc::channel(posts.len().max(1) * 4);
        let (idle, idles) = watch::channel(false);
        let bell = store.bells().hang(&settings.script_type);

        let hire: Hire = {
            let (store, settings, status, tasks) = (store.clone(), settings.clone(), status.clone(), tasks.clone());
            Box::new(move |slot, lane| {
                let (work, incoming) = mpsc::channel(1);
                let (store, spawner, settings, status) = (store.clone(), spawner.clone(), settings.clone(), status.clone());
                tasks.spawn(Worker { slot, lane, store, spawner, settings, status, work: incoming, reports: reports.clone() }.supervised());
                work
            })
        };

        // The guards outlive the foreman, because leases and posts are needed until its last turn.
        let guarding = CancellationToken::new();
        let guard = |service| tasks.spawn(service);
        let (lost, losses) = mpsc::channel(128);
        guard(boxed(service::run(Renewer { store: store.clone(), holdings: holdings.clone(), lost }, guarding.clone())));
        let compat = store.compat_queues(&settings.script_type, &settings.compat);
        let controller = Controller::new(store.clone(), holdings.clone(), &settings.script_type, &posts, &compat);
        guard(boxed(service::run(controller, guarding.clone())));
        let heartbeat = Heartbeat {
            store: store.clone(),
            posts: posts.clone(),
            presence: presence.clone(),
            status: status.clone(),
            holdings: holdings.clone(),
            predecessors: Some(predecessors),
        };
        guard(boxed(service::run(heartbeat, guarding.clone())));
        let type_queue = Queue { script_type: settings.script_type.clone(), target: Target::Type, priority: Priority::Normal };
        for queue in scouted(store.keys().work(&type_queue), &compat) {
            guard(boxed(scout(store.clone(), queue, bell.clone(), idles.clone(), shutdown.clone())));
        }

        let staff = Staff::new(&posts, hire, settings.side_by_side, holdings, status.clone());
        let foreman = Foreman::new(store.clone(), settings.clone(), &posts, staff, incoming, losses, bell, idle);
        let left = posts.clone();
        tasks.spawn(async move {
            foreman.run(shutdown).await;
            guarding.cancel();
            leave_posts(&store, &left, &presence).await;
        });
        tasks.close();
        Ok(Self { settings, status, posts, tasks })
    }

    /// Waits until everything has ended, after shutdown.
    pub async fn ended(&self) {
        self.tasks.wait().await;
    }
}

fn boxed(task: impl Future<Output = ()> + Send + 'static) -> futures_util::future::BoxFuture<'static, ()> {
    Box::pin(task)
}
