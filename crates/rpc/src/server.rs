//! The ports: accepts connections until shutdown.

pub(crate) mod operator;
pub(crate) mod serve_error;
pub(crate) mod tls;

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use jsonrpsee::server::{StopHandle, stop_channel};
use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::app::{App, Probes};
use super::connection::HttpConnection;
use super::http::{AssistantEndpoint, Assistants, Endpoint, Gzip, OriginCheck, router};
use super::limits::Limits;
use super::middleware::Rules;
use super::table::Table;
use crate::connection::addresses::Addresses;
use crate::connection::anonymous::{AnonymousConnections, TrackedConnection};
use crate::connection::overflow::{Overflow, Refusals};
use crate::openrpc::document::OpenRpcDocument;
use crate::session::access::Access;
use crate::session::auth::{Principal, Session};
use crate::session::logins::Logins;
use hero_audit::Audit;
use serve_error::ServeError;
use tls::Tls;

/// The settings of the server.
#[derive(Clone)]
pub struct ServerSettings {
    /// The addresses to bind. The first is shown to people. Port 0 takes a free port, the same for all.
    pub listen: Vec<SocketAddr>,
    /// The limits of connections, calls and memory.
    pub limits: Limits,
    /// The origins of web pages that may use the server, besides those on this machine: `https://app.example`, or `*`.
    pub allowed_origins: Vec<String>,
    /// The names under which clients may reach it, besides `localhost` and its addresses; `*` for any.
    pub allowed_hosts: Vec<String>,
    /// Whether it may listen beyond this machine although everybody may call it.
    pub insecure: bool,
    /// Whether callers must log in.
    pub access: Access,
    /// The certificate and key, if the addresses speak TLS.
    pub tls: Option<Tls>,
    /// A socket whose callers count as the operator, in a directory that only the operator can enter.
    pub operator_socket: Option<PathBuf>,
    /// The audit log.
    pub audit: Audit,
    /// The handler of assistants at `/mcp`, if there is one.
    pub assistants: Option<Assistants>,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            listen: vec![SocketAddr::from(([127, 0, 0, 1], 8700))],
            limits: Limits::default(),
            allowed_origins: Vec::new(),
            allowed_hosts: Vec::new(),
            insecure: false,
            access: Access::Open,
            tls: None,
            operator_socket: None,
            audit: Audit::default(),
            assistants: None,
        }
    }
}

/// A listening server.
#[derive(Debug)]
pub struct Serving {
    local_addr: SocketAddr,
    shutdown: CancellationToken,
    connections: TaskTracker,
}

impl Serving {
    /// Returns the address to which it is bound.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Waits for the shutdown, then for the connections to end: calls are answered, new ones are refused.
    ///
    /// Returns the number of connections that were still open when `grace` was over.
    pub async fn drained(&self, grace: Duration) -> usize {
        self.shutdown.cancelled().await;
        self.connections.close();
        // The tracker still counts the connections that did not end in time.
        let _ = tokio::time::timeout(grace, self.connections.wait()).await;
        self.connections.len()
    }
}

/// Serves every method of this program until `shutdown`. Returns as soon as it listens.
pub async fn serve(settings: ServerSettings, app: App, shutdown: CancellationToken) -> Result<Serving, ServeError> {
    let listeners = bind(&settings).await?;
    let mut app = app;
    let details = Arc::make_mut(&mut app.details);
    details.limits = settings.limits.clone();
    let scheme = if settings.tls.is_some() { "wss://" } else { "" };
    details.listen.extend(listeners.iter().map(|(_, address)| format!("{scheme}{address}")));
    let probes = app.probes.clone();
    start(listeners, settings, &super::table(), app, probes, shutdown)
}

/// Serves the methods of any `table`, which use `app`, until `shutdown`. Returns as soon as it listens.
pub async fn serve_table<C: Send + Sync + 'static>(
    settings: ServerSettings,
    table: &Table<C>,
    app: C,
    probes: Probes,
    shutdown: CancellationToken,
) -> Result<Serving, ServeError> {
    let listeners = bind(&settings).await?;
    start(listeners, settings, table, app, probes, shutdown)
}

type Listeners = Vec<(TcpListener, SocketAddr)>;

/// The number of ports that are tried if any free port will do: several addresses need one that is free on all of them.
const MAX_PORT_ATTEMPTS: usize = 16;

async fn bind(settings: &ServerSettings) -> Result<Listeners, ServeError> {
    let public = settings.listen.iter().find(|address| !address.ip().to_canonical().is_loopback());
    if let Some(address) = public.filter(|_| settings.access.is_open() && !settings.insecure) {
        return Err(ServeError::Exposed(*address));
    }
    let mut tries = MAX_PORT_ATTEMPTS;
    loop {
        match bind_all(&settings.listen).await {
            Err(ServeError::Bind { address, cause }) if address.port() != 0 && is_free(&settings.listen) && tries > 0 => {
                tracing::debug!(%address, %cause, "a port that is free elsewhere is not free here");
                tries -= 1;
            }
            bound => return bound,
        }
    }
}

