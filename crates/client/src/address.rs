use std::net::{Ipv6Addr, SocketAddr};
use std::time::Duration;

use http::{HeaderMap, HeaderValue, header};
use jsonrpsee::client_transport::ws::WsHandshakeError;
use jsonrpsee::core::client::Error as WireError;
use jsonrpsee::ws_client::{PingConfig, WsClientBuilder};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream, lookup_host};
use tokio::time::{Instant, timeout, timeout_at};

use super::error::Error;
use super::trust::Trust;
use super::wire::{MAX_CALL_TIME, Wire};
use hero_model::excerpt;

/// How long to wait at most until a connection is open.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size of an answer. It is more than a server sends by default, so that the limit of the server applies.
const MAX_MESSAGE: u32 = 64 << 20;
/// Maximum number of calls in flight on one connection.
const MAX_CALLS: usize = 4096;
/// Maximum number of items of one subscription that wait to be moved to its buffer.
const MAX_UNMOVED_ITEMS: usize = 1024;
/// The silence after which a ping is sent on a connection.
pub(super) const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(20);
/// Why an address is refused that has a secret in it.
const USER: &str =
    "no server takes a name or a password in it: remove what stands before the @, and show a token, on the command line by HERO_TOKEN";
/// The port of an address without one, and that of a server that was not told otherwise.
const USUAL: (&str, u16) = ("without a port, 80 is meant, and a server listens on", 8700);
/// Maximum number of characters that are shown of an address that a server sends elsewhere.
const LONGEST_LOCATION: usize = 200;
/// What stands in the requests to a server that has no address of the network.
const NO_ADDRESS: &str = "ws://localhost";

/// The address of a server, and how to connect to it.
pub(super) struct Address {
    url: String,
    headers: HeaderMap,
    trust: Trust,
    heartbeat: Duration,
    /// How long to wait until a connection is open.
    connect: Duration,
}

/// A connection of any kind.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

fn builder(heartbeat: Duration, connect: Duration) -> WsClientBuilder {
    let ping = PingConfig::new().ping_interval(heartbeat).inactive_limit(heartbeat.saturating_mul(2));
    WsClientBuilder::new()
        .max_request_size(MAX_MESSAGE)
        .max_response_size(MAX_MESSAGE)
        .max_frame_size(MAX_MESSAGE)
        .request_timeout(MAX_CALL_TIME)
        .connection_timeout(connect)
        // It would hand the token and the script to any server that the first one names.
        .max_redirections(0)
        .max_concurrent_requests(MAX_CALLS)
        .max_buffer_capacity_per_subscription(MAX_UNMOVED_ITEMS)
        .enable_ws_ping(ping)
}

/// Returns the header with a token. Other characters than those of a token would be lost, or change the header.
fn bearer(token: &str) -> Result<HeaderValue, Error> {
    let wrong = token.chars().position(|c| !c.is_ascii_graphic());
    let reason = match wrong.and_then(|at| Some((at, token.chars().nth(at)?))) {
        None if token.is_empty() => "it is empty".to_owned(),
        None => match HeaderValue::from_str(&format!("Bearer {token}")) {
            Ok(value) => return Ok(value),
            Err(error) => error.to_string(),
        },
        Some((at, c)) => {
            let what = match c {
                '\n' | '\r' => "a line break",
                ' ' | '\t' => "white space",
                c if c.is_control() => "a control character",
                _ => "a character that no token has",
            };
            format!("its character {} of {} is {what}", at + 1, token.chars().count())
        }
    };
    Err(Error::Token { reason })
}

/// Creates a wire on an open connection to a server.
pub(super) async fn on(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> Result<Wire, Error> {
    let client = builder(HEARTBEAT_INTERVAL, CONNECT_TIMEOUT).build_with_stream(NO_ADDRESS, stream).await;
    client.map(Wire::new).map_err(|error| not_connected(NO_ADDRESS, error))
}

/// An address as it may be told: without what stands before an @, which may be a secret.
pub fn masked(url: &str) -> String {
    match url.rsplit_once('@') {
        Some((before, rest)) if !is_socket(before) => format!("***@{rest}"),
        _ => url.to_owned(),
    }
}

/// True for the address of a socket, whose path may contain an @.
fn is_socket(url: &str) -> bool {
    url.split_once("://").is_some_and(|(scheme, _)| scheme.eq_ignore_ascii_case("unix"))
}

/// Connects to a host and a port, by the first of their addresses that answers, within `limit` for all of it.
async fn dial(url: &str, authority: &str, limit: Duration) -> Result<TcpStream, Error> {
    let until = Instant::now() + limit;
    let found = timeout_at(until, lookup_host(authority)).await.map_err(|_| Error::Silent { url: url.to_owned(), after: limit })?;
    let found = found.map_err(|error| Error::Unreachable { url: url.to_owned(), reason: error.to_string() })?;
    dial_one(url, &found.collect::<Vec<_>>(), until, limit).await
}

/// Connects to the first of these addresses that answers. A silent one leaves the others their share of the time.
async fn dial_one(url: &str, addresses: &[SocketAddr], until: Instant, limit: Duration) -> Result<TcpStream, Error> {
    let mut failed = Error::Unreachable { url: url.to_owned(), reason: "its name has no address".to_owned() };
    for (left, address) in (1_u32..=u32::try_from(addresses.len()).unwrap_or(u32::MAX)).rev().zip(addresses) {
        let share = until.saturating_duration_since(Instant::now()) / left;
        match timeout(share, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                let _ = stream.set_nodelay(true); // Calls are small and wait for their answers. A failure here does no harm.
                return Ok(stream);
            }
            Ok(Err(error)) => failed = Error::Unreachable { url: url.to_owned(), reason: error.to_string() },
            Err(_) => failed = Error::Silent { url: url.to_owned(), after: limit },
        }
    }
    Err(failed)
}

