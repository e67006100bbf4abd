//! A network of fake nodes that handle messages as Mycelium v0.7.10 does, over REST and JSON-RPC.
//!
//! Each node has one lock, which a request for a message holds until a message arrives or the request times out. A node
//! accepts a message to an unknown node, and retries it for five minutes. A reply that no request waits for any more is
//! stored as a message without a topic. Messages that a node sends to itself never arrive.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, oneshot};
use tokio_util::task::AbortOnDropHandle;

/// The maximum size of a request in bytes, over REST and JSON-RPC.
const MAX_REST_REQUEST_BYTES: usize = 2 << 20;
const MAX_RPC_REQUEST_BYTES: usize = 10 << 20;
/// The time for which a message is sent again.
const SENT_FOR: Duration = Duration::from_secs(300);

/// Nodes that can reach each other.
#[derive(Clone, Default)]
pub struct Network(Arc<Inner>);

#[derive(Default)]
struct Inner {
    nodes: Mutex<BTreeMap<String, Arc<State>>>,
    /// Whether every second reply is lost, and every third message arrives twice.
    disturbed: AtomicBool,
    count: AtomicU64,
}

/// The state of a node.
#[derive(Default)]
struct State {
    key: String,
    ip: String,
    /// Held by each call. A call that asks for a message holds it while it waits.
    lock: tokio::sync::Mutex<()>,
    inbox: Mutex<VecDeque<Value>>,
    came: Notify,
    /// The requests that wait for the reply to a message.
    waiting: Mutex<HashMap<String, oneshot::Sender<Value>>>,
    /// The messages sent from here, by id. A reply has the id of the message that it answers, and a mark.
    sent: Mutex<BTreeMap<String, Sent>>,
    halted: AtomicBool,
    asked: Mutex<Vec<String>>,
    /// The maximum size of a request in bytes, if it is below the limit of a real node.
    most: Mutex<Option<usize>>,
}

/// A message in transit or delivered.
struct Sent {
    to: String,
    message: Value,
    since: Instant,
    state: &'static str,
}

/// A node, as programs on its machine see it.
pub struct MyceliumNode {
    /// Its public key.
    pub key: String,
    /// Its address in the overlay network.
    pub ip: String,
    address: SocketAddr,
    network: Network,
    state: Arc<State>,
    _accepting: AbortOnDropHandle<()>,
}

impl Network {
    /// Makes replies get lost, and messages arrive twice.
    pub fn disturb(&self, disturbed: bool) {
        self.0.disturbed.store(disturbed, Ordering::Relaxed);
    }

    /// A new node.
    pub async fn node(&self) -> MyceliumNode {
        self.node_of(&format!("{:0>64}", hero::model::JobId::random().as_str().replace('-', ""))).await
    }

