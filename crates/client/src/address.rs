use std::time::Duration;

use http::{HeaderMap, HeaderValue, header};
use jsonrpsee::client_transport::ws::WsHandshakeError;
use jsonrpsee::core::client::Error as WireError;
use jsonrpsee::ws_client::{PingConfig, WsClientBuilder};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;

use super::error::Error;
use super::trust::Trust;
use super::wire::{LONGEST, Wire};

/// Timeout for opening a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// Maximum size of an answer. It is more than a server sends by default, so that the limit of the server applies.
const MAX_MESSAGE: u32 = 64 << 20;
/// Maximum number of calls in flight on one connection.
const MAX_CALLS: usize = 4096;
/// Maximum number of items of one subscription that wait to be moved to its buffer.
const ON_THE_WAY: usize = 1024;
/// The silence after which a ping is sent on a connection.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(20);
/// The host in requests to a server without a network address.
const NO_ADDRESS: &str = "ws://localhost";

/// The address of a server, and how to connect to it.
pub(super) struct Address {
    url: String,
    headers: HeaderMap,
    trust: Trust,
    heartbeat: Duration,
}

fn builder(heartbeat: Duration) -> WsClientBuilder {
    let ping = PingConfig::new().ping_interval(heartbeat).inactive_limit(heartbeat.saturating_mul(2));
    WsClientBuilder::new()
        .max_request_size(MAX_MESSAGE)
        .max_response_size(MAX_MESSAGE)
        .max_frame_size(MAX_MESSAGE)
        .request_timeout(LONGEST)
        .connection_timeout(CONNECT)
        .max_concurrent_requests(MAX_CALLS)
        .max_buffer_capacity_per_subscription(ON_THE_WAY)
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
    let client = builder(HEARTBEAT).build_with_stream(NO_ADDRESS, stream).await;
    client.map(Wire::new).map_err(|error| not_connected(NO_ADDRESS, error))
}

impl Address {
    pub(super) fn new(url: &str, token: Option<&str>, trust: Trust, heartbeat: Duration) -> Result<Self, Error> {
        let bad = |reason: &str| Error::Address { url: url.to_owned(), reason: reason.to_owned() };
        // A server has one port for HTTP and WebSocket.
        let url = match url.split_once("://") {
            Some(("http", rest)) => format!("ws://{rest}"),
            Some(("https", rest)) => format!("wss://{rest}"),
            None if url.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok()) => {
                format!("ws://{url}")
            }
            _ => url.to_owned(),
        };
        match url.split_once("://") {
            Some(("ws" | "wss" | "unix", rest)) if !rest.is_empty() => {}
            Some((scheme, _)) => return Err(bad(&format!("{scheme}:// is not a WebSocket address"))),
            None => return Err(bad("the scheme is missing")),
        }
        let mut headers = HeaderMap::new();
        if let Some(token) = token {
            let mut value = bearer(token)?;
            value.set_sensitive(true);
            headers.insert(header::AUTHORIZATION, value);
        }
        Ok(Self { url, headers, trust, heartbeat })
    }

    /// Opens a connection.
    pub(super) async fn open(&self) -> Result<Wire, Error> {
        let url = &self.url;
        let bad = |reason: String| Error::Address { url: url.clone(), reason };
        let builder = builder(self.heartbeat).set_headers(self.headers.clone());
        let client = match url.split_once("://") {
            Some(("unix", path)) => {
                let unreachable = |reason: String| Error::Unreachable { url: url.clone(), reason };
                let opened = tokio::time::timeout(CONNECT, UnixStream::connect(path)).await;
                let socket = opened.map_err(|_| unreachable("nobody answers".into()))?.map_err(|error| unreachable(error.to_string()))?;
                builder.build_with_stream(NO_ADDRESS, socket).await
            }
            Some(("wss", rest)) => {
                let place: http::Uri = format!("ws://{rest}").parse().map_err(|error: http::uri::InvalidUri| bad(error.to_string()))?;
                let host = place.host().ok_or_else(|| bad("the host is missing".to_owned()))?;
                let authority = format!("{host}:{}", place.port_u16().unwrap_or(443));
                let opened = tokio::time::timeout(CONNECT, self.trust.connect(url, host, &authority)).await;
                let stream = opened.map_err(|_| Error::Silent { url: url.clone(), after: CONNECT })??;
                // The requests are the same as without TLS.
                builder.build_with_stream(place.to_string(), stream).await
            }
            _ => builder.build(url).await,
        };
        client.map(Wire::new).map_err(|error| not_connected(url, error))
    }

    /// Returns the host of the server for requests, with its port if that is not the default.
    pub(super) fn host(&self) -> &str {
        let (scheme, rest) = self.url.split_once("://").unwrap_or(("", &self.url));
        if scheme == "unix" {
            return "localhost";
        }
        let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
        let host = authority.rsplit('@').next().unwrap_or(authority);
        let usual = if scheme == "wss" { ":443" } else { ":80" };
        host.strip_suffix(usual).unwrap_or(host)
    }
}

fn not_connected(url: &str, error: WireError) -> Error {
    let url = url.to_owned();
    let WireError::Transport(cause) = error else {
        return Error::Unreachable { url, reason: error.to_string() };
    };
    match cause.downcast_ref::<WsHandshakeError>() {
        Some(WsHandshakeError::Rejected { status_code }) => Error::Refused { url, status: *status_code },
        Some(WsHandshakeError::Timeout(after)) => Error::Silent { url, after: *after },
        Some(WsHandshakeError::Url(reason)) => Error::Address { url, reason: reason.to_string() },
        Some(WsHandshakeError::Io(error)) => Error::Unreachable { url, reason: error.to_string() },
        // A server is there, but speaks another protocol.
        Some(WsHandshakeError::Transport(error)) if !matches!(error, soketto::handshake::Error::Io(_)) => {
            Error::Foreign(format!("{url} answers no WebSocket handshake ({error})"))
        }
        _ => Error::Unreachable { url, reason: cause.to_string() },
    }
}
