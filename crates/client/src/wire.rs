use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jsonrpsee::client_transport::ws::WsError;
use jsonrpsee::core::JsonRawValue;
use jsonrpsee::core::client::{ClientT, Error as WireError, Subscription, SubscriptionClientT};
use jsonrpsee::core::traits::ToRpcParams;
use jsonrpsee::ws_client::WsClient;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use soketto::{base, connection};
use tokio::sync::OnceCell;

use super::calls::{Call, ServerInfo};
use super::error::{Error, RpcError};
use hero_model::api::{GOING_AWAY, LOGGED_OUT};
use hero_model::tree;

/// How long to wait for the answer to a call that does not wait for a job, if callers do not say.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum time of any call: an hour of waiting, and a little more.
pub(super) const MAX_CALL_TIME: Duration = Duration::from_secs(3700);
/// A request with more bytes than this is compared with the server's limit before it is sent.
const LARGE_REQUEST_BYTES: usize = 256 << 10;
/// The number of bytes of a request in addition to its method and parameters: the id, names and brackets.
const FRAME_BYTES: usize = 56;

/// One connection to a server, until it ends.
pub struct Wire {
    client: WsClient,
    /// Whether the server has answered anything on this connection.
    heard: AtomicBool,
    /// The maximum size of a request that the server accepts. It is read when it is first needed.
    largest: OnceCell<Option<usize>>,
}

/// The limit that is read from `server_info`.
#[derive(Deserialize)]
struct Info {
    #[serde(default)]
    limits: Limits,
}

#[derive(Default, Deserialize)]
struct Limits {
    request_bytes: Option<usize>,
}

/// Serialised parameters.
pub(super) struct Params(Box<JsonRawValue>);

impl Params {
    pub(super) fn of(method: &str, params: impl Serialize) -> Result<Self, Error> {
        let text = serde_json::to_string(&params).and_then(JsonRawValue::from_string);
        text.map(Self).map_err(|source| Error::shape(method, source))
    }

    pub(super) fn text(&self) -> &str {
        self.0.get()
    }
}

impl ToRpcParams for Params {
    fn to_rpc_params(self) -> Result<Option<Box<JsonRawValue>>, serde_json::Error> {
        Ok(Some(self.0))
    }
}

impl Wire {
    pub(super) fn new(client: WsClient) -> Self {
        Self { client, heard: AtomicBool::new(false), largest: OnceCell::new() }
    }

    pub(super) async fn call<R: DeserializeOwned>(&self, method: &str, params: Params, limit: Duration) -> Result<R, Error> {
        let answer = tokio::time::timeout(limit.min(MAX_CALL_TIME), self.client.request(method, params)).await;
        self.answered(method, limit, answer.unwrap_or(Err(WireError::RequestTimeout)))
    }

    pub(super) async fn ask<C: Call>(&self, call: &C, limit: Duration) -> Result<C::Output, Error> {
        self.call(C::NAME, Params::of(C::NAME, call)?, limit).await
    }

    /// Opens the subscription `subscribe_{topic}`.
    pub(super) async fn subscribe<T: DeserializeOwned>(
        &self,
        topic: &str,
        params: Params,
        limit: Duration,
    ) -> Result<Subscription<T>, Error> {
        let (open, close) = (format!("subscribe_{topic}"), format!("unsubscribe_{topic}"));
        let answer = tokio::time::timeout(limit, self.client.subscribe(&open, params, &close)).await;
        self.answered(&open, limit, answer.unwrap_or(Err(WireError::RequestTimeout)))
    }

    fn answered<R>(&self, method: &str, limit: Duration, answer: Result<R, WireError>) -> Result<R, Error> {
        let answer = answer.map_err(|error| match error {
            WireError::Call(object) => RpcError {
                code: object.code(),
                message: object.message().to_owned(),
                data: object.data().and_then(|data| tree(data.get()).ok()),
            }
            .into(),
            WireError::ParseError(source) => Error::shape(method, source),
            WireError::RequestTimeout => Error::Timeout { method: method.to_owned(), after: limit, keys: Vec::new() },
            other => ended(&other),
        });
        if matches!(answer, Ok(_) | Err(Error::Rpc(_) | Error::Shape { .. })) {
            self.heard.store(true, Ordering::Relaxed);
        }
        answer
    }

    /// Refuses a request that is too large for the server, whose answer could not tell to which call it belongs.
    pub(super) async fn check_size(&self, method: &str, params: &Params, limit: Duration) -> Result<(), Error> {
        let size = params.text().len() + method.len() + FRAME_BYTES;
        if size <= LARGE_REQUEST_BYTES {
            return Ok(());
        }
        let largest = self.largest.get_or_try_init(|| async {
            match self.call::<Info>(ServerInfo::NAME, Params::of(ServerInfo::NAME, ServerInfo {})?, limit).await {
                Ok(info) => Ok(info.limits.request_bytes),
                Err(Error::Rpc(_)) => Ok(None), // The server does not report its limit, so it has to refuse the request itself.
                Err(error) => Err(error),
            }
        });
        match *largest.await? {
            Some(limit) if size > limit => Err(Error::TooLarge { method: method.to_owned(), size, limit }),
            _ => Ok(()),
        }
    }

    /// True if the connection is open, as far as this side knows.
    pub fn is_connected(&self) -> bool {
        self.client.is_connected()
    }

    pub(super) fn has_heard(&self) -> bool {
        self.heard.load(Ordering::Relaxed)
    }

    /// Waits for the end of the connection, and returns its reason.
    pub async fn ended(&self) -> Error {
        ended(&self.client.on_disconnect().await)
    }
}

/// Returns the reason why a connection has ended, as far as the server gave one.
fn ended(error: &WireError) -> Error {
    let cause = match error {
        WireError::RestartNeeded(cause) => Arc::as_ref(cause),
        error => error,
    };
    match cause {
        // The library reports this for a message that it cannot read.
        WireError::Custom(strange) if matches!(error, WireError::RestartNeeded(_)) => Error::Foreign(strange.clone()),
        WireError::Transport(cause) => match cause.downcast_ref::<WsError>() {
            Some(WsError::Closed(end)) => {
                let why = end.descr.as_deref().unwrap_or_default();
                match (end.code, why) {
                    why if why == LOGGED_OUT => Error::LoggedOut { why: why.1.to_owned(), method: None, keys: Vec::new() },
                    (GOING_AWAY, _) => Error::Closed("it shuts down".to_owned()),
                    (code, "") => Error::Closed(format!("it closed it with code {code}")),
                    (code, why) => Error::Closed(format!("it closed it with code {code}: {why}")),
                }
            }
            Some(WsError::Connection(connection::Error::MessageTooLarge { current, maximum })) => {
                Error::AnswerTooLarge { size: *current as u64, limit: *maximum as u64 }
            }
            Some(WsError::Connection(connection::Error::Codec(base::Error::PayloadTooLarge { actual, maximum }))) => {
                Error::AnswerTooLarge { size: *actual, limit: *maximum }
            }
            _ => Error::Closed(cause.to_string()),
        },
        cause => Error::Closed(cause.to_string()),
    }
}