/// The part of an address that names the server: what is before the path.
fn authority(rest: &str) -> &str {
    rest.split(['/', '?', '#']).next().unwrap_or(rest)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Refuses what names no server, or more than that.
fn check(rest: &str) -> Result<(), &'static str> {
    if rest.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err("white space and control characters stand in no address");
    }
    let authority = authority(rest);
    let (host, port) = match authority.strip_prefix('[') {
        Some(inner) => {
            let (host, port) = inner.split_once(']').ok_or("the bracket around its IPv6 address is not closed")?;
            if host.parse::<Ipv6Addr>().is_err() {
                return Err("what stands in its brackets is no IPv6 address");
            }
            (host, if port.is_empty() { None } else { Some(port.strip_prefix(':').ok_or("only a port may stand behind its brackets")?) })
        }
        None => authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port))),
    };
    match port {
        Some(port) if port.contains(':') => Err("an IPv6 address stands in brackets, as in ws://[::1]:8700"),
        _ if host.is_empty() => Err("the host is missing"),
        Some("") => Err("the port is missing behind the colon"),
        Some(port) if !is_number(port) => Err("its port is no number"),
        Some(port) if !port.parse::<u16>().is_ok_and(|port| port > 0) => Err("its port is not one from 1 to 65535"),
        _ => Ok(()),
    }
}

