//! The API of a Mycelium node, as far as messages go: by REST and by JSON-RPC.

use std::net::Ipv6Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::bus::{BusError, LONGEST};

/// How long a connection to the node on this machine may take.
const CONNECT: Duration = Duration::from_secs(5);
/// What an answer takes besides what the node waits.
const SLACK: Duration = Duration::from_secs(10);
/// The longest topic, in bytes.
const LONGEST_TOPIC: usize = 255;
/// What the node may answer in all: an envelope in base64, with what stands round it.
const LONGEST_ANSWER: usize = LONGEST * 2;
/// The most bytes of a request, by REST and by JSON-RPC.
const MOST_OF_REST: usize = 2 << 20;
const MOST_OF_RPC: usize = 10 << 20;
/// What JSON-RPC says of a message that is not known.
const NO_MESSAGE: i64 = -32019;

/// Which interface of a Mycelium node is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// HTTP, normally at port 8989.
    Rest,
    /// JSON-RPC, normally at port 8990.
    JsonRpc,
}

/// A node, by its API.
pub(super) struct Node {
    client: Client,
    pub(super) url: String,
    api: Api,
    /// The topic of envelopes, in base64.
    topic: String,
    calls: AtomicU64,
}

/// A message as a node gives it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Inbound {
    pub(super) id: String,
    #[serde(default)]
    pub(super) src_ip: Option<Ipv6Addr>,
    pub(super) src_pk: String,
    /// In base64. Replies have none.
    #[serde(default)]
    topic: Option<String>,
    payload: String,
}

impl Inbound {
    /// Whether it is of a node, which has all addresses whose first half is the same.
    pub(super) fn is_from(&self, node: &str) -> bool {
        is_same(node, self.src_ip, &self.src_pk)
    }

    /// What it says, if that is a text.
    pub(super) fn text(&self) -> Option<String> {
        String::from_utf8(STANDARD.decode(&self.payload).ok()?).ok()
    }
}

/// Whether an address or a key is that of a node that has these. Where its address is not known, every one may be.
fn is_same(node: &str, ip: Option<Ipv6Addr>, key: &str) -> bool {
    match (node.parse::<Ipv6Addr>(), ip) {
        (Ok(node), Some(ip)) => node.segments()[..4] == ip.segments()[..4],
        (Ok(_), None) => true,
        (Err(_), _) => key.eq_ignore_ascii_case(node),
    }
}

/// What became of a message that a node was given.
pub(super) enum Pushed {
    /// A reply came in time.
    Reply(Inbound),
    /// None did. The node brings it on, by this id.
    Id(String),
}

/// Which messages are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    /// Envelopes.
    Topic,
    /// Those without a topic: replies for which nobody waits any more.
    NoTopic,
}

/// How far a message has come that a node was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Nobody has answered where it goes to.
    Pending,
    /// A part of it is there.
    Sending,
    /// The node there has it.
    Received,
    /// A program has fetched it there.
    Read,
    /// The node has given it up.
    Aborted,
    /// The node does not know it.
    Gone,
}

impl Node {
    pub(super) fn new(url: &str, api: Api, topic: &str) -> Result<Self, String> {
        if topic.is_empty() || topic.len() > LONGEST_TOPIC {
            return Err(format!("a topic has 1 to {LONGEST_TOPIC} bytes"));
        }
        let config = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
        let config = config.with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
        let mut roots = rustls::RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let client = Client::builder()
            .no_proxy()
            .redirect(Policy::none())
            .connect_timeout(CONNECT)
            .user_agent(concat!("hero/", env!("CARGO_PKG_VERSION")))
            .tls_backend_preconfigured(config.with_root_certificates(roots).with_no_client_auth())
            .build()
            .map_err(|error| error.to_string())?;
        let (url, topic) = (url.trim_end_matches('/').to_owned(), STANDARD.encode(topic));
        Ok(Self { client, url, api, topic, calls: AtomicU64::new(1) })
    }

    /// A message to a node, of this topic, as it is given to the node here. Refuses what is larger than that takes.
    pub(super) fn message(&self, to: &str, text: &str) -> Result<Value, BusError> {
        let dst = if to.contains(':') { json!({ "ip": to }) } else { json!({ "pk": to }) };
        let message = json!({ "dst": dst, "topic": self.topic, "payload": STANDARD.encode(text) });
        let (most, size) = (self.most(), message.to_string().len());
        // A call of JSON-RPC has a few more words.
        if size + 256 > most { Err(self.too_large(text.len())) } else { Ok(message) }
    }

