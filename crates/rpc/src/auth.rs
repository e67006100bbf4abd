use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::addresses::{AddressHandle, InUse};
use super::memory::Connection;
use super::served::ServerAddress;
use super::strangers::Place;
use hero_access::Login;
pub use hero_access::Permission;

/// How many bytes a request of nobody may have, where callers have to log in: more than it takes to do so.
const STRANGERS: u32 = 16 * 1024;

/// Who is behind a connection.
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
    /// Its login, if it is an identity.
    pub fn login(&self) -> Option<&Login> {
        match self {
            Self::Identity(login) => Some(login),
            Self::Anonymous | Self::Operator => None,
        }
    }
}

/// Whoever makes calls over one connection.
///
/// It lives as long as the connection, and as long as notifications that came on it are being carried out. Each HTTP request has one of its own,
/// because the requests of one connection may be those of several callers, behind a proxy. A WebSocket has one caller, who may log in on it.
#[derive(Debug)]
pub struct Session {
    link: Arc<Link>,
    principal: watch::Sender<Principal>,
    /// Whether whoever makes the calls may become somebody else.
    may_log_in: bool,
}

/// One connection: where it comes from and what it uses.
#[derive(Debug)]
struct Link {
    peer: SocketAddr,
    local: SocketAddr,
    /// The address that was named by the HTTP request that is being answered, or that opened the WebSocket.
    server_address: Mutex<Option<ServerAddress>>,
    opened: Instant,
    touched_ms: AtomicU64,
    requests: AtomicU32,
    calls: InUse,
    address: AddressHandle,
    connection: Arc<Connection>,
    place: Place,
    /// Whether it is encrypted by this server.
    tls: bool,
    open: TaskTrackerToken,
}

impl Session {
    pub(super) fn new(
        peer: SocketAddr,
        local: SocketAddr,
        (address, place): (AddressHandle, Place),
        connection: Arc<Connection>,
        tls: bool,
        open: TaskTrackerToken,
    ) -> Self {
        metrics::gauge!(super::CONNECTIONS).increment(1.0);
        let (server_address, touched_ms, requests, calls) = Default::default();
        let opened = Instant::now();
        let link = Link { peer, local, server_address, opened, touched_ms, requests, calls, address, connection, place, tls, open };
        Self::on(Arc::new(link), Principal::Anonymous, false)
    }

    fn on(link: Arc<Link>, principal: Principal, may_log_in: bool) -> Self {
        Self { link, principal: watch::Sender::new(principal), may_log_in }
    }

    /// The same connection, used by this caller.
    pub(super) fn of(&self, principal: Principal) -> Self {
        Self::on(Arc::clone(&self.link), principal, false)
    }

    /// The same connection and caller, which has the connection for itself: where callers log in, it may do so on it.
    pub(super) fn of_socket(&self, may_log_in: bool) -> Self {
        Self::on(Arc::clone(&self.link), self.principal(), may_log_in)
    }

    /// Has whoever makes the calls be this identity from now on, if the connection is its own.
    pub(super) fn log_in(&self, login: &Arc<Login>) {
        if self.may_log_in {
            self.principal.send_replace(Principal::Identity(Arc::clone(login)));
            self.set_known(true);
        }
    }

    /// Notes whether the connection is used from now on by somebody who has logged in, or need not.
    pub(super) fn set_known(&self, is_known: bool) {
        self.connection().set_known(is_known);
        self.link.place.set_known(is_known);
    }

    /// Returns when nobody has logged in on the connection for longer than that may be.
    pub(super) async fn outstayed(&self) {
        self.link.place.outstayed().await;
    }

    /// Where the connection comes from.
    pub fn peer(&self) -> SocketAddr {
        self.link.peer
    }

    /// Who makes the calls.
    pub fn principal(&self) -> Principal {
        self.principal.borrow().clone()
    }

    /// Who makes the calls, and becomes so.
    pub(super) fn principals(&self) -> watch::Receiver<Principal> {
        self.principal.subscribe()
    }

