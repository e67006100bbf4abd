//! Which bus leads to an address.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::{Mutex, mpsc};

use super::bus::{Boxes, Bus, BusError, Mycelium};
use crate::model::{Address, ContextId, Name, Place, SignerKey};
use crate::store::{Endpoint, Store};

/// To how many contexts of other Redis there are connections.
const MOST: usize = 256;

/// Another node, as the settings have it.
#[derive(Debug, Clone)]
pub struct Node {
    /// Its name here.
    pub name: Name,
    /// Its key, if what it signs counts here.
    pub key: Option<SignerKey>,
    /// Its Redis, if messages go there.
    pub redis: Option<Endpoint>,
}

/// The way to an address.
pub(super) enum Route {
    /// A context of this server.
    Here,
    /// Over a bus, to a node as that knows it.
    Bus(Arc<dyn Bus>, String),
}

/// A bus over which something may come for this node, and the address that it is known by.
pub(super) struct Opened {
    pub(super) bus: Arc<dyn Bus>,
    pub(super) from: String,
}

/// The buses of a server.
pub(super) struct Routes {
    pub(super) own: SignerKey,
    pub(super) nodes: Vec<Node>,
    pub(super) mycelium: Option<Arc<Mycelium>>,
    boxes: Mutex<HashMap<(String, ContextId), Arc<dyn Bus>>>,
    /// Told of each bus that is opened.
    opened: mpsc::UnboundedSender<Opened>,
}

impl Routes {
    pub(super) fn new(own: SignerKey, nodes: Vec<Node>, mycelium: Option<Arc<Mycelium>>, opened: mpsc::UnboundedSender<Opened>) -> Self {
        Self { own, nodes, mycelium, boxes: Mutex::default(), opened }
    }

    /// The way from a context of this server to an address.
    pub(super) async fn find(&self, store: &Store, address: &Address, target: ContextId) -> Result<Route, BusError> {
        match address.place() {
            Place::Here => Ok(Route::Here),
            Place::Box(key) => Ok(Route::Bus(Arc::new(Boxes::new(store.mailboxes(), Boxes::IN.to_owned())), key.to_string())),
            Place::Redis(url) => self.redis(Endpoint { url: url.to_owned(), ..Endpoint::default() }, address, target).await,
            Place::Node(name) => {
                let endpoint = self.node(&name)?.redis.clone();
                let nowhere = || BusError::Unknown(format!("the settings do not say where the Redis of node {name} is (node_redis)"));
                self.redis(endpoint.ok_or_else(nowhere)?, address, target).await
            }
            Place::MyceliumIp(ip) => self.over_mycelium(ip.to_string()),
            Place::MyceliumKey(key) => self.over_mycelium(key.to_owned()),
        }
    }

    fn node(&self, name: &Name) -> Result<&Node, BusError> {
        let known = || self.nodes.iter().map(|node| node.name.as_str()).collect::<Vec<_>>().join(", ");
        let unknown = || BusError::Unknown(format!("node {name} is unknown here; the settings nodes and node_redis name: {}", known()));
        self.nodes.iter().find(|node| node.name == *name).ok_or_else(unknown)
    }

    fn over_mycelium(&self, to: String) -> Result<Route, BusError> {
        let bus = self.mycelium.clone().ok_or_else(|| BusError::Unknown("this server has no Mycelium node (mycelium_url)".into()))?;
        Ok(Route::Bus(bus, to))
    }

    async fn redis(&self, endpoint: Endpoint, address: &Address, target: ContextId) -> Result<Route, BusError> {
        let mut boxes = self.boxes.lock().await;
        let place = (address.as_str().to_owned(), target);
        if let Some(bus) = boxes.get(&place) {
            return Ok(Route::Bus(Arc::clone(bus), Boxes::IN.to_owned()));
        }
        if boxes.len() >= MOST {
            return Err(BusError::Unreachable(format!("there are connections to {MOST} contexts of other Redis, and no more may be")));
        }
        let bus: Arc<dyn Bus> = Arc::new(Boxes::connect(&endpoint, target, self.own.to_string()).await?);
        boxes.insert(place, Arc::clone(&bus));
        // Who listens has ended with this server.
        let _ = self.opened.send(Opened { bus: Arc::clone(&bus), from: address.as_str().to_owned() });
        Ok(Route::Bus(bus, Boxes::IN.to_owned()))
    }
}
