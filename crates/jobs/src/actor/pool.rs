use std::sync::Arc;

use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Error;
use super::actor_set::{ActorSet, StartWorker};
use super::fetcher::{Fetcher, PoolMode};
use super::lease::{HeldLeases, Renewer};
use super::presence::{Heartbeat, claim_registrations, release_registrations};
use super::queue_watcher::{watch_queue, watched_queues};
use super::settings::PoolSettings;
use super::status::PoolStatus;
use super::stop_requests::StopRequests;
use super::worker::Worker;
use crate::dispatch::Dispatcher;
use hero_model::{Presence, Priority, Queue, Target};
use hero_process::{self as process, Spawner};
use hero_service as service;
use hero_store::{Registration, Store};

/// The actors of one script type and group in this process.
pub struct Pool {
    /// Its settings.
    pub settings: Arc<PoolSettings>,
    /// The state of its actors.
    pub status: Arc<PoolStatus>,
    /// The registrations of its actors.
    pub registrations: Vec<Registration>,
    mode: watch::Sender<PoolMode>,
    tasks: TaskTracker,
}

impl Pool {
    /// Claims registrations and starts the actors.
    ///
    /// Jobs that earlier incarnations of the actors did not finish run again: at once if their process ran on this
    /// machine and has ended, otherwise when it has been silent for some time. The actors work until shutdown, or until
    /// they are told to [leave](Self::leave). At shutdown running scripts get the grace period, and jobs that do not
    /// end in it are requeued.
    pub async fn start(
        store: Store,
        dispatcher: Dispatcher,
        spawner: Spawner,
        settings: PoolSettings,
        shutdown: CancellationToken,
    ) -> Result<Self, Error> {
        let settings = Arc::new(settings);
        let presence = Presence {
            pid: Some(std::process::id()),
            hostname: Some(rustix::system::uname().nodename().to_string_lossy().into_owned()),
            started_at: Some(store.clock().now()),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            capabilities: settings.grants(),
            incarnation: Some(store.server().to_string()),
            process: process::identity(),
            ..Presence::default()
        };
        let (registrations, previous_servers) = claim_registrations(&store, &settings, &presence).await?;
        let status = Arc::new(PoolStatus::of(registrations.len()));
        let (leases, tasks) = (HeldLeases::default(), TaskTracker::new());
        let (reports, incoming) = mpsc::channel(registrations.len().max(1) * 4);
        let (idle, idles) = watch::channel(false);
        let (mode, mode_changes) = watch::channel(PoolMode::Running);
        let wake_up = store.wake_ups().register(&settings.script_type);

        let start_worker: StartWorker = {
            let (store, dispatcher, settings, status, tasks) = (store.clone(), dispatcher, settings.clone(), status.clone(), tasks.clone());
            Box::new(move |actor, worker| {
                let (work, incoming) = mpsc::channel(1);
                let (store, dispatcher, spawner) = (store.clone(), dispatcher.clone(), spawner.clone());
                let (settings, status) = (settings.clone(), status.clone());
                tasks.spawn(
                    Worker {
                        actor,
                        worker,
                        store,
                        dispatcher,
                        spawner,
                        settings,
                        status,
                        work: incoming,
                        next: None,
                        reports: reports.clone(),
                    }
                    .supervised(),
                );
                work
            })
        };

        // These services run until the fetcher has ended, because it needs the leases and registrations until its last
        // fetch.
        let (services, watching) = (CancellationToken::new(), shutdown.child_token());
        let spawn = |service| tasks.spawn(service);
        let (lost, losses) = mpsc::channel(128);
        spawn(boxed(service::run(Renewer { store: store.clone(), leases: leases.clone(), lost }, services.clone())));
        let layout_queues = store.queues().of_layouts(&settings.script_type, &settings.layouts);
        let stop_requests = StopRequests::new(store.clone(), leases.clone(), &settings.script_type, &registrations, &layout_queues);
        spawn(boxed(service::run(stop_requests, services.clone())));
        let heartbeat = Heartbeat {
            store: store.clone(),
            registrations: registrations.clone(),
            presence: presence.clone(),
            status: status.clone(),
            leases: leases.clone(),
            mode: mode_changes.clone(),
            previous_servers: Some(previous_servers),
        };
        spawn(boxed(service::run(heartbeat, services.clone())));
        let type_queue = Queue { script_type: settings.script_type.clone(), target: Target::Type, priority: Priority::Normal };
        for queue in watched_queues(store.keys().work(&type_queue), &layout_queues) {
            spawn(boxed(watch_queue(store.clone(), queue, wake_up.clone(), idles.clone(), watching.clone())));
        }

        let actors = ActorSet::new(&registrations, start_worker, settings.side_by_side, leases, status.clone())
            .with_audit(settings.audit.clone(), store.context());
        let fetcher = Fetcher::new(store.clone(), settings.clone(), &registrations, actors, incoming, losses, wake_up, idle, mode_changes);
        let held = registrations.clone();
        tasks.spawn(async move {
            fetcher.run(shutdown).await;
            services.cancel();
            watching.cancel();
            release_registrations(&store, &held, &presence).await;
        });
        tasks.close();
        Ok(Self { settings, status, registrations, mode, tasks })
    }

    /// Makes the actors stop or resume taking jobs. Running jobs go on.
    pub fn pause(&self, paused: bool) {
        self.mode.send_if_modified(|mode| {
            let then = if paused { PoolMode::Paused } else { PoolMode::Running };
            let may = *mode != PoolMode::Draining && *mode != then;
            if may {
                *mode = then;
            }
            may
        });
    }

    /// Makes the actors take no more jobs, and end when their running jobs have ended, however long that takes.
    pub fn leave(&self) {
        self.mode.send_replace(PoolMode::Draining);
    }

    /// Waits until all tasks of the pool have ended, after shutdown or [`leave`](Self::leave).
    pub async fn ended(&self) {
        self.tasks.wait().await;
    }
}

fn boxed(task: impl Future<Output = ()> + Send + 'static) -> futures_util::future::BoxFuture<'static, ()> {
    Box::pin(task)
}