impl Address {
    pub(super) fn new(url: &str, token: Option<&str>, trust: Trust, heartbeat: Duration, answer: Duration) -> Result<Self, Error> {
        let bad = |reason: &str| Error::Address { url: masked(url), reason: reason.to_owned() };
        // A secret may have characters that end the name of a server, so an @ anywhere is refused.
        if url.contains('@') && !is_socket(url) {
            return Err(bad(USER));
        }
        let with_scheme = match url.split_once("://") {
            Some((scheme, rest)) => Some((scheme.to_ascii_lowercase(), rest)),
            None if url.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && is_number(port)) => Some(("ws".to_owned(), url)),
            None => None,
        };
        let Some((scheme, rest)) = with_scheme else {
            let host = format!("a host is missing, such as 127.0.0.1:{url}");
            return Err(bad(if is_number(url) { &host } else { "the scheme is missing" }));
        };
        // A server has one port for both.
        let scheme = match &*scheme {
            "http" | "ws" => "ws",
            "https" | "wss" => "wss",
            "unix" if rest.is_empty() => return Err(bad("the path is missing")),
            "unix" => "unix",
            other => return Err(bad(&format!("{other}:// is not a WebSocket address"))),
        };
        if scheme != "unix" {
            check(rest).map_err(bad)?;
        }
        let mut headers = HeaderMap::new();
        if let Some(token) = token {
            let mut value = bearer(token)?;
            value.set_sensitive(true);
            headers.insert(header::AUTHORIZATION, value);
        }
        Ok(Self { url: format!("{scheme}://{rest}"), headers, trust, heartbeat, connect: CONNECT_TIMEOUT.min(answer) })
    }

    /// Returns the address as errors show it: with its port, and whether that was left out.
    fn shown(&self) -> (String, bool) {
        let Some((scheme, rest)) = self.url.split_once("://").filter(|(scheme, _)| *scheme != "unix") else {
            return (self.url.clone(), false);
        };
        let server = authority(rest);
        if server.rsplit_once(':').is_some_and(|(_, port)| is_number(port)) && !server.ends_with(']') {
            return (self.url.clone(), false);
        }
        let port = if scheme == "wss" { 443 } else { 80 };
        (format!("{scheme}://{server}:{port}{}", &rest[server.len()..]), true)
    }

    /// Opens a connection.
    pub(super) async fn open(&self) -> Result<Wire, Error> {
        let (url, is_without_port) = self.shown();
        self.open_as(&url).await.map_err(|error| match error {
            // Who runs hero on port 80 knows it, and most who leave the port out have forgotten it.
            Error::Unreachable { url, reason } if is_without_port && url.starts_with("ws:") => {
                Error::Unreachable { url, reason: format!("{reason}; {} {}", USUAL.0, USUAL.1) }
            }
            Error::Foreign(what) if is_without_port && url.starts_with("ws:") => Error::Foreign(format!("{what}; {} {}", USUAL.0, USUAL.1)),
            error => error,
        })
    }

    async fn open_as(&self, url: &str) -> Result<Wire, Error> {
        let builder = builder(self.heartbeat, self.connect).set_headers(self.headers.clone());
        // On a stream of its own the handshake follows no redirection, and reports it.
        let (stream, place) = self.stream(url).await?;
        builder.build_with_stream(place, stream).await.map(Wire::new).map_err(|error| not_connected(url, error))
    }

    /// Connects to the server, and returns the stream with the address of its requests. Errors name it `url`.
    pub(super) async fn stream(&self, url: &str) -> Result<(Box<dyn Stream>, String), Error> {
        let bad = |reason: String| Error::Address { url: url.to_owned(), reason };
        let unreachable = |reason: String| Error::Unreachable { url: url.to_owned(), reason };
        let (scheme, rest) = self.url.split_once("://").unwrap_or(("ws", &self.url));
        if scheme == "unix" {
            let opened = timeout(self.connect, UnixStream::connect(rest)).await;
            let socket = opened.map_err(|_| unreachable("nobody answers".into()))?.map_err(|error| unreachable(error.to_string()))?;
            return Ok((Box::new(socket), NO_ADDRESS.to_owned()));
        }
        let place: http::Uri = format!("ws://{rest}").parse().map_err(|error: http::uri::InvalidUri| bad(error.to_string()))?;
        let host = place.host().ok_or_else(|| bad("the host is missing".to_owned()))?;
        let authority = format!("{host}:{}", place.port_u16().unwrap_or(if scheme == "wss" { 443 } else { 80 }));
        let dialled = dial(url, &authority, self.connect);
        if scheme != "wss" {
            return Ok((Box::new(dialled.await?), self.url.clone()));
        }
        let opened = timeout(self.connect, self.trust.connect(url, host, dialled)).await;
        let stream = opened.map_err(|_| Error::Silent { url: url.to_owned(), after: self.connect })??;
        // The handshake on this stream is the same as without TLS.
        Ok((Box::new(stream), place.to_string()))
    }

    /// Returns the path of something that the server has beside its calls.
    pub(super) fn path_of(&self, name: &str) -> String {
        let (scheme, rest) = self.url.split_once("://").unwrap_or(("", &self.url));
        let path = if scheme == "unix" { "" } else { &rest[authority(rest).len()..] };
        let path = path.split(['?', '#']).next().unwrap_or_default();
        format!("{}/{name}", path.trim_end_matches('/'))
    }

    /// Returns the host of the server for requests, with its port if that is not the default.
    pub(super) fn host(&self) -> &str {
        let (scheme, rest) = self.url.split_once("://").unwrap_or(("", &self.url));
        if scheme == "unix" {
            return "localhost";
        }
        let usual = if scheme == "wss" { ":443" } else { ":80" };
        authority(rest).strip_suffix(usual).unwrap_or(authority(rest))
    }
}

fn not_connected(url: &str, error: WireError) -> Error {
    let url = url.to_owned();
    let WireError::Transport(cause) = error else {
        return Error::Unreachable { url, reason: error.to_string() };
    };
    match cause.downcast_ref::<WsHandshakeError>() {
        Some(WsHandshakeError::Rejected { status_code }) => Error::Refused { url, status: *status_code },
        Some(WsHandshakeError::Redirected { location, .. }) => {
            Error::Redirected { url, to: excerpt(location, LONGEST_LOCATION).into_owned() }
        }
        Some(WsHandshakeError::Timeout(after)) => Error::Silent { url, after: *after },
        Some(WsHandshakeError::Url(reason)) => Error::Address { url, reason: reason.to_string() },
        Some(WsHandshakeError::Io(error)) => Error::Unreachable { url, reason: error.to_string() },
        // A server is there, but speaks another protocol.
        Some(WsHandshakeError::Transport(error)) if !matches!(error, soketto::handshake::Error::Io(_)) => {
            Error::Foreign(format!("{url} answers no WebSocket handshake ({error})"))
        }
        Some(_) => Error::Unreachable { url, reason: cause.to_string() },
        // Only an address that cannot be read fails before there is a handshake.
        None => Error::Address { url, reason: cause.to_string() },
    }
}

#[cfg(test)]
mod tests;