    /// A new node with this key.
    pub async fn node_of(&self, key: &str) -> MyceliumNode {
        let ip = format!("4{}:{}:{}:{}:1::1", &key[48..51], &key[52..56], &key[56..60], &key[60..64]);
        let ip = ip.parse::<std::net::Ipv6Addr>().unwrap().to_string();
        let state = Arc::new(State { key: key.to_owned(), ip, ..State::default() });
        self.0.nodes.lock().unwrap().insert(key.to_owned(), Arc::clone(&state));
        self.send_again();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (network, own) = (self.clone(), Arc::clone(&state));
        let accepting = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                if own.halted.load(Ordering::Relaxed) {
                    continue;
                }
                let (network, own) = (network.clone(), Arc::clone(&own));
                // A client that disconnects is no error here.
                tokio::spawn(async move { drop(network.serve(&own, socket).await) });
            }
        });
        let (key, ip) = (key.to_owned(), state.ip.clone());
        MyceliumNode { key, ip, address, network: self.clone(), state, _accepting: AbortOnDropHandle::new(accepting) }
    }

    async fn serve(&self, own: &State, socket: TcpStream) -> std::io::Result<()> {
        let mut socket = BufReader::new(socket);
        let (mut head, mut length) = (String::new(), 0);
        while socket.read_line(&mut head).await? > 2 {
            let last = head.lines().next_back().unwrap_or_default().to_lowercase();
            length = last.strip_prefix("content-length: ").map_or(length, |length| length.parse().unwrap());
        }
        let mut body = vec![0; length];
        socket.read_exact(&mut body).await?;
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let mut words = head.split(' ');
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let most = *own.most.lock().unwrap();
        let answering = async {
            if path == "/" {
                own.asked.lock().unwrap().push(format!("{} {}", body["method"].as_str().unwrap_or_default(), body["params"]));
                if length > most.unwrap_or(MAX_RPC_REQUEST_BYTES) { (413, Value::Null) } else { (200, self.rpc(own, &body).await) }
            } else {
                own.asked.lock().unwrap().push(format!("{method} {path}"));
                if length > most.unwrap_or(MAX_REST_REQUEST_BYTES) {
                    (413, json!("length limit exceeded"))
                } else {
                    self.rest(own, method, path, &body).await
                }
            }
        };
        // A client that disconnects stops waiting.
        let (status, answer) = tokio::select! {
            answer = answering => answer,
            _ = socket.fill_buf() => return Ok(()),
        };
        let text = if answer.is_null() { String::new() } else { answer.to_string() };
        let head = format!("HTTP/1.1 {status} Status\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", text.len());
        socket.write_all(format!("{head}{text}").as_bytes()).await?;
        socket.shutdown().await
    }

    async fn rest(&self, own: &State, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let given = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
        let seconds = |name| given(name).and_then(|seconds| seconds.parse().ok());
        match (method, path.strip_prefix("/api/v1").unwrap_or_default()) {
            ("GET", "/admin") => (200, own.info()),
            ("POST", "/messages") => {
                let (id, reply) = self.push(own, body).await;
                match seconds("reply_timeout") {
                    None => (201, json!({ "id": id })),
                    Some(wait) => within(wait, reply).await.map_or((408, json!({ "id": id })), |reply| (200, reply)),
                }
            }
            ("GET", "/messages") => {
                let topic = given("topic").map(|topic| topic.replace("%3D", "=").replace("%2B", "+").replace("%2F", "/"));
                let (peeks, wait) = (given("peek") == Some("true"), seconds("timeout").unwrap_or(0));
                self.take(own, topic.as_deref(), peeks, wait).await.map_or((204, Value::Null), |message| (200, message))
            }
            ("GET", path) => {
                let sent = path.strip_prefix("/messages/status/").map(|id| own.status(id));
                sent.flatten().map_or((404, Value::Null), |status| (200, status))
            }
            ("POST", path) => match path.strip_prefix("/messages/reply/") {
                Some(id) => {
                    self.reply(own, id, body).await;
                    (204, Value::Null)
                }
                None => (404, Value::Null),
            },
            _ => (404, Value::Null),
        }
    }

    async fn rpc(&self, own: &State, call: &Value) -> Value {
        let params = &call["params"];
        let text = |at: usize| params[at].as_str().unwrap_or_default();
        let error = |code: i64, message: &str| json!({ "jsonrpc": "2.0", "id": call["id"], "error": { "code": code, "message": message } });
        let result = match call["method"].as_str().unwrap_or_default() {
            "getInfo" => own.info(),
            "pushMessage" => {
                let (id, reply) = self.push(own, &params[0]).await;
                let reply = match params[1].as_u64() {
                    Some(wait) => within(wait, reply).await,
                    None => None,
                };
                reply.unwrap_or_else(|| json!({ "id": id }))
            }
            "popMessage" => {
                let (peeks, wait) = (params[0] == json!(true), params[1].as_u64().unwrap_or(0));
                self.take(own, params[2].as_str(), peeks, wait).await.unwrap_or_default()
            }
            "pushMessageReply" => {
                self.reply(own, text(0), &params[1]).await;
                json!(true)
            }
            "getMessageInfo" => match own.status(text(0)) {
                Some(status) => status,
                None => return error(-32019, "Server error"),
            },
            method => return error(-32601, method),
        };
        json!({ "jsonrpc": "2.0", "id": call["id"], "result": result })
    }

    /// The key of a destination.
    fn key_of(&self, dst: &Value) -> String {
        if let Some(key) = dst["pk"].as_str() {
            return key.to_owned();
        }
        let ip = dst["ip"].as_str().unwrap_or_default();
        let nodes = self.0.nodes.lock().unwrap();
        nodes.values().find(|node| node.ip == ip).map_or_else(|| ip.to_owned(), |node| node.key.clone())
    }

    /// Accepts a message to any destination. Returns its id, and the channel of its reply.
    async fn push(&self, own: &State, message: &Value) -> (String, oneshot::Receiver<Value>) {
        let _locked = own.lock.lock().await;
        let count = self.0.count.fetch_add(1, Ordering::Relaxed);
        let (id, to) = (format!("{count:016x}"), self.key_of(&message["dst"]));
        let (replied, reply) = oneshot::channel();
        own.waiting.lock().unwrap().insert(id.clone(), replied);
        let inbound = json!({ "id": id, "srcIp": own.ip, "srcPk": own.key, "topic": message["topic"], "payload": message["payload"] });
        own.send(&id, to, inbound);
        self.send_again();
        (id, reply)
    }

    async fn reply(&self, own: &State, id: &str, message: &Value) {
        let _locked = own.lock.lock().await;
        if self.0.disturbed.load(Ordering::Relaxed) && self.0.count.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) {
            return;
        }
        let inbound = json!({ "id": id, "srcIp": own.ip, "srcPk": own.key, "payload": message["payload"], "isReply": true });
        own.send(&format!("{id}-reply"), self.key_of(&message["dst"]), inbound);
        self.send_again();
    }

    /// Delivers the messages in transit between nodes that are present.
    fn send_again(&self) {
        let nodes: Vec<Arc<State>> = self.0.nodes.lock().unwrap().values().cloned().collect();
        let disturbed = self.0.disturbed.load(Ordering::Relaxed);
        for (at, node) in nodes.iter().enumerate() {
            let mut sent = node.sent.lock().unwrap();
            for one in sent.values_mut().filter(|one| one.is_on_its_way()) {
                let there = nodes.iter().enumerate().find(|(place, there)| *place != at && there.key == one.to);
                let Some((_, there)) = there.filter(|(_, there)| !there.is_halted() && !node.is_halted()) else { continue };
                one.state = "received";
                let is_twice = disturbed && self.0.count.load(Ordering::Relaxed).is_multiple_of(3);
                there.receive(one.message.clone(), is_twice);
            }
        }
    }

    /// Returns a message, and tells its sender that it was read.
    async fn take(&self, own: &State, topic: Option<&str>, peeks: bool, seconds: u64) -> Option<Value> {
        let found = {
            let _locked = own.lock.lock().await;
            let looking = async {
                loop {
                    let came = own.came.notified();
                    if let Some(found) = own.look(topic, peeks) {
                        return found;
                    }
                    came.await;
                }
            };
            tokio::time::timeout(Duration::from_secs(seconds), looking).await.ok()?
        };
        let text = |name: &str| found[name].as_str().unwrap_or_default();
        let sender = self.0.nodes.lock().unwrap().get(text("srcPk")).cloned();
        if let Some(sender) = sender
            && let Some(one) = sender.sent.lock().unwrap().get_mut(text("id"))
        {
            one.state = "read";
        }
        Some(found)
    }
}

