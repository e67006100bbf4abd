use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::connection::addresses::{AddressHandle, InUse};
use crate::connection::anonymous::TrackedConnection;
use crate::memory::ConnectionMemory;
use crate::session::server_address::ServerAddress;
use hero_access::Login;
pub use hero_access::Permission;

/// The most bytes of a request without a login, where callers must log in: more than a login takes.
const ANONYMOUS_REQUEST: u32 = 16 * 1024;

/// The caller on a connection.
#[derive(Debug, Clone)]
pub enum Principal {
    /// The caller did not log in.
    Anonymous,
    /// The person who runs the server, who may do everything.
    Operator,
    /// An identity that has logged in.
    Identity(Arc<Login>),
}

impl Principal {
    /// Returns its login, if it is an identity.
    pub fn login(&self) -> Option<&Login> {
        match self {
            Self::Identity(login) => Some(login),
            Self::Anonymous | Self::Operator => None,
        }
    }
}

/// The session of a caller on one connection.
///
/// It lives as long as the connection and the notifications that arrived on it. Each HTTP request has a session of its own, because behind
/// a proxy the requests of one connection may come from several callers. A WebSocket has one caller, who may log in on it.
#[derive(Debug)]
pub struct Session {
    link: Arc<ConnectionInfo>,
    principal: watch::Sender<Principal>,
    /// Whether the caller may log in as another identity.
    may_log_in: bool,
}

/// One connection: its origin and its usage.
#[derive(Debug)]
struct ConnectionInfo {
    peer: SocketAddr,
    local: SocketAddr,
    /// The address named by the HTTP request that is being answered, or that opened the WebSocket.
    server_address: Mutex<Option<ServerAddress>>,
    opened: Instant,
    touched_ms: AtomicU64,
    requests: AtomicU32,
    calls: InUse,
    address: AddressHandle,
    connection: Arc<ConnectionMemory>,
    tracked: TrackedConnection,
    /// Whether this server encrypts it.
    tls: bool,
    open: TaskTrackerToken,
}

impl Session {
    pub(crate) fn new(
        peer: SocketAddr,
        local: SocketAddr,
        (address, tracked): (AddressHandle, TrackedConnection),
        connection: Arc<ConnectionMemory>,
        tls: bool,
        open: TaskTrackerToken,
    ) -> Self {
        metrics::gauge!(crate::CONNECTIONS).increment(1.0);
        let (server_address, touched_ms, requests, calls) = Default::default();
        let opened = Instant::now();
        let link =
            ConnectionInfo { peer, local, server_address, opened, touched_ms, requests, calls, address, connection, tracked, tls, open };
        Self::on(Arc::new(link), Principal::Anonymous, false)
    }

    fn on(link: Arc<ConnectionInfo>, principal: Principal, may_log_in: bool) -> Self {
        Self { link, principal: watch::Sender::new(principal), may_log_in }
    }

    /// Returns a session of the same connection for this caller.
    pub(crate) fn of(&self, principal: Principal) -> Self {
        Self::on(Arc::clone(&self.link), principal, false)
    }

    /// Returns a session of the same connection and caller for a WebSocket. It has the connection for itself, so the caller may log in on
    /// it if callers log in.
    pub(crate) fn of_socket(&self, may_log_in: bool) -> Self {
        Self::on(Arc::clone(&self.link), self.principal(), may_log_in)
    }

    /// Logs the caller in as this identity, if the session has the connection for itself.
    pub(crate) fn log_in(&self, login: &Arc<Login>) {
        if self.may_log_in {
            self.principal.send_replace(Principal::Identity(Arc::clone(login)));
            self.set_known(true);
        }
    }

    /// Records whether the user of the connection has logged in, or need not.
    pub(crate) fn set_known(&self, is_known: bool) {
        self.connection().set_known(is_known);
        self.link.tracked.set_known(is_known);
    }

    /// Returns when the connection has been without a login for longer than allowed.
    pub(crate) async fn outstayed(&self) {
        self.link.tracked.outstayed().await;
    }

    /// Returns the peer's address.
    pub fn peer(&self) -> SocketAddr {
        self.link.peer
    }

    /// Returns the caller.
    pub(crate) fn principal(&self) -> Principal {
        self.principal.borrow().clone()
    }

    /// Returns the caller and its changes.
    pub(crate) fn principals(&self) -> watch::Receiver<Principal> {
        self.principal.subscribe()
    }

    /// Returns when the caller is logged out: its token was revoked, or has ended.
    pub(crate) async fn logged_out(&self) {
        let mut principals = self.principals();
        loop {
            let principal = principals.borrow_and_update().clone();
            let ended = async {
                match &principal {
                    Principal::Identity(login) => login.ended().await,
                    Principal::Anonymous | Principal::Operator => std::future::pending().await,
                }
            };
            tokio::select! {
                () = ended => return,
                // This does not fail, because the session holds the sender.
                _ = principals.changed() => {}
            }
        }
    }

