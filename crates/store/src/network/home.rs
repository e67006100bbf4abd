use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{Client, ErrorKind, FromRedisValue, RedisError, ServerErrorKind};
use tokio::time::{Instant, timeout, timeout_at};

use super::deadline::{DEADLINE, blocking, in_time};
use super::endpoint::Endpoint;
use super::hash_slots::{Address, HashSlots};
use crate::error::Error;
use crate::keys::Keys;
use crate::library::refusal::LibraryRefusal;
use hero_model::ContextId;

/// The Redis process that holds the keys of one context.
///
/// Outside of a cluster this process never changes. In Redis Cluster it is the master that owns the hash slot of the context. The owner
/// changes when the node fails, and when the hash slot moves.
pub(crate) struct Home {
    now: RwLock<Client>,
    /// Increases with each change of `now`.
    generation: AtomicU64,
    cluster: Option<Cluster>,
    /// The lock that is held while the library of functions is loaded.
    pub(crate) loading: tokio::sync::Mutex<()>,
    /// Whether Redis refuses the library.
    pub(crate) library_refusal: LibraryRefusal,
}

/// The state for finding the owner of a hash slot.
struct Cluster {
    endpoint: Endpoint,
    seed: Client,
    slot: u16,
    /// The nodes of the last answer.
    nodes: RwLock<Vec<Address>>,
    owner: RwLock<Option<Address>>,
    looking: tokio::sync::Mutex<()>,
    /// The number of searches so far, so that a task that waited for a search does not search again.
    looks: AtomicU64,
    /// The node that is asked first. It changes with each search, because it may be silent.
    first: AtomicUsize,
}

/// The time limit of a node to name the owner of the slot. After that the next node is asked.
const ASK_TIMEOUT: Duration = Duration::from_secs(1);
/// The pause when no node knows a new owner yet.
const RETRY_DELAY: Duration = Duration::from_millis(50);

impl Home {
    /// Returns the home in a Redis that is no cluster.
    pub(crate) fn of(client: Client) -> Self {
        let (loading, library_refusal) = (tokio::sync::Mutex::default(), LibraryRefusal::default());
        Self { now: RwLock::new(client), generation: AtomicU64::new(0), cluster: None, loading, library_refusal }
    }

    /// Detects whether the endpoint leads to a cluster, and finds the keys of a context.
    pub(crate) async fn find(endpoint: &Endpoint, context: ContextId) -> Result<(Self, Keys), Error> {
        let seed = endpoint.client(0)?;
        let mut connection = once(blocking(&seed)).await.map_err(|error| refused_database(error, endpoint, None))?;
        let info: String = asked(&mut connection, redis::cmd("INFO").arg("cluster")).await?;
        if !info.lines().any(|line| line.trim() == "cluster_enabled:1") {
            let client = endpoint.client(context.0)?;
            if context != ContextId(0) {
                once(blocking(&client)).await.map_err(|error| refused_database(error, endpoint, Some(context)))?;
            }
            return Ok((Self::of(client), Keys::standalone(context)));
        }
        let keys = Keys::clustered(context);
        let slot = asked(&mut connection, redis::cmd("CLUSTER").arg("KEYSLOT").arg(keys.events())).await?;
        let cluster = Cluster {
            endpoint: endpoint.clone(),
            seed: seed.clone(),
            slot,
            nodes: RwLock::default(),
            owner: RwLock::default(),
            looking: tokio::sync::Mutex::default(),
            looks: AtomicU64::new(0),
            first: AtomicUsize::new(0),
        };
        let home = Self { cluster: Some(cluster), ..Self::of(seed) };
        let until = Instant::now() + DEADLINE;
        while home.generation() == 0 {
            if timeout_at(until, home.find_again(0)).await.is_err() {
                return Err(Error::Unsuitable(format!(
                    "no node of the Redis Cluster at {} says who owns slot {slot}, where context {context} is; \
                     see redis-cli --cluster check",
                    endpoint.shown()
                )));
            }
        }
        Ok((home, keys))
    }