/// Returns what arrives within this number of seconds.
async fn within(seconds: u64, coming: oneshot::Receiver<Value>) -> Option<Value> {
    tokio::time::timeout(Duration::from_secs(seconds), coming).await.ok()?.ok()
}

impl Sent {
    fn is_on_its_way(&self) -> bool {
        self.state == "pending" && self.since.elapsed() < SENT_FOR
    }
}

impl State {
    fn info(&self) -> Value {
        json!({ "nodeSubnet": format!("{}/64", self.ip), "nodeIp": self.ip, "nodePubkey": self.key, "nodeStartTime": 0 })
    }

    fn is_halted(&self) -> bool {
        self.halted.load(Ordering::Relaxed)
    }

    fn send(&self, id: &str, to: String, message: Value) {
        self.sent.lock().unwrap().insert(id.to_owned(), Sent { to, message, since: Instant::now(), state: "pending" });
    }

    fn status(&self, id: &str) -> Option<Value> {
        let sent = self.sent.lock().unwrap();
        let one = sent.get(id)?;
        let state = if one.state == "pending" && !one.is_on_its_way() { "aborted" } else { one.state };
        Some(json!({ "dst": "400::", "state": state, "created": 0, "deadline": 300, "msgLen": 1 }))
    }

    /// Accepts an arrival: passes it to the request that waits for it, or stores it with the messages.
    fn receive(&self, mut message: Value, is_twice: bool) {
        let id = message["id"].as_str().unwrap_or_default().to_owned();
        let is_reply = message.as_object_mut().is_some_and(|message| message.remove("isReply").is_some());
        let waiting = is_reply.then(|| self.waiting.lock().unwrap().remove(&id)).flatten();
        let left = match waiting {
            Some(waiting) => waiting.send(message).err(),
            None => Some(message),
        };
        if let Some(message) = left {
            let mut inbox = self.inbox.lock().unwrap();
            inbox.extend(std::iter::repeat_n(message, if is_twice && !is_reply { 2 } else { 1 }));
        }
        self.came.notify_waiters();
    }

    /// The first message with a topic. The empty topic selects messages without one.
    fn look(&self, topic: Option<&str>, peeks: bool) -> Option<Value> {
        let mut inbox = self.inbox.lock().unwrap();
        let at = inbox.iter().position(|message| topic.is_none_or(|topic| message["topic"].as_str().unwrap_or_default() == topic))?;
        if peeks { inbox.get(at).cloned() } else { inbox.remove(at) }
    }
}

impl MyceliumNode {
    /// The address for programs.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Makes it answer nobody, neither here nor in the network, or continue.
    pub fn halt(&self, halts: bool) {
        self.state.halted.store(halts, Ordering::Relaxed);
        self.network.send_again();
    }

    /// The requests to it, each as `GET /api/v1/messages?…` or as the method and its parameters.
    pub fn asked(&self) -> Vec<String> {
        self.state.asked.lock().unwrap().clone()
    }

    /// Makes it accept smaller requests only.
    pub fn takes(&self, most: usize) {
        *self.state.most.lock().unwrap() = Some(most);
    }

    /// The number of messages, of any topic, that were not fetched.
    pub fn lie(&self) -> usize {
        self.state.inbox.lock().unwrap().len()
    }

    /// Adds a message without a topic.
    pub fn put(&self, id: &str, payload: &str) {
        self.state.receive(json!({ "id": id, "srcIp": "400::", "srcPk": "ee".repeat(32), "payload": payload }), false);
    }
}
