//! The message API of a Mycelium node, by REST and by JSON-RPC.

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

use crate::bus::{BusError, MAX_ENVELOPE_BYTES};
use hero_model::tree;

/// Timeout for a connection to the node on this machine.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Extra time for an answer, in addition to the time that the node waits.
const EXTRA_ANSWER_TIME: Duration = Duration::from_secs(10);
/// Maximum length of a topic, in bytes.
const LONGEST_TOPIC: usize = 255;
/// Maximum size of an answer of the node: an envelope in base64, with its other fields.
const LONGEST_ANSWER: usize = MAX_ENVELOPE_BYTES * 2;
/// Maximum size of a request in bytes, by REST and by JSON-RPC.
const MAX_REST_REQUEST_BYTES: usize = 2 << 20;
const MAX_RPC_REQUEST_BYTES: usize = 10 << 20;
/// The error code of JSON-RPC for an unknown message.
const NO_MESSAGE: i64 = -32019;

/// The interface of a Mycelium node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// HTTP, normally at port 8989.
    Rest,
    /// JSON-RPC, normally at port 8990.
    JsonRpc,
}

/// A client of a node's API.
pub(super) struct MyceliumNode {
    client: Client,
    pub(super) url: String,
    api: Api,
    /// The topic of envelopes, in base64.
    topic: String,
    calls: AtomicU64,
}

/// A message from a node.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NodeMessage {
    pub(super) id: String,
    #[serde(default)]
    pub(super) src_ip: Option<Ipv6Addr>,
    pub(super) src_pk: String,
    /// In base64. Replies have none.
    #[serde(default)]
    topic: Option<String>,
    payload: String,
}

impl NodeMessage {
    /// True if it came from this node. A node has all addresses with the same first half.
    pub(super) fn is_from(&self, node: &str) -> bool {
        is_same(node, self.src_ip, &self.src_pk)
    }

    /// Returns its payload, if it is text.
    pub(super) fn text(&self) -> Option<String> {
        String::from_utf8(STANDARD.decode(&self.payload).ok()?).ok()
    }
}

/// True if an address or a key belongs to the node with this IP and key. If the IP of the node is unknown, every
/// address may.
fn is_same(node: &str, ip: Option<Ipv6Addr>, key: &str) -> bool {
    match (node.parse::<Ipv6Addr>(), ip) {
        (Ok(node), Some(ip)) => node.segments()[..4] == ip.segments()[..4],
        (Ok(_), None) => true,
        (Err(_), _) => key.eq_ignore_ascii_case(node),
    }
}

/// The result of giving a message to a node.
pub(super) enum Pushed {
    /// A reply came in time.
    Reply(NodeMessage),
    /// No reply came in time. The node continues to deliver the message under this id.
    Id(String),
}

/// The kind of messages to fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    /// Envelopes.
    Topic,
    /// Messages without a topic: replies that nobody waits for any more.
    NoTopic,
}

/// The state of a message at the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// The destination has not answered yet.
    Pending,
    /// The destination has a part of it.
    Sending,
    /// The destination has it.
    Received,
    /// A program there has fetched it.
    Read,
    /// The node has given up.
    Aborted,
    /// The node does not know it.
    Gone,
}

