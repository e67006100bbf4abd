//! Finds the bus for an address.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::bus::{Boxes, Bus, BusError, Mycelium};
use super::remote_connections::{RemoteConnection, RemoteConnections, RemoteContext};
use hero_model::{Address, AddressTarget, ContextId, Name, SignerKey};
use hero_store::{Endpoint, Store};

/// Timeout for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Another node, from the settings.
#[derive(Debug, Clone)]
pub struct Node {
    /// Its name here.
    pub name: Name,
    /// Its key, if its signatures are trusted.
    pub key: Option<SignerKey>,
    /// Its Redis, if messages are sent there.
    pub redis: Option<Endpoint>,
}

/// The route to an address.
pub(super) enum Route {
    /// A context of this server.
    Here,
    /// A node on a bus, as the bus identifies it.
    Bus(Arc<dyn Bus>, String),
}

/// A bus over which answers may come for this node, and its address.
pub(super) struct Opened {
    pub(super) bus: Arc<dyn Bus>,
    pub(super) from: String,
    /// The connection that counts as used when something comes.
    pub(super) connection: std::sync::Weak<RemoteConnection>,
    /// Cancelled when the connection is closed.
    pub(super) end: CancellationToken,
}

/// The buses of a server.
pub(super) struct Routes {
    pub(super) own: SignerKey,
    pub(super) nodes: Vec<Node>,
    pub(super) mycelium: Option<Arc<Mycelium>>,
    connections: RemoteConnections,
    /// Time after which an unused connection is closed.
    kept: Duration,
    /// Receives each bus that is opened.
    opened: mpsc::UnboundedSender<Opened>,
}

impl Routes {
    pub(super) fn new(
        own: SignerKey,
        nodes: Vec<Node>,
        mycelium: Option<Arc<Mycelium>>,
        kept: Duration,
        opened: mpsc::UnboundedSender<Opened>,
    ) -> Self {
        Self { own, nodes, mycelium, connections: RemoteConnections::default(), kept, opened }
    }

    /// The interval at which a connection must be used so that it is kept.
    pub(super) fn look_again(&self) -> Duration {
        self.kept / 10
    }

    /// Closes connections that were unused for long.
    pub(super) fn drop_unused(&self) {
        self.connections.drop_unused(self.kept, Instant::now());
    }

    /// Notes that a remote context answers.
    pub(super) fn answered(&self, remote: &RemoteContext) {
        self.connections.answered(remote);
    }

    /// Finds the route from a context of this server to an address.
    pub(super) async fn find(&self, store: &Store, address: &Address, target: ContextId) -> Result<Route, BusError> {
        let from = store.context();
        match address.target() {
            AddressTarget::Here => Ok(Route::Here),
            AddressTarget::Box(key) => Ok(Route::Bus(Arc::new(Boxes::new(store.mailboxes(), Boxes::IN.to_owned())), key.to_string())),
            AddressTarget::Redis(url) => self.redis(Endpoint { url: url.to_owned(), ..Endpoint::default() }, address, from, target).await,
            AddressTarget::Node(name) => {
                let endpoint = self.node(&name)?.redis.clone();
                let nowhere = || BusError::Unknown(format!("the settings do not say where the Redis of node {name} is (node_redis)"));
                self.redis(endpoint.ok_or_else(nowhere)?, address, from, target).await
            }
            AddressTarget::MyceliumIp(ip) => self.over_mycelium(ip.to_string()),
            AddressTarget::MyceliumKey(key) => self.over_mycelium(key.to_owned()),
        }
    }

    /// Returns the key of the node at an address, from the address or the settings.
    pub(super) fn key_of(&self, address: &Address) -> Option<SignerKey> {
        let key = match address.target() {
            AddressTarget::Box(key) => Some(key),
            AddressTarget::Node(name) => self.node(&name).ok()?.key.clone(),
            _ => None,
        };
        // Node keys are ed25519.
        key.filter(|key| key.of_identity().is_none())
    }

    fn node(&self, name: &Name) -> Result<&Node, BusError> {
        let known = || match self.nodes.as_slice() {
            [] => "nobody".to_owned(),
            nodes => nodes.iter().map(|node| node.name.as_str()).collect::<Vec<_>>().join(", "),
        };
        let unknown = || BusError::Unknown(format!("node {name} is unknown here; the settings nodes and node_redis name {}", known()));
        self.nodes.iter().find(|node| node.name == *name).ok_or_else(unknown)
    }

    fn over_mycelium(&self, to: String) -> Result<Route, BusError> {
        let bus = self.mycelium.clone().ok_or_else(|| BusError::Unknown("this server has no Mycelium node (mycelium_url)".into()))?;
        Ok(Route::Bus(bus, to))
    }

    async fn redis(&self, endpoint: Endpoint, address: &Address, from: ContextId, target: ContextId) -> Result<Route, BusError> {
        let full = || BusError::Unreachable("the maximum number of connections to other Redis is reached, and all are in use".into());
        let connection = self.connections.to(from, (address.as_str().to_owned(), target), Instant::now()).ok_or_else(full)?;
        let connecting = connection.bus.get_or_try_init(|| async {
            let bus: Arc<dyn Bus> = Arc::new(Boxes::connect(&endpoint, target, self.own.to_string()).await?);
            let (from, bus_of_connection) = (address.as_str().to_owned(), Arc::clone(&bus));
            // The receiver ends only with this server.
            let _ =
                self.opened.send(Opened { bus: bus_of_connection, from, connection: Arc::downgrade(&connection), end: connection.end() });
            Ok(bus)
        });
        let slow = || BusError::Unreachable(format!("the Redis of the other side did not answer within {} s", CONNECT_TIMEOUT.as_secs()));
        let bus = timeout(CONNECT_TIMEOUT, connecting).await.map_err(|_| slow())??;
        Ok(Route::Bus(Arc::clone(bus), Boxes::IN.to_owned()))
    }
}
