use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderValue, header};
use jsonrpsee::client_transport::ws::{WsError, WsHandshakeError};
use jsonrpsee::core::JsonRawValue;
use jsonrpsee::core::client::{ClientT, Error as WireError, Subscription, SubscriptionClientT};
use jsonrpsee::core::traits::ToRpcParams;
use jsonrpsee::ws_client::{PingConfig, WsClient, WsClientBuilder};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::sync::OnceCell;

use super::error::{Error, RpcError};
use super::trust::Trust;
use crate::model::tree;
use crate::rpc::{GOING_AWAY, LOGGED_OUT};

/// How long to wait for the answer to a call that does not wait for a job.
const ANSWER: Duration = Duration::from_secs(30);
/// How long any call may take: an hour of waiting, and a little more.
const LONGEST: Duration = Duration::from_secs(3700);
/// How long to wait until a connection is open.
const CONNECT: Duration = Duration::from_secs(10);
/// How large an answer may be. It is more than a server sends by default, so that the limit of the server counts.
const MAX_MESSAGE: u32 = 64 << 20;
/// How many calls of one connection may be in flight.
const MAX_CALLS: usize = 4096;
/// How many items of one subscription wait for their reader. When there are more, [`super::Follow`] resumes by the cursor.
const SUBSCRIPTION_BUFFER: usize = 8192;

/// A request of more bytes than this is compared with the limit of the server before it is sent.
const LARGE: usize = 256 << 10;
/// How many bytes a request has besides its method and parameters: the id, names and brackets.
const FRAME: usize = 56;

/// One connection to a server.
#[derive(Clone)]
pub struct Client {
    wire: Arc<WsClient>,
    /// The server as its address names it: host, and port if it is not the usual one.
    host: Arc<str>,
    /// The largest request that the server accepts. It is asked for when it is needed first.
    largest: Arc<OnceCell<Option<usize>>>,
}

fn builder() -> WsClientBuilder {
    WsClientBuilder::new()
        .max_request_size(MAX_MESSAGE)
        .max_response_size(MAX_MESSAGE)
        .request_timeout(LONGEST)
        .connection_timeout(CONNECT)
        .max_concurrent_requests(MAX_CALLS)
        .max_buffer_capacity_per_subscription(SUBSCRIPTION_BUFFER)
        .enable_ws_ping(PingConfig::new())
}

/// Parameters as they are sent.
struct Params(Box<JsonRawValue>);

impl ToRpcParams for Params {
    fn to_rpc_params(self) -> Result<Option<Box<JsonRawValue>>, serde_json::Error> {
        Ok(Some(self.0))
    }
}

impl Client {
    /// Connects to `url` (`ws://host:port`, `wss://…`, or `unix:///path` for the socket of an operator; `http://…` and `host:port` mean the same), with a bearer token if there is one.
    ///
    /// Dropping the last clone closes the connection and ends its subscriptions.
    pub async fn connect(url: &str, token: Option<&str>) -> Result<Self, Error> {
        Self::connect_trusting(&Trust::Machine, url, token).await
    }

