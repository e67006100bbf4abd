use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::task::task_tracker::TaskTrackerToken;

use super::addresses::{AddressHandle, InUse};
use super::error::Error;
use super::memory::Connection;
use super::openrpc::ServerAddress;

/// What a method needs from whoever calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// Nothing: everybody may.
    Public,
    /// To read jobs, their logs and the state of the server.
    Read,
    /// To create, start, stop and delete jobs.
    Submit,
    /// To change what concerns everybody's jobs.
    Operate,
}

/// Who is behind a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    /// The caller did not log in.
    Anonymous,
    /// The person who runs the server, who may do everything.
    Operator,
}

/// Whether callers have to say who they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Access {
    /// Whoever can connect to the server may use it.
    #[default]
    Open,
    /// Without an identity only [`Permission::Public`] methods can be called.
    Login,
}

impl Access {
    /// Whether `identity` may call a method that needs `permission`.
    pub fn check(self, identity: Identity, permission: Permission) -> Result<(), Error> {
        match (self, identity, permission) {
            (Self::Open, _, _) | (_, Identity::Operator, _) | (_, _, Permission::Public) => Ok(()),
            (Self::Login, Identity::Anonymous, Permission::Read | Permission::Submit | Permission::Operate) => Err(Error::NotAuthenticated),
        }
    }
}

/// One connection: who it is, where it comes from and what it uses.
///
/// It lives as long as the connection, and as long as notifications that came on it are being carried out.
#[derive(Debug)]
pub struct Session {
    peer: SocketAddr,
    local: IpAddr,
    /// The address that was named by the HTTP request that is being answered, or that opened the WebSocket.
    server_address: Mutex<Option<ServerAddress>>,
    identity: Identity,
    opened: Instant,
    touched_ms: AtomicU64,
    requests: AtomicU32,
    calls: InUse,
    address: AddressHandle,
    connection: Arc<Connection>,
    _open: TaskTrackerToken,
}

impl Session {
    pub(super) fn new(
        peer: SocketAddr,
        local: IpAddr,
        address: AddressHandle,
        connection: Arc<Connection>,
        open: TaskTrackerToken,
    ) -> Self {
        metrics::gauge!(super::CONNECTIONS).increment(1.0);
        let (server_address, touched_ms, requests, calls) = Default::default();
        let (identity, opened) = (Identity::Anonymous, Instant::now());
        Self { peer, local, server_address, identity, opened, touched_ms, requests, calls, address, connection, _open: open }
    }

    /// Where the connection comes from.
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Who is behind the connection.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// The `caller_id` of jobs that this session creates without naming one; `None` is `anonymous`.
    pub fn caller_id(&self) -> Option<&str> {
        match self.identity {
            Identity::Anonymous => None,
            Identity::Operator => Some("operator"),
        }
    }

    /// The address of this machine that the connection reached.
    pub(super) fn local(&self) -> IpAddr {
        self.local
    }

    /// Notes the address that the current request names. There is one request at a time.
    pub(super) fn set_server_address(&self, address: Option<ServerAddress>) {
        *self.server_address.lock().unwrap_or_else(PoisonError::into_inner) = address;
    }

    /// The address of the server that the client used.
    pub(super) fn server_address(&self) -> Option<ServerAddress> {
        self.server_address.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn address(&self) -> &AddressHandle {
        &self.address
    }

    /// What the connection has in memory.
    pub(super) fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    pub(super) fn calls(&self) -> &InUse {
        &self.calls
    }

    /// Whether there has been an HTTP request yet.
    pub(super) fn has_asked(&self) -> bool {
        self.touched_ms.load(Ordering::Acquire) > 0 || self.requests.load(Ordering::Acquire) > 0
    }

    /// Notes an HTTP request, which is being answered until the result is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> OpenRequest {
        self.requests.fetch_add(1, Ordering::AcqRel);
        OpenRequest(Arc::clone(self))
    }

    /// How long the connection has been without an HTTP request, and without an answer that is still being read.
    pub(super) fn idle(&self) -> Duration {
        if self.requests.load(Ordering::Acquire) > 0 || self.connection.unsent() > 0 {
            return Duration::ZERO;
        }
        self.opened.elapsed().saturating_sub(Duration::from_millis(self.touched_ms.load(Ordering::Acquire)))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        metrics::gauge!(super::CONNECTIONS).decrement(1.0);
    }
}

/// An HTTP request that is being answered.
#[derive(Debug)]
pub(super) struct OpenRequest(Arc<Session>);

impl Drop for OpenRequest {
    fn drop(&mut self) {
        let now = u64::try_from(self.0.opened.elapsed().as_millis()).unwrap_or(u64::MAX).max(1);
        self.0.touched_ms.store(now, Ordering::Release);
        self.0.requests.fetch_sub(1, Ordering::AcqRel);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_login_on_the_nameless_get_only_what_is_public() {
        assert!(Access::Open.check(Identity::Anonymous, Permission::Submit).is_ok());
        assert!(Access::Login.check(Identity::Anonymous, Permission::Public).is_ok());
        assert!(Access::Login.check(Identity::Anonymous, Permission::Read).is_err());
        assert!(Access::Login.check(Identity::Operator, Permission::Submit).is_ok());
    }
}