    const fn most(&self) -> usize {
        match self.api {
            Api::Rest => MOST_OF_REST,
            Api::JsonRpc => MOST_OF_RPC,
        }
    }

    fn too_large(&self, size: usize) -> BusError {
        // Without the topic, the destination and the words round them, as base64.
        BusError::TooLarge { size, limit: ((self.most() - 256 - LONGEST_TOPIC * 2) / 4 * 3).min(LONGEST) }
    }

    /// Gives the node a message of so many bytes, and waits for a reply.
    pub(super) async fn push(&self, message: &Value, size: usize, wait: Duration) -> Result<Pushed, BusError> {
        let seconds = wait.as_secs().max(1);
        let answer = match self.api {
            Api::Rest => {
                let sent = self.client.post(format!("{}/api/v1/messages?reply_timeout={seconds}", self.url));
                let response = self.answered(sent.json_text(message).timeout(wait + SLACK)).await?;
                match response.status() {
                    StatusCode::OK | StatusCode::CREATED | StatusCode::REQUEST_TIMEOUT => read(response).await?,
                    StatusCode::PAYLOAD_TOO_LARGE => return Err(self.too_large(size)),
                    StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => {
                        let said = text(response).await.unwrap_or_default();
                        return Err(BusError::Unknown(format!("the Mycelium node does not take the message: {said}")));
                    }
                    status => return Err(BusError::Unreachable(format!("the Mycelium node answers {status}"))),
                }
            }
            Api::JsonRpc => self.call("pushMessage", json!([message, seconds]), wait, size).await?,
        };
        if answer.get("payload").is_some() {
            return Ok(Pushed::Reply(from(answer)?));
        }
        let id = answer["id"].as_str().filter(|id| id.len() <= 64 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        Ok(Pushed::Id(id.ok_or_else(|| BusError::Unreachable("the Mycelium node does not say what id a message has".into()))?.to_owned()))
    }

    /// Gives the oldest message, if one is there, and takes it out unless it is only to be seen. Never waits for one: a node holds its lock as long as
    /// somebody does that, and whoever else has something for it waits, too.
    pub(super) async fn take(&self, of: Of, only_sees: bool) -> Result<Option<Inbound>, BusError> {
        let topic = if of == Of::Topic { self.topic.as_str() } else { "" };
        let answer = match self.api {
            Api::Rest => {
                let topic = topic.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
                let peek = if only_sees { "peek=true&" } else { "" };
                let asked = self.client.get(format!("{}/api/v1/messages?{peek}topic={topic}", self.url));
                let response = self.answered(asked.timeout(SLACK)).await?;
                match response.status() {
                    StatusCode::OK => read(response).await?,
                    StatusCode::NO_CONTENT => Value::Null,
                    status => return Err(BusError::Unreachable(format!("the Mycelium node answers {status}"))),
                }
            }
            Api::JsonRpc => self.call("popMessage", json!([only_sees, 0, topic]), Duration::ZERO, 0).await?,
        };
        if answer.is_null() { Ok(None) } else { from(answer).map(Some) }
    }

    /// Which messages one is of, if it is of those that this program knows.
    pub(super) fn of(&self, message: &Inbound) -> Option<Of> {
        match message.topic.as_deref() {
            None | Some("") => Some(Of::NoTopic),
            Some(topic) => (topic == self.topic).then_some(Of::Topic),
        }
    }

    /// Replies to a message that came from a node.
    pub(super) async fn reply(&self, id: &str, to: &str, payload: &str) -> Result<(), BusError> {
        let message = json!({ "dst": { "pk": to }, "payload": STANDARD.encode(payload) });
        match self.api {
            Api::Rest => {
                let sent = self.client.post(format!("{}/api/v1/messages/reply/{id}", self.url));
                match self.answered(sent.json_text(&message).timeout(SLACK)).await?.status() {
                    status if status.is_success() => Ok(()),
                    status => Err(BusError::Unreachable(format!("the Mycelium node answers {status} to a reply"))),
                }
            }
            Api::JsonRpc => self.call("pushMessageReply", json!([id, message]), Duration::ZERO, payload.len()).await.map(drop),
        }
    }

    /// How far a message has come.
    pub(super) async fn state(&self, id: &str) -> Result<State, BusError> {
        let answer = match self.api {
            Api::Rest => {
                let response = self.answered(self.client.get(format!("{}/api/v1/messages/status/{id}", self.url)).timeout(SLACK)).await?;
                match response.status() {
                    StatusCode::OK => read(response).await?,
                    StatusCode::NOT_FOUND => return Ok(State::Gone),
                    status => return Err(BusError::Unreachable(format!("the Mycelium node answers {status}"))),
                }
            }
            Api::JsonRpc => match self.try_call("getMessageInfo", json!([id]), Duration::ZERO, 0).await? {
                Ok(answer) => answer,
                Err((NO_MESSAGE, _)) => return Ok(State::Gone),
                Err((code, said)) => return Err(refused("getMessageInfo", code, &said)),
            },
        };
        Ok(match &answer["state"] {
            Value::String(state) => match state.as_str() {
                "pending" => State::Pending,
                "received" => State::Received,
                "read" => State::Read,
                _ => State::Aborted,
            },
            _ => State::Sending,
        })
    }

    /// Whether an address or a key is that of this node itself.
    pub(super) async fn is_own(&self, node: &str) -> Result<bool, BusError> {
        let answer = match self.api {
            Api::Rest => read(self.answered(self.client.get(format!("{}/api/v1/admin", self.url)).timeout(SLACK)).await?).await?,
            Api::JsonRpc => self.call("getInfo", json!([]), Duration::ZERO, 0).await?,
        };
        let subnet = answer["nodeSubnet"].as_str().and_then(|subnet| subnet.split('/').next()?.parse().ok());
        // Where it does not say its address, none is taken for it.
        let none = Some(Ipv6Addr::UNSPECIFIED);
        Ok(is_same(node, subnet.or(none), answer["nodePubkey"].as_str().unwrap_or_default()))
    }

    /// Makes a call of JSON-RPC, with a message of so many bytes.
    async fn call(&self, method: &str, params: Value, wait: Duration, size: usize) -> Result<Value, BusError> {
        self.try_call(method, params, wait, size).await?.map_err(|(code, said)| refused(method, code, &said))
    }

    /// The same, of which the error is not read.
    async fn try_call(&self, method: &str, params: Value, wait: Duration, size: usize) -> Result<Result<Value, (i64, String)>, BusError> {
        let id = self.calls.fetch_add(1, Ordering::Relaxed);
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let response = self.answered(self.client.post(&self.url).json_text(&call).timeout(wait + SLACK)).await?;
        if response.status() == StatusCode::PAYLOAD_TOO_LARGE {
            return Err(self.too_large(size));
        }
        let mut answer: Value = read(response).await?;
        if let Some(error) = answer.get("error") {
            let said = error["message"].as_str().unwrap_or_default().to_owned();
            return Ok(Err((error["code"].as_i64().unwrap_or_default(), said)));
        }
        Ok(Ok(answer["result"].take()))
    }

    async fn answered(&self, request: RequestBuilder) -> Result<Response, BusError> {
        request.send().await.map_err(|error| {
            let error = error.without_url();
            let mut why: &dyn std::error::Error = &error;
            while let Some(source) = why.source() {
                why = source;
            }
            BusError::Unreachable(format!("the Mycelium node at {} cannot be reached: {why}", self.url))
        })
    }
}

/// What a node says to a call, as an error: it cannot be sent at all, or its topic is none; or it may be later.
fn refused(method: &str, code: i64, said: &str) -> BusError {
    let told = format!("the Mycelium node refuses {method}: {said} ({code})");
    if matches!(code, -32602 | -32013 | -32015) { BusError::Unknown(told) } else { BusError::Unreachable(told) }
}

/// Gives a request a body of JSON.
trait JsonText {
    fn json_text(self, value: &Value) -> Self;
}

impl JsonText for RequestBuilder {
    fn json_text(self, value: &Value) -> Self {
        self.header(reqwest::header::CONTENT_TYPE, "application/json").body(value.to_string())
    }
}

async fn text(mut response: Response) -> Result<String, BusError> {
    let broken = |error: reqwest::Error| BusError::Unreachable(format!("the Mycelium node broke off: {}", error.without_url()));
    let mut bytes = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(broken)? {
        if bytes.len() + piece.len() > LONGEST_ANSWER {
            return Err(BusError::Unreachable(format!("the Mycelium node answers with more than {LONGEST_ANSWER} bytes")));
        }
        bytes.extend_from_slice(&piece);
    }
    String::from_utf8(bytes).map_err(|_| BusError::Unreachable("the Mycelium node answers with something that is no text".into()))
}

fn unknown(error: &serde_json::Error) -> BusError {
    BusError::Unreachable(format!("the Mycelium node answers with something unknown: {error}"))
}

async fn read(response: Response) -> Result<Value, BusError> {
    serde_json::from_str(&text(response).await?).map_err(|error| unknown(&error))
}

fn from<T: for<'de> Deserialize<'de>>(value: Value) -> Result<T, BusError> {
    serde_json::from_value(value).map_err(|error| unknown(&error))
}