    /// Returns the `caller_id` of jobs that this session creates without naming one; `None` is `anonymous`.
    pub fn caller_id(&self) -> Option<String> {
        match self.principal() {
            Principal::Anonymous => None,
            Principal::Operator => Some("operator".to_owned()),
            Principal::Identity(login) => Some(login.identity().to_string()),
        }
    }

    /// Whether this server encrypts the connection.
    pub(crate) fn is_tls(&self) -> bool {
        self.link.tls
    }

    /// Returns the address of this machine that the connection reached, with the port.
    pub(crate) fn local(&self) -> SocketAddr {
        self.link.local
    }

    /// Records the address that the current request names. There is one request at a time.
    pub(crate) fn set_server_address(&self, address: Option<ServerAddress>) {
        *self.link.server_address.lock().unwrap_or_else(PoisonError::into_inner) = address;
    }

    /// Returns the address of the server that the client used.
    pub(crate) fn server_address(&self) -> Option<ServerAddress> {
        self.link.server_address.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the name by which the client reached the server, with its port if that is not the usual one. `None`: the client named none,
    /// or one that the server does not know as its own.
    pub(crate) fn host(&self) -> Option<String> {
        self.server_address()?.own_host()
    }

    pub(crate) fn address(&self) -> &AddressHandle {
        &self.link.address
    }

    /// Whether its address has its most connections, or the server has `most`, accept loops included.
    pub(crate) fn is_crowded(&self, most: usize) -> bool {
        self.address().is_full() || self.link.open.task_tracker().len() >= most
    }

    /// Returns the memory account of the connection.
    pub(crate) fn connection(&self) -> &Arc<ConnectionMemory> {
        &self.link.connection
    }

    /// Returns the most bytes of a request, given the limit for callers who have logged in.
    pub(crate) fn request_bytes(&self, most: u32) -> u32 {
        if self.connection().is_anonymous() { most.min(ANONYMOUS_REQUEST) } else { most }
    }

    pub(crate) fn calls(&self) -> &InUse {
        &self.link.calls
    }

    /// Whether an HTTP request has arrived yet.
    pub(crate) fn has_asked(&self) -> bool {
        self.link.touched_ms.load(Ordering::Acquire) > 0 || self.link.requests.load(Ordering::Acquire) > 0
    }

    /// Counts an HTTP request as open until the result is dropped.
    pub(crate) fn begin(self: &Arc<Self>) -> OpenRequest {
        self.link.requests.fetch_add(1, Ordering::AcqRel);
        OpenRequest(Arc::clone(self))
    }

    /// Returns the time for which the connection has had no HTTP request and no answer that is still being read.
    pub(crate) fn idle(&self) -> Duration {
        if self.link.requests.load(Ordering::Acquire) > 0 || self.connection().unsent() > 0 {
            return Duration::ZERO;
        }
        self.link.opened.elapsed().saturating_sub(Duration::from_millis(self.link.touched_ms.load(Ordering::Acquire)))
    }
}

impl Drop for ConnectionInfo {
    fn drop(&mut self) {
        metrics::gauge!(crate::CONNECTIONS).decrement(1.0);
    }
}

/// An HTTP request that is being answered.
#[derive(Debug)]
pub(crate) struct OpenRequest(Arc<Session>);

impl Drop for OpenRequest {
    fn drop(&mut self) {
        let now = u64::try_from(self.0.link.opened.elapsed().as_millis()).unwrap_or(u64::MAX).max(1);
        self.0.link.touched_ms.store(now, Ordering::Release);
        self.0.link.requests.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The calls of a session that are being answered.
#[derive(Debug)]
pub(crate) struct SessionCalls(pub(crate) Arc<Session>);

impl AsRef<InUse> for SessionCalls {
    fn as_ref(&self) -> &InUse {
        self.0.calls()
    }
}

/// The calls of a session's address that are being answered.
#[derive(Debug)]
pub(crate) struct AddressCalls(pub(crate) Arc<Session>);

impl AsRef<InUse> for AddressCalls {
    fn as_ref(&self) -> &InUse {
        &self.0.address().calls
    }
}

/// The notifications of a session's address that wait for a permit.
#[derive(Debug)]
pub(crate) struct AddressWaiting(pub(crate) Arc<Session>);

impl AsRef<InUse> for AddressWaiting {
    fn as_ref(&self) -> &InUse {
        &self.0.address().waiting
    }
}

/// The open subscriptions of a session's address.
#[derive(Debug)]
pub(crate) struct AddressSubscriptions(pub(crate) Arc<Session>);

impl AsRef<InUse> for AddressSubscriptions {
    fn as_ref(&self) -> &InUse {
        &self.0.address().subscriptions
    }
}