/// Returns the addresses that could be bound now. They are free again when this returns.
pub async fn try_listen(addresses: &[SocketAddr]) -> Result<Vec<SocketAddr>, ServeError> {
    Ok(bind_all(addresses).await?.into_iter().map(|(_, address)| address).collect())
}

/// Whether any free port will do.
fn is_free(addresses: &[SocketAddr]) -> bool {
    addresses.iter().all(|address| address.port() == 0)
}

/// Binds all addresses that this machine has. Fails if it has none.
async fn bind_all(addresses: &[SocketAddr]) -> Result<Listeners, ServeError> {
    let (mut listeners, mut missing): (Listeners, Option<ServeError>) = (Vec::new(), None);
    for &wanted in addresses {
        let mut address = wanted;
        if let Some((_, first)) = listeners.first().filter(|_| wanted.port() == 0) {
            address.set_port(first.port());
        }
        let bound = TcpListener::bind(address).await.and_then(|listener| Ok((listener.local_addr()?, listener)));
        match bound {
            Ok((local, listener)) => listeners.push((listener, local)),
            // A name may have an address of a family that this machine lacks, such as IPv6.
            Err(cause) if cause.kind() == io::ErrorKind::AddrNotAvailable || cause.raw_os_error() == Some(NO_FAMILY) => {
                missing = Some(ServeError::Bind { address, cause });
            }
            Err(cause) => return Err(ServeError::Bind { address, cause }),
        }
    }
    match missing {
        Some(error) if listeners.is_empty() => Err(error),
        Some(error) => {
            tracing::warn!("{error}; the other addresses of the name are served");
            Ok(listeners)
        }
        None => Ok(listeners),
    }
}

fn start<C: Send + Sync + 'static>(
    listeners: Listeners,
    settings: ServerSettings,
    table: &Table<C>,
    app: C,
    probes: Probes,
    shutdown: CancellationToken,
) -> Result<Serving, ServeError> {
    let local_addr = listeners.first().map(|(_, address)| *address).ok_or(ServeError::Nowhere)?;
    super::memory::announce();
    crate::connection::anonymous::announce();
    let document = Arc::new(OpenRpcDocument::new(&table.compact_document()));
    let methods = table.register(app, &settings.limits, &settings.access, &settings.audit, &document)?;
    let rules = Arc::new(Rules::new(table, settings.limits.clone(), settings.access.clone(), settings.audit.clone()));
    let (stop, stopper) = stop_channel();
    let operator = settings.operator_socket.map(|path| operator::listen(&path).map(|listener| (listener, path))).transpose()?;
    let gzip = Gzip::new(Arc::clone(&document));
    let logins = Logins::new(settings.audit);
    let (subscriptions, limits) = (table.subscriptions(), &settings.limits);
    let endpoint =
        Endpoint::new(methods, rules, (settings.access.clone(), logins), gzip.clone(), subscriptions.clone(), limits, stop.clone());
    let of_assistants = |assistants| {
        let (access, limits) = (settings.access.clone(), settings.limits.clone());
        AssistantEndpoint::new(assistants, endpoint.clone(), access, limits, stop.clone())
    };
    let assistants = settings.assistants.map(of_assistants);
    let allowed = OriginCheck::new(&settings.allowed_origins, &settings.allowed_hosts);
    let connections = TaskTracker::new();
    let loops = listeners.len() + usize::from(operator.is_some());
    let acceptor = Arc::new(Acceptor {
        loops,
        overflow: Overflow::new(super::http::probes(probes.clone(), allowed.clone()), settings.tls.clone()),
        refusals: Refusals::default(),
        router: router(endpoint, assistants, probes, document, allowed, gzip, subscriptions.keys()),
        addresses: Addresses::new(settings.limits.clone(), !settings.access.is_open()),
        anonymous: Arc::default(),
        login: !settings.access.is_open(),
        limits: settings.limits,
        tls: settings.tls,
        connections: connections.clone(),
        stop,
    });
    let stopper = Arc::new(stopper);
    if let Some((listener, path)) = operator {
        let (acceptor, shutdown) = (acceptor.clone(), shutdown.clone());
        tokio::spawn(connections.track_future(async move {
            accept(|cx| listener.poll_accept(cx), |(socket, _)| acceptor.open_for_operator(socket), shutdown).await;
            // While the server listens there, the file belongs to it. The next start removes a remaining one.
            let _ = std::fs::remove_file(path);
        }));
    }
    for (listener, _) in listeners {
        let (acceptor, stopper, shutdown) = (acceptor.clone(), stopper.clone(), shutdown.clone());
        tokio::spawn(connections.track_future(async move {
            accept(|cx| listener.poll_accept(cx), |(socket, peer)| acceptor.open(socket, peer), shutdown).await;
            drop(listener);
            // This fails only if all connections are closed already.
            let _ = stopper.stop();
        }));
    }
    Ok(Serving { local_addr, shutdown, connections })
}

