//! The loops that send the messages of each context, and receive those for it over every bus.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::{Notify, mpsc};
use tokio::time::{interval, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::bus::{Boxes, Bus, Mycelium};
use super::bus_reader::BusReader;
use super::delivery::Delivery;
use super::inbound::Inbound;
use super::outgoing::Outgoing;
use super::ping::Pinger;
use super::receiver::Receivers;
use super::routes::{Node, Opened, Routes};
use super::signature::NodeKey;
use super::silence::{Silence, Telling};
use super::wakes::Wakes;
use hero_access::Authority;
use hero_jobs::dispatch::Dispatcher;
use hero_model::ContextId;
use hero_service as service;
use hero_store::Store;

/// Time of one round of asking Mycelium, which has its own pace, and the interval of reads from this server's Redis and
/// from that of another node.
const MYCELIUM_ROUND_TIME: Duration = Duration::from_secs(10);
const OWN_REDIS_INTERVAL: Duration = Duration::from_secs(1);
const OTHER_REDIS_INTERVAL: Duration = Duration::from_millis(250);
/// Timeout for giving up messages that are still being sent, so that other servers send them.
const HANDOVER_TIMEOUT: Duration = Duration::from_secs(2);

/// Default time after which an unused connection to another Redis is closed.
pub const IDLE_CONNECTION_TIMEOUT: Duration = Duration::from_secs(600);

/// The settings of the loops.
pub struct MessageLoopSettings {
    /// The key of this node.
    pub key: NodeKey,
    /// The other nodes in the settings.
    pub nodes: Vec<Node>,
    /// The node of Mycelium on this machine, if there is one.
    pub mycelium: Option<Mycelium>,
    /// Checks rights; `None` if callers do not log in.
    pub authority: Option<Authority>,
    /// Timeout for another node to store a job.
    pub ack: Duration,
    /// Timeout for the result of the job after that.
    pub result: Duration,
    /// Time after which a connection to another Redis is closed if it is unused and no result is awaited over it.
    pub kept: Duration,
}

/// The loops of a server that send and receive messages.
pub struct MessageLoops {
    dispatcher: Dispatcher,
    key: NodeKey,
    sender: String,
    routes: Arc<Routes>,
    inbound: Arc<Inbound>,
    wakes: Wakes,
    ack: Duration,
    result: Duration,
    shutdown: CancellationToken,
    tasks: TaskTracker,
}

impl MessageLoops {
    /// Starts the loops that all contexts share. `wakes` reports new messages.
    pub fn start(dispatcher: Dispatcher, settings: MessageLoopSettings, wakes: Wakes, shutdown: CancellationToken) -> Self {
        let MessageLoopSettings { key, nodes, mycelium, authority, ack, result, kept } = settings;
        let (tell, opened) = mpsc::unbounded_channel();
        let mycelium = mycelium.map(Arc::new);
        let trusted = nodes.iter().filter_map(|node| Some((node.key.clone()?, node.name.clone()))).collect();
        let routes = Arc::new(Routes::new(key.public(), nodes, mycelium.clone(), kept, tell));
        let inbound = Arc::new(Inbound { dispatcher: dispatcher.clone(), authority, key: key.clone(), trusted });
        let sender = key.sender_name();
        let this = Self { dispatcher, key, sender, routes, inbound, wakes, ack, result, shutdown, tasks: TaskTracker::new() };
        if let Some(bus) = mycelium {
            this.fetch(bus, None, MYCELIUM_ROUND_TIME, Duration::from_millis(10), None, &this.shutdown);
        }
        this.fetch_what_is_opened(opened);
        this
    }

    /// Returns a pinger, which asks who is at an address.
    pub fn pinger(&self) -> Pinger {
        Pinger::new(self.key.clone(), Arc::clone(&self.routes), Arc::clone(&self.inbound))
    }

    /// Sends the messages of a context, and receives those for it, until `ended` or the end of this server.
    pub fn serve(&self, context: ContextId, ended: &CancellationToken) {
        let Ok(store) = self.dispatcher.contexts().opened(context) else { return };
        let ended = &self.until(ended);
        let wake = self.wakes.of(context);
        let own: Arc<dyn Bus> = Arc::new(Boxes::new(store.mailboxes(), Boxes::IN.to_owned()));
        self.fetch(own, None, Duration::ZERO, OWN_REDIS_INTERVAL, Some(Arc::clone(&wake)), ended);
        let delivery = Delivery {
            // A plain store, so that the loops do not keep the context open: they end when it sleeps.
            store: Store::clone(&store),
            dispatcher: self.dispatcher.clone(),
            key: self.key.clone(),
            sender: self.sender.clone(),
            routes: Arc::clone(&self.routes),
            inbound: Arc::clone(&self.inbound),
            silence: Silence::default(),
            receivers: Receivers::default(),
            telling: Telling::default(),
            ack: self.ack,
            result: self.result,
        };
        let (store, sender, ended) = (delivery.store.clone(), self.sender.clone(), ended.clone());
        self.tasks.spawn(async move {
            service::run(Outgoing::new(Arc::new(delivery), wake), ended).await;
            // Where that fails, others wait until it has been silent for long.
            drop(timeout(HANDOVER_TIMEOUT, store.messages().leave(&sender)).await);
        });
    }

    /// Returns a token that is cancelled with either of two: the context, or this server.
    fn until(&self, ended: &CancellationToken) -> CancellationToken {
        let (either, ended) = (self.shutdown.child_token(), ended.clone());
        let ending = either.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                () = ended.cancelled() => ending.cancel(),
                () = ending.cancelled() => {}
            }
        });
        either
    }

    /// Returns when all loops have ended after `shutdown`.
    pub async fn ended(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    fn fetch(
        &self,
        bus: Arc<dyn Bus>,
        from: Option<String>,
        wait: Duration,
        idle: Duration,
        wake: Option<Arc<Notify>>,
        ended: &CancellationToken,
    ) {
        let bus_reader =
            BusReader { bus, inbound: Arc::clone(&self.inbound), from, wait, idle, pause: Duration::ZERO, wake, connection: Weak::new() };
        self.tasks.spawn(service::run(bus_reader, ended.clone()));
    }

    /// Reads from each Redis of another node that a message was sent to, as long as the connection there is kept.
    fn fetch_what_is_opened(&self, mut opened: mpsc::UnboundedReceiver<Opened>) {
        let (inbound, shutdown, tasks) = (Arc::clone(&self.inbound), self.shutdown.clone(), self.tasks.clone());
        let routes = Arc::clone(&self.routes);
        self.tasks.spawn(async move {
            let mut look = interval(routes.look_again());
            loop {
                let next = tokio::select! {
                    next = opened.recv() => next,
                    _ = look.tick() => {
                        routes.drop_unused();
                        continue;
                    }
                    () = shutdown.cancelled() => None,
                };
                let Some(Opened { bus, from, connection, end }) = next else { return };
                let (inbound, wait, idle, pause) = (Arc::clone(&inbound), Duration::ZERO, OTHER_REDIS_INTERVAL, Duration::ZERO);
                let bus_reader = BusReader { bus, inbound, from: Some(from), wait, idle, pause, wake: None, connection };
                let shutdown = shutdown.clone();
                tasks.spawn(async move {
                    tokio::select! {
                        () = service::run(bus_reader, shutdown) => {}
                        () = end.cancelled() => {}
                    }
                });
            }
        });
    }
}