    /// Returns when whoever makes the calls is logged out: its token was revoked, or has ended.
    pub(super) async fn logged_out(&self) {
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
                // The sender is here, so this does not fail.
                _ = principals.changed() => {}
            }
        }
    }

    /// The `caller_id` of jobs that this session creates without naming one; `None` is `anonymous`.
    pub fn caller_id(&self) -> Option<String> {
        match self.principal() {
            Principal::Anonymous => None,
            Principal::Operator => Some("operator".to_owned()),
            Principal::Identity(login) => Some(login.identity().to_string()),
        }
    }

    /// Whether the connection is encrypted by this server.
    pub(super) fn is_tls(&self) -> bool {
        self.link.tls
    }

    /// The address of this machine that the connection reached, with the port.
    pub(super) fn local(&self) -> SocketAddr {
        self.link.local
    }

    /// Notes the address that the current request names. There is one request at a time.
    pub(super) fn set_server_address(&self, address: Option<ServerAddress>) {
        *self.link.server_address.lock().unwrap_or_else(PoisonError::into_inner) = address;
    }

    /// The address of the server that the client used.
    pub(super) fn server_address(&self) -> Option<ServerAddress> {
        self.link.server_address.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The name by which the client reached the server, with its port if that is not the usual one. `None`: it named none, or one that the server does not
    /// know as its own.
    pub(super) fn host(&self) -> Option<String> {
        self.server_address()?.own_host()
    }

    pub(super) fn address(&self) -> &AddressHandle {
        &self.link.address
    }

    /// Whether its address has as many connections as it may, or the server has `most`, with the loops that accept them.
    pub(super) fn is_crowded(&self, most: usize) -> bool {
        self.address().is_full() || self.link.open.task_tracker().len() >= most
    }

    /// What the connection has in memory.
    pub(super) fn connection(&self) -> &Arc<Connection> {
        &self.link.connection
    }

    /// How large a request may be, where those who have logged in may send so many bytes.
    pub(super) fn request_bytes(&self, most: u32) -> u32 {
        if self.connection().is_stranger() { most.min(STRANGERS) } else { most }
    }

    pub(super) fn calls(&self) -> &InUse {
        &self.link.calls
    }

    /// Whether there has been an HTTP request yet.
    pub(super) fn has_asked(&self) -> bool {
        self.link.touched_ms.load(Ordering::Acquire) > 0 || self.link.requests.load(Ordering::Acquire) > 0
    }

    /// Notes an HTTP request, which is being answered until the result is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> OpenRequest {
        self.link.requests.fetch_add(1, Ordering::AcqRel);
        OpenRequest(Arc::clone(self))
    }

    /// How long the connection has been without an HTTP request, and without an answer that is still being read.
    pub(super) fn idle(&self) -> Duration {
        if self.link.requests.load(Ordering::Acquire) > 0 || self.connection().unsent() > 0 {
            return Duration::ZERO;
        }
        self.link.opened.elapsed().saturating_sub(Duration::from_millis(self.link.touched_ms.load(Ordering::Acquire)))
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        metrics::gauge!(super::CONNECTIONS).decrement(1.0);
    }
}

/// An HTTP request that is being answered.
#[derive(Debug)]
pub(super) struct OpenRequest(Arc<Session>);

impl Drop for OpenRequest {
    fn drop(&mut self) {
        let now = u64::try_from(self.0.link.opened.elapsed().as_millis()).unwrap_or(u64::MAX).max(1);
        self.0.link.touched_ms.store(now, Ordering::Release);
        self.0.link.requests.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The calls of a session that are being answered.
#[derive(Debug)]
pub(super) struct SessionCalls(pub(super) Arc<Session>);

impl AsRef<InUse> for SessionCalls {
    fn as_ref(&self) -> &InUse {
        self.0.calls()
    }
}

/// The calls of a session's address that are being answered.
#[derive(Debug)]
pub(super) struct AddressCalls(pub(super) Arc<Session>);

impl AsRef<InUse> for AddressCalls {
    fn as_ref(&self) -> &InUse {
        &self.0.address().calls
    }
}

/// The notifications of a session's address that wait for a permit.
#[derive(Debug)]
pub(super) struct AddressWaiting(pub(super) Arc<Session>);

impl AsRef<InUse> for AddressWaiting {
    fn as_ref(&self) -> &InUse {
        &self.0.address().waiting
    }
}

/// The open subscriptions of a session's address.
#[derive(Debug)]
pub(super) struct AddressSubscriptions(pub(super) Arc<Session>);

impl AsRef<InUse> for AddressSubscriptions {
    fn as_ref(&self) -> &InUse {
        &self.0.address().subscriptions
    }
}