/// Opens new connections, or passes those beyond the limit on to [`Overflow`].
struct Acceptor {
    /// The number of loops that accept connections.
    loops: usize,
    /// The handler of connections beyond the limit.
    overflow: Overflow,
    refusals: Refusals,
    router: Router,
    addresses: Addresses,
    anonymous: Arc<AnonymousConnections>,
    /// Whether callers must log in.
    login: bool,
    limits: Limits,
    tls: Option<Tls>,
    connections: TaskTracker,
    stop: StopHandle,
}

/// Opens incoming connections until shutdown.
async fn accept<T>(next: impl Fn(&mut Context<'_>) -> Poll<io::Result<T>>, open: impl Fn(T), shutdown: CancellationToken) {
    loop {
        let accepted = tokio::select! {
            biased;
            () = shutdown.cancelled() => return,
            accepted = poll_fn(&next) => accepted,
        };
        match accepted {
            Ok(accepted) => open(accepted),
            Err(error) => {
                // The process is probably out of file descriptors. Connections that close free some.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
            }
        }
    }
}

impl Acceptor {
    fn open(&self, socket: TcpStream, peer: SocketAddr) {
        // The tracker counts the accept loops, too.
        let open = self.connections.len().saturating_sub(self.loops);
        let most = self.limits.connections as usize;
        // A caller without a login makes way for a new one, who may have a token. The old connection closes in a moment.
        let mut made_way = false;
        let joined = self.addresses.join(peer.ip(), 0).or_else(|| {
            made_way = self.anonymous.make_way(Some(peer.ip()));
            made_way.then(|| self.addresses.join(peer.ip(), MAX_CLOSING_CONNECTIONS)).flatten()
        });
        let has_room = || open < most || open < most + MAX_CLOSING_CONNECTIONS as usize && (made_way || self.anonymous.make_way(None));
        let Some(address) = joined.filter(|_| has_room()) else {
            self.refusals.note(peer, open, if open < most { "max_per_address" } else { "max_connections" });
            self.overflow.serve(socket);
            return;
        };
        let local = socket.local_addr().unwrap_or_else(|_| SocketAddr::from(([0, 0, 0, 0], 0)));
        prepare(&socket, self.limits.write_timeout.duration(), peer);
        let connection = self.addresses.connection(&address);
        let tracked = TrackedConnection::new(&self.anonymous, peer.ip(), connection.closing(), !self.login);
        let session = Session::new(peer, local, (address, tracked), connection, self.tls.is_some(), self.connections.token());
        let (http, tls) = (self.http_connection(session), self.tls.clone());
        tokio::spawn(async move {
            match tls {
                None => http.serve(socket).await,
                Some(tls) => {
                    if let Some(stream) = http.prepared(tls.accept(socket)).await {
                        http.serve(stream).await;
                    }
                }
            }
        });
    }

    /// Opens a connection of the operator, who counts as this machine.
    fn open_for_operator(&self, socket: UnixStream) {
        let here = SocketAddr::from(([127, 0, 0, 1], 0));
        let address = self.addresses.of_operator();
        let connection = self.addresses.connection(&address);
        let tracked = TrackedConnection::new(&self.anonymous, here.ip(), connection.closing(), true);
        connection.set_known(true);
        let session = Session::new(here, here, (address, tracked), connection, false, self.connections.token());
        tokio::spawn(self.http_connection(session.of(Principal::Operator)).serve(socket));
    }

    fn http_connection(&self, session: Session) -> HttpConnection {
        HttpConnection::new(
            session,
            self.router.clone(),
            self.stop.clone(),
            &self.limits,
            Some(self.limits.connections as usize + self.loops),
        )
    }
}

/// The most connections beyond a limit while those that made way are closing.
const MAX_CLOSING_CONNECTIONS: u32 = 64;
/// The pause after a connection that could not be accepted.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);
/// EAFNOSUPPORT of Linux: this machine has no addresses of that family, such as IPv6.
const NO_FAMILY: i32 = 97;
/// The most unsent bytes of one connection that the system keeps. Further bytes stay in this process, where they are counted.
const UNSENT_BY_SYSTEM: u32 = 256 * 1024;

/// Sets the options of a socket. The server works without them, so errors are only logged.
fn prepare(socket: &TcpStream, time_limit: Duration, peer: SocketAddr) {
    let raw = SockRef::from(socket);
    let set = [
        ("TCP_NODELAY", socket.set_nodelay(true)),
        ("TCP_NOTSENT_LOWAT", raw.set_tcp_notsent_lowat(UNSENT_BY_SYSTEM)),
        // Without this, a connection to a machine that was switched off would stay open.
        ("TCP_USER_TIMEOUT", raw.set_tcp_user_timeout(Some(time_limit * 2))),
    ];
    for (option, set) in set {
        if let Err(error) = set {
            tracing::debug!(%error, %peer, option, "a socket option was refused");
        }
    }
}
