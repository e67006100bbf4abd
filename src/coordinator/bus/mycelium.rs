use std::net::Ipv6Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::BoxFuture;
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Bus, BusError, LONGEST, Parcel, bounded, pass_over, written};
use crate::coordinator::letter::Letter;
use crate::coordinator::receipt::{NoReceipt, Receipt};
use crate::model::SignerKey;

/// How long a connection to the node on this machine may take.
const CONNECT: Duration = Duration::from_secs(5);
/// What an answer takes besides what the node waits.
const SLACK: Duration = Duration::from_secs(10);
/// The longest topic, in bytes.
const LONGEST_TOPIC: usize = 255;
/// What the node may answer in all: a letter in base64, with what stands round it.
const LONGEST_ANSWER: usize = LONGEST * 2;

/// Which interface of a Mycelium node is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// HTTP, normally at port 8989.
    Rest,
    /// JSON-RPC, normally at port 8990.
    JsonRpc,
}

/// The bus of a Mycelium node: it carries letters through its overlay network, encrypted, to the node that has an address or a key.
pub struct Mycelium {
    client: Client,
    url: String,
    api: Api,
    topic: String,
    calls: AtomicU64,
}

/// A message as a node gives it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Inbound {
    id: String,
    #[serde(default)]
    src_ip: Option<Ipv6Addr>,
    src_pk: String,
    payload: String,
}

impl Inbound {
    /// Whether it is of a node, which has all addresses whose first half is the same.
    fn is_from(&self, node: &str) -> bool {
        match (node.parse::<Ipv6Addr>(), self.src_ip) {
            (Ok(ip), Some(is)) => ip.segments()[..4] == is.segments()[..4],
            (Ok(_), None) => true,
            (Err(_), _) => self.src_pk.eq_ignore_ascii_case(node),
        }
    }
}