impl MyceliumNode {
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
            .connect_timeout(CONNECT_TIMEOUT)
            .user_agent(concat!("hero/", env!("CARGO_PKG_VERSION")))
            .tls_backend_preconfigured(config.with_root_certificates(roots).with_no_client_auth())
            .build()
            .map_err(|error| error.to_string())?;
        let (url, topic) = (url.trim_end_matches('/').to_owned(), STANDARD.encode(topic));
        Ok(Self { client, url, api, topic, calls: AtomicU64::new(1) })
    }

    /// Builds a message to a node, with this topic, for the API of the node here. Refuses a message that exceeds the
    /// API's limit.
    pub(super) fn message(&self, to: &str, text: &str) -> Result<Value, BusError> {
        let dst = if to.contains(':') { json!({ "ip": to }) } else { json!({ "pk": to }) };
        let message = json!({ "dst": dst, "topic": self.topic, "payload": STANDARD.encode(text) });
        let (most, size) = (self.most(), message.to_string().len());
        // A JSON-RPC call adds a few more words.
        if size + 256 > most { Err(self.too_large(text.len())) } else { Ok(message) }
    }

    const fn most(&self) -> usize {
        match self.api {
            Api::Rest => MAX_REST_REQUEST_BYTES,
            Api::JsonRpc => MAX_RPC_REQUEST_BYTES,
        }
    }

    fn too_large(&self, size: usize) -> BusError {
        // Without the topic, the destination and the other fields, decoded from base64.
        BusError::TooLarge { size, limit: ((self.most() - 256 - LONGEST_TOPIC * 2) / 4 * 3).min(MAX_ENVELOPE_BYTES) }
    }

    /// Gives the node a message of `size` bytes, and waits for a reply.
    pub(super) async fn push(&self, message: &Value, size: usize, wait: Duration) -> Result<Pushed, BusError> {
        let seconds = wait.as_secs().max(1);
        let answer = match self.api {
            Api::Rest => {
                let sent = self.client.post(format!("{}/api/v1/messages?reply_timeout={seconds}", self.url));
                let response = self.answered(sent.json_text(message).timeout(wait + EXTRA_ANSWER_TIME)).await?;
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
        Ok(Pushed::Id(id.ok_or_else(|| BusError::Unreachable("the Mycelium node did not return the id of a message".into()))?.to_owned()))
    }

    /// Returns the oldest message, if there is one, and removes it unless `only_sees` is true. It never waits for a
    /// message, because the node holds a lock while a client waits, and senders to the node wait, too.
    pub(super) async fn take(&self, of: Of, only_sees: bool) -> Result<Option<NodeMessage>, BusError> {
        let topic = if of == Of::Topic { self.topic.as_str() } else { "" };
        let answer = match self.api {
            Api::Rest => {
                let topic = topic.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
                let peek = if only_sees { "peek=true&" } else { "" };
                let asked = self.client.get(format!("{}/api/v1/messages?{peek}topic={topic}", self.url));
                let response = self.answered(asked.timeout(EXTRA_ANSWER_TIME)).await?;
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

    /// Returns the kind of a message, or `None` for messages of other programs.
    pub(super) fn of(&self, message: &NodeMessage) -> Option<Of> {
        match message.topic.as_deref() {
            None | Some("") => Some(Of::NoTopic),
            Some(topic) => (topic == self.topic).then_some(Of::Topic),
        }
    }

    /// Replies to a message from a node.
    pub(super) async fn reply(&self, id: &str, to: &str, payload: &str) -> Result<(), BusError> {
        let message = json!({ "dst": { "pk": to }, "payload": STANDARD.encode(payload) });
        match self.api {
            Api::Rest => {
                let sent = self.client.post(format!("{}/api/v1/messages/reply/{id}", self.url));
                match self.answered(sent.json_text(&message).timeout(EXTRA_ANSWER_TIME)).await?.status() {
                    status if status.is_success() => Ok(()),
                    status => Err(BusError::Unreachable(format!("the Mycelium node answers {status} to a reply"))),
                }
            }
            Api::JsonRpc => self.call("pushMessageReply", json!([id, message]), Duration::ZERO, payload.len()).await.map(drop),
        }
    }

    /// Returns the state of a message.
    pub(super) async fn state(&self, id: &str) -> Result<State, BusError> {
        let answer = match self.api {
            Api::Rest => {
                let response =
                    self.answered(self.client.get(format!("{}/api/v1/messages/status/{id}", self.url)).timeout(EXTRA_ANSWER_TIME)).await?;
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

    /// True if an address or a key is that of this node itself.
    pub(super) async fn is_own(&self, node: &str) -> Result<bool, BusError> {
        let answer = match self.api {
            Api::Rest => {
                read(self.answered(self.client.get(format!("{}/api/v1/admin", self.url)).timeout(EXTRA_ANSWER_TIME)).await?).await?
            }
            Api::JsonRpc => self.call("getInfo", json!([]), Duration::ZERO, 0).await?,
        };
        let subnet = answer["nodeSubnet"].as_str().and_then(|subnet| subnet.split('/').next()?.parse().ok());
        // If the node does not report its address, no address matches.
        let none = Some(Ipv6Addr::UNSPECIFIED);
        Ok(is_same(node, subnet.or(none), answer["nodePubkey"].as_str().unwrap_or_default()))
    }

    /// Makes a JSON-RPC call, with a message of `size` bytes.
    async fn call(&self, method: &str, params: Value, wait: Duration, size: usize) -> Result<Value, BusError> {
        self.try_call(method, params, wait, size).await?.map_err(|(code, said)| refused(method, code, &said))
    }

    /// Like [`Self::call`], but returns an error of the node as a value.
    async fn try_call(&self, method: &str, params: Value, wait: Duration, size: usize) -> Result<Result<Value, (i64, String)>, BusError> {
        let id = self.calls.fetch_add(1, Ordering::Relaxed);
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let response = self.answered(self.client.post(&self.url).json_text(&call).timeout(wait + EXTRA_ANSWER_TIME)).await?;
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

/// Converts the node's error for a call: some codes are permanent, because the message or its topic is invalid; others
/// are temporary.
fn refused(method: &str, code: i64, said: &str) -> BusError {
    let told = format!("the Mycelium node refuses {method}: {said} ({code})");
    if matches!(code, -32602 | -32013 | -32015) { BusError::Unknown(told) } else { BusError::Unreachable(told) }
}

/// Gives a request a JSON body.
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
    String::from_utf8(bytes).map_err(|_| BusError::Unreachable("the answer of the Mycelium node is not text".into()))
}

fn unknown(error: &serde_json::Error) -> BusError {
    BusError::Unreachable(format!("the answer of the Mycelium node cannot be read: {error}"))
}

async fn read(response: Response) -> Result<Value, BusError> {
    tree(&text(response).await?).map_err(|error| unknown(&error))
}

fn from<T: for<'de> Deserialize<'de>>(value: Value) -> Result<T, BusError> {
    serde_json::from_value(value).map_err(|error| unknown(&error))
}