    /// The same, where a `wss://` server is known by whom `trust` names.
    pub async fn connect_trusting(trust: &Trust, url: &str, token: Option<&str>) -> Result<Self, Error> {
        let bad = |reason: &str| Error::Address { url: url.to_owned(), reason: reason.to_owned() };
        // A server has one port for both.
        let url = &match url.split_once("://") {
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
            let mut value =
                HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| bad("the token contains characters that no token has"))?;
            value.set_sensitive(true);
            headers.insert(header::AUTHORIZATION, value);
        }
        let builder = builder().set_headers(headers);
        let wire = match url.split_once("://") {
            Some(("unix", path)) => {
                let unreachable = |reason: String| Error::Unreachable { url: url.to_owned(), reason };
                let opened = tokio::time::timeout(CONNECT, UnixStream::connect(path)).await;
                let socket = opened.map_err(|_| unreachable("nobody answers".into()))?.map_err(|error| unreachable(error.to_string()))?;
                // The address is only what stands in the request.
                builder.build_with_stream("ws://localhost", socket).await
            }
            Some(("wss", rest)) => {
                let place: http::Uri = format!("ws://{rest}").parse().map_err(|error: http::uri::InvalidUri| bad(&error.to_string()))?;
                let host = place.host().ok_or_else(|| bad("the host is missing"))?;
                let authority = format!("{host}:{}", place.port_u16().unwrap_or(443));
                let opened = tokio::time::timeout(CONNECT, trust.connect(url, host, &authority)).await;
                let stream = opened.map_err(|_| Error::Silent { url: url.to_owned(), after: CONNECT })??;
                // What is said on it is the same as without TLS.
                builder.build_with_stream(place.to_string(), stream).await
            }
            _ => builder.build(url).await,
        };
        let wire = wire.map_err(|error| not_connected(url, error))?;
        Ok(Self::of(wire, url))
    }

    /// A client on a connection to a server that is open already.
    #[doc(hidden)]
    pub async fn on(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> Result<Self, Error> {
        // The address is only what stands in the request.
        let url = "ws://localhost";
        let wire = builder().build_with_stream(url, stream).await.map_err(|error| not_connected(url, error))?;
        Ok(Self::of(wire, url))
    }

    fn of(wire: WsClient, url: &str) -> Self {
        Self { wire: Arc::new(wire), host: host_of(url).into(), largest: Arc::default() }
    }

    /// The server as its address names it, without a port if that is the usual one.
    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// Calls `method`; `params` is serialised to an object (or an array) of parameters.
    ///
    /// If the future is dropped, the answer is lost, but the call may still be executed.
    pub async fn call<R: DeserializeOwned>(&self, method: &str, params: impl Serialize) -> Result<R, Error> {
        self.call_within(ANSWER, method, params).await
    }

    /// Like [`Client::call`], for a call that the server answers only after a while.
    pub async fn call_within<R: DeserializeOwned>(&self, limit: Duration, method: &str, params: impl Serialize) -> Result<R, Error> {
        let params = raw(method, params)?;
        self.check_size(method, params.0.get().len()).await?;
        match tokio::time::timeout(limit.min(LONGEST), self.wire.request(method, params)).await {
            Ok(answer) => answer.map_err(|error| self.failed(method, limit, error)),
            Err(_) => Err(Error::Timeout { method: method.to_owned(), after: limit }),
        }
    }

    /// Refuses a request that is too large for the server, whose answer could not tell to which call it belongs.
    async fn check_size(&self, method: &str, params: usize) -> Result<(), Error> {
        let size = params + method.len() + FRAME;
        if size <= LARGE {
            return Ok(());
        }
        let largest = self.largest.get_or_try_init(|| async {
            let answer = self.wire.request::<Value, _>("server_info", raw("server_info", json!({}))?);
            match tokio::time::timeout(ANSWER, answer).await {
                Ok(Ok(info)) => Ok(info["limits"]["request_bytes"].as_u64().and_then(|limit| usize::try_from(limit).ok())),
                Ok(Err(WireError::Call(_))) => Ok(None), // A server that does not say; it has to refuse by itself.
                Ok(Err(error)) => Err(self.failed("server_info", ANSWER, error)),
                Err(_) => Err(Error::Timeout { method: "server_info".to_owned(), after: ANSWER }),
            }
        });
        match *largest.await? {
            Some(limit) if size > limit => Err(Error::TooLarge { method: method.to_owned(), size, limit }),
            _ => Ok(()),
        }
    }

    /// How long to wait for the answer to a call for which the server waits up to `wait`.
    pub(crate) fn waiting(wait: Duration) -> Duration {
        wait.saturating_add(ANSWER)
    }

    /// Opens the subscription `subscribe_{topic}`. [`super::Follow`] is the reader that survives gaps.
    pub(crate) async fn subscribe<T: DeserializeOwned>(&self, topic: &str, params: impl Serialize) -> Result<Subscription<T>, Error> {
        let (open, close) = (format!("subscribe_{topic}"), format!("unsubscribe_{topic}"));
        let params = raw(&open, params)?;
        match tokio::time::timeout(ANSWER, self.wire.subscribe(&open, params, &close)).await {
            Ok(answer) => answer.map_err(|error| self.failed(&open, ANSWER, error)),
            Err(_) => Err(Error::Timeout { method: open, after: ANSWER }),
        }
    }

    /// Whether the connection is open, as far as this side knows.
    pub fn is_connected(&self) -> bool {
        self.wire.is_connected()
    }

    fn failed(&self, method: &str, limit: Duration, error: WireError) -> Error {
        match error {
            WireError::Call(object) => RpcError {
                code: object.code(),
                message: object.message().to_owned(),
                data: object.data().and_then(|data| tree(data.get()).ok()),
            }
            .into(),
            WireError::ParseError(source) => Error::Shape { method: method.to_owned(), source },
            WireError::RequestTimeout => Error::Timeout { method: method.to_owned(), after: limit },
            other => closed(&other),
        }
    }

    /// Why there is no connection any more.
    pub(crate) async fn why_closed(&self) -> Error {
        closed(&self.wire.on_disconnect().await)
    }
}

/// Why a connection has ended, as far as the server said.
fn closed(error: &WireError) -> Error {
    let end = match error {
        WireError::RestartNeeded(cause) => return closed(cause),
        WireError::Transport(cause) => cause.downcast_ref::<WsError>(),
        // The library says so of a message that it cannot read.
        WireError::Custom(strange) => return Error::Foreign(strange.clone()),
        _ => None,
    };
    match end {
        Some(WsError::Closed(end)) => {
            let why = end.descr.as_deref().unwrap_or_default();
            match (end.code, why) {
                why if why == LOGGED_OUT => Error::LoggedOut(why.1.to_owned()),
                (GOING_AWAY, _) => Error::Closed("it shuts down".to_owned()),
                (code, "") => Error::Closed(format!("it closed it with code {code}")),
                (code, why) => Error::Closed(format!("it closed it with code {code}: {why}")),
            }
        }
        _ => Error::Closed(error.to_string()),
    }
}

/// The host of an address, with its port if that is not the usual one, as it stands in requests.
fn host_of(url: &str) -> &str {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    if scheme == "unix" {
        return "localhost";
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let host = authority.rsplit('@').next().unwrap_or(authority);
    let usual = if scheme == "wss" { ":443" } else { ":80" };
    host.strip_suffix(usual).unwrap_or(host)
}

fn raw(method: &str, params: impl Serialize) -> Result<Params, Error> {
    let text = serde_json::to_string(&params).and_then(JsonRawValue::from_string);
    text.map(Params).map_err(|source| Error::Shape { method: method.to_owned(), source })
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
        _ => Error::Unreachable { url, reason: cause.to_string() },
    }
}