impl Mycelium {
    /// The node at a URL. Letters have a topic, so that other programs can use the node, too.
    pub fn new(url: &str, api: Api, topic: &str) -> Result<Self, String> {
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

    /// Sends a message, and gives what came back within a time, if anything did.
    async fn push(&self, to: &str, payload: &str, wait: Duration) -> Result<Option<Inbound>, BusError> {
        let dst = if to.contains(':') { json!({ "ip": to }) } else { json!({ "pk": to }) };
        let message = json!({ "dst": dst, "topic": self.topic, "payload": STANDARD.encode(payload) });
        let seconds = wait.as_secs().max(1);
        match self.api {
            Api::Rest => {
                let sent = self.client.post(format!("{}/api/v1/messages?reply_timeout={seconds}", self.url));
                let response = self.answered(sent.json_text(&message).timeout(wait + SLACK)).await?;
                match response.status() {
                    StatusCode::OK => Ok(Some(read(response).await?)),
                    StatusCode::CREATED | StatusCode::REQUEST_TIMEOUT => Ok(None),
                    StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND | StatusCode::UNPROCESSABLE_ENTITY => {
                        let said = text(response).await.unwrap_or_default();
                        Err(BusError::Unknown(format!("the Mycelium node does not know {to}, or does not take the message: {said}")))
                    }
                    status => Err(BusError::Unreachable(format!("the Mycelium node answers {status}"))),
                }
            }
            Api::JsonRpc => {
                let answer = self.call("pushMessage", json!([message, seconds]), wait).await?;
                // Without an answer in time, it gives the id alone.
                Ok(serde_json::from_value(answer).ok())
            }
        }
    }

    async fn pop(&self, wait: Duration) -> Result<Option<Inbound>, BusError> {
        let seconds = wait.as_secs().max(1);
        match self.api {
            Api::Rest => {
                let topic = self.topic.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
                let asked = self.client.get(format!("{}/api/v1/messages?timeout={seconds}&topic={topic}", self.url));
                let response = self.answered(asked.timeout(wait + SLACK)).await?;
                match response.status() {
                    StatusCode::OK => Ok(Some(read(response).await?)),
                    StatusCode::NO_CONTENT => Ok(None),
                    status => Err(BusError::Unreachable(format!("the Mycelium node answers {status}"))),
                }
            }
            Api::JsonRpc => {
                let answer = self.call("popMessage", json!([false, seconds, self.topic]), wait).await?;
                Ok(serde_json::from_value(answer).ok())
            }
        }
    }

    async fn reply(&self, parcel: &Parcel, payload: &str) -> Result<(), BusError> {
        let to = parcel.from.as_deref().unwrap_or_default();
        let message = json!({ "dst": { "pk": to }, "topic": self.topic, "payload": STANDARD.encode(payload) });
        match self.api {
            Api::Rest => {
                let sent = self.client.post(format!("{}/api/v1/messages/reply/{}", self.url, parcel.id));
                let response = self.answered(sent.json_text(&message).timeout(SLACK)).await?;
                match response.status() {
                    status if status.is_success() => Ok(()),
                    status => Err(BusError::Unreachable(format!("the Mycelium node answers {status} to a reply"))),
                }
            }
            Api::JsonRpc => self.call("pushMessageReply", json!([parcel.id, message]), Duration::ZERO).await.map(drop),
        }
    }

    /// Makes a call of JSON-RPC.
    async fn call(&self, method: &str, params: Value, wait: Duration) -> Result<Value, BusError> {
        let id = self.calls.fetch_add(1, Ordering::Relaxed);
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let response = self.answered(self.client.post(&self.url).json_text(&call).timeout(wait + SLACK)).await?;
        let mut answer: Value = read(response).await?;
        if let Some(error) = answer.get("error") {
            let (code, said) = (error["code"].as_i64().unwrap_or_default(), error["message"].as_str().unwrap_or_default());
            let told = format!("the Mycelium node refuses {method}: {said} ({code})");
            // It cannot be sent at all, or its topic is none.
            return Err(if matches!(code, -32602 | -32013 | -32015) { BusError::Unknown(told) } else { BusError::Unreachable(told) });
        }
        Ok(answer["result"].take())
    }

    async fn answered(&self, request: reqwest::RequestBuilder) -> Result<Response, BusError> {
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

/// Gives a request a body of JSON.
trait JsonText {
    fn json_text(self, value: &Value) -> Self;
}

impl JsonText for reqwest::RequestBuilder {
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

async fn read<T: for<'de> Deserialize<'de>>(response: Response) -> Result<T, BusError> {
    let text = text(response).await?;
    serde_json::from_str(&text).map_err(|error| BusError::Unreachable(format!("the Mycelium node answers with something unknown: {error}")))
}

/// What is in a message of a node.
fn payload(message: &Inbound) -> Option<String> {
    String::from_utf8(STANDARD.decode(&message.payload).ok()?).ok()
}

impl Bus for Mycelium {
    fn deliver<'a>(
        &'a self,
        to: &'a str,
        letter: &'a Letter,
        receiver: Option<&'a SignerKey>,
        patience: Duration,
    ) -> BoxFuture<'a, Result<Receipt, BusError>> {
        Box::pin(async move {
            let reply = self.push(to, &written(letter)?, patience).await?.ok_or(BusError::Silent)?;
            let receipt = if reply.is_from(to) {
                Receipt::read(&payload(&reply).unwrap_or_default(), letter, receiver)
            } else {
                Err(NoReceipt::Elsewhere(reply.src_pk))
            };
            receipt.map_err(|why| {
                if why != NoReceipt::Earlier {
                    pass_over(letter, &why);
                }
                BusError::Silent
            })
        })
    }

    fn receive(&self, wait: Duration) -> BoxFuture<'_, Result<Vec<Parcel>, BusError>> {
        Box::pin(async move {
            let Some(message) = self.pop(wait).await? else { return Ok(Vec::new()) };
            let letter = bounded(payload(&message).unwrap_or_default());
            Ok(vec![Parcel { id: message.id, from: Some(message.src_pk), letter }])
        })
    }

    fn answer<'a>(&'a self, parcel: &'a Parcel, receipt: &'a Receipt) -> BoxFuture<'a, Result<(), BusError>> {
        Box::pin(async move {
            let text = serde_json::to_string(receipt).expect("a receipt is texts and numbers");
            self.reply(parcel, &text).await
        })
    }
}