    pub(crate) fn is_in_a_cluster(&self) -> bool {
        self.cluster.is_some()
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Returns a client for the current process, and its generation.
    pub(crate) fn now(&self) -> (u64, Client) {
        let now = self.now.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        (self.generation(), now.clone())
    }

    fn set(&self, client: Client) {
        let mut now = self.now.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        *now = client;
        self.generation.fetch_add(1, Ordering::AcqRel);
    }

    /// Gives up the process of a generation: searches once for the current owner of the keys, and pauses if it is still the same.
    pub(crate) async fn find_again(&self, seen: u64) {
        let Some(cluster) = &self.cluster else {
            self.renew(seen);
            return;
        };
        let looks = cluster.looks.load(Ordering::Acquire);
        let _looking = cluster.looking.lock().await;
        if seen != self.generation() || looks != cluster.looks.load(Ordering::Acquire) {
            return;
        }
        if !self.look(cluster).await {
            tokio::time::sleep(RETRY_DELAY).await;
        }
        cluster.looks.fetch_add(1, Ordering::AcqRel);
    }

    /// Replaces all connections to the process, unless that was done already. The address stays, but its name is resolved again.
    pub(crate) fn renew(&self, seen: u64) {
        if seen == self.generation() {
            self.set(self.now().1);
        }
    }

    /// Like [`Home::find_again`], but in the background, for a call that is not repeated.
    pub(crate) fn doubt(self: &Arc<Self>, seen: u64) {
        if self.is_in_a_cluster() && seen == self.generation() {
            let home = self.clone();
            tokio::spawn(async move { timeout(DEADLINE, home.find_again(seen)).await });
        }
    }

    /// Asks one node after another. Returns true if the keys have a new home.
    async fn look(&self, cluster: &Cluster) -> bool {
        let owner = cluster.owner.read().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
        let mut nodes = cluster.nodes.read().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
        // The previous owner is asked last: it may be gone, or not know yet that others have taken its place.
        nodes.retain(|node| Some(node) != owner.as_ref());
        let first = cluster.first.fetch_add(1, Ordering::Relaxed);
        if !nodes.is_empty() {
            let middle = first % nodes.len();
            nodes.rotate_left(middle);
        }
        let nodes = nodes.into_iter().map(Some).chain([None]).chain(owner.clone().map(Some));
        for node in nodes {
            let Some(slots) = cluster.ask(node.as_ref()).await else { continue };
            let Some(found) = slots.owner_of(cluster.slot) else { continue };
            let Ok(client) = cluster.endpoint.client_at(&found) else { continue };
            *cluster.nodes.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = slots.nodes();
            if owner.as_ref() == Some(&found) {
                return false;
            }
            tracing::debug!(slot = cluster.slot, node = %found, "the keys of a context are at this node of the cluster");
            *cluster.owner.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(found);
            self.set(client);
            return true;
        }
        false
    }
}

impl Cluster {
    /// Asks a node (none: the seed) for the owners of the hash slots; nothing if it does not answer.
    async fn ask(&self, node: Option<&Address>) -> Option<HashSlots> {
        let (client, asked_at) = match node {
            Some(node) => (self.endpoint.client_at(node).ok()?, node.clone()),
            None => (self.seed.clone(), self.endpoint.address()),
        };
        let asking = async {
            let mut connection = blocking(&client).await?;
            let slots = redis::cmd("CLUSTER").arg("SLOTS").query_async(&mut connection).await?;
            Ok::<_, Error>(HashSlots::read(slots, &asked_at))
        };
        timeout(ASK_TIMEOUT, asking).await.ok()?.ok()
    }
}

/// Whether a call was refused because another node has its key, or because the key is not served at this moment. The call did nothing then.
pub(crate) fn is_elsewhere(error: &RedisError) -> bool {
    use ServerErrorKind::{Ask, BusyLoading, ClusterDown, MasterDown, Moved, ReadOnly, TryAgain};

    let refused = matches!(error.kind(), ErrorKind::Server(Moved | Ask | TryAgain | ClusterDown | MasterDown | ReadOnly | BusyLoading));
    // A function that fails in the middle may have written something before.
    refused && !error.detail().is_some_and(|detail| detail.contains("script:")) || error.is_connection_refusal()
}

async fn once<T>(connecting: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    match in_time(connecting).await {
        // The connection has the same deadline, and its timer may fire first.
        Err(error) if error.is_silent() => Err(Error::Deadline(DEADLINE)),
        connected => connected,
    }
}

async fn asked<T: FromRedisValue>(connection: &mut MultiplexedConnection, cmd: &redis::Cmd) -> Result<T, Error> {
    once(async { Ok(cmd.query_async(connection).await?) }).await
}

/// Explains what to do if the database of a context does not exist.
fn refused_database(error: Error, endpoint: &Endpoint, context: Option<ContextId>) -> Error {
    let Error::Redis(refused) = &error else { return error };
    let detail = refused.detail().unwrap_or_default();
    if detail.contains("cluster mode") {
        return Error::Unsuitable("a Redis Cluster has one database: leave the number at the end of the address out".into());
    }
    match context {
        Some(context) if detail.contains("out of range") => Error::Unsuitable(format!(
            "context {context} is database {} there, and this Redis has fewer: raise `databases` in its configuration",
            endpoint.database(context.0)
        )),
        _ => error,
    }
}
