//! A network of nodes that answer as those of Mycelium do, by REST and by JSON-RPC, as far as messages go.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio_util::task::AbortOnDropHandle;

/// Nodes that reach each other.
#[derive(Clone, Default)]
pub struct Network(Arc<Inner>);

#[derive(Default)]
struct Inner {
    /// What waits at each node, by its key.
    waiting: Mutex<BTreeMap<String, VecDeque<Value>>>,
    /// The replies to messages, by their ids.
    replies: Mutex<HashMap<String, Value>>,
    changed: Notify,
    /// Whether every second reply gets lost, and every third message comes twice.
    disturbed: AtomicBool,
    count: AtomicU64,
}

/// A node, as programs on its machine see it.
pub struct MyceliumNode {
    /// Its public key.
    pub key: String,
    address: SocketAddr,
    halted: Arc<AtomicBool>,
    _accepting: AbortOnDropHandle<()>,
}

impl Network {
    /// Has replies get lost, and messages come twice.
    pub fn disturb(&self, disturbed: bool) {
        self.0.disturbed.store(disturbed, Ordering::Relaxed);
    }

    /// A new node.
    pub async fn node(&self) -> MyceliumNode {
        let key = format!("{:0>64}", hero::model::JobId::random().as_str().replace('-', ""));
        self.0.waiting.lock().unwrap().insert(key.clone(), VecDeque::new());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, halted) = (listener.local_addr().unwrap(), Arc::new(AtomicBool::new(false)));
        let (network, own, is_halted) = (self.clone(), key.clone(), halted.clone());
        let accepting = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                if is_halted.load(Ordering::Relaxed) {
                    continue;
                }
                let (network, own) = (network.clone(), own.clone());
                // A client that goes away is its own affair.
                tokio::spawn(async move { drop(network.serve(&own, socket).await) });
            }
        });
        MyceliumNode { key, address, halted, _accepting: AbortOnDropHandle::new(accepting) }
    }

    async fn serve(&self, own: &str, socket: TcpStream) -> std::io::Result<()> {
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
        let (status, answer) = if path == "/" { (200, self.rpc(own, &body).await) } else { self.rest(own, method, path, &body).await };
        let text = if answer.is_null() { String::new() } else { answer.to_string() };
        let head = format!("HTTP/1.1 {status} Status\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", text.len());
        socket.write_all(format!("{head}{text}").as_bytes()).await?;
        socket.shutdown().await
    }

    async fn rest(&self, own: &str, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let given = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
        let seconds = |name| given(name).and_then(|seconds| seconds.parse().ok());
        match (method, path) {
            ("POST", "/api/v1/messages") => match self.push(own, body) {
                None => (400, json!("no such destination")),
                Some(id) => match seconds("reply_timeout") {
                    None => (201, json!({ "id": id })),
                    Some(wait) => self.reply_to(&id, wait).await.map_or((408, json!({ "id": id })), |reply| (200, reply)),
                },
            },
            ("GET", "/api/v1/messages") => {
                let topic = given("topic").map(|topic| topic.replace("%3D", "=").replace("%2B", "+").replace("%2F", "/"));
                self.pop(own, topic.as_deref(), seconds("timeout").unwrap_or(0)).await.map_or((204, Value::Null), |message| (200, message))
            }
            ("POST", path) => match path.strip_prefix("/api/v1/messages/reply/") {
                Some(id) => {
                    self.reply(own, id, body);
                    (204, Value::Null)
                }
                None => (404, Value::Null),
            },
            _ => (404, Value::Null),
        }
    }

    async fn rpc(&self, own: &str, call: &Value) -> Value {
        let params = &call["params"];
        let result = match call["method"].as_str().unwrap_or_default() {
            "pushMessage" => match self.push(own, &params[0]) {
                None => {
                    return json!({ "jsonrpc": "2.0", "id": call["id"], "error": { "code": -32015, "message": "does not know the destination" } });
                }
                Some(id) => match params[1].as_u64() {
                    Some(wait) => self.reply_to(&id, wait).await.unwrap_or_else(|| json!({ "id": id })),
                    None => json!({ "id": id }),
                },
            },
            "popMessage" => self.pop(own, params[2].as_str(), params[1].as_u64().unwrap_or(0)).await.unwrap_or_default(),
            "pushMessageReply" => {
                self.reply(own, params[0].as_str().unwrap_or_default(), &params[1]);
                json!(true)
            }
            method => return json!({ "jsonrpc": "2.0", "id": call["id"], "error": { "code": -32601, "message": method } }),
        };
        json!({ "jsonrpc": "2.0", "id": call["id"], "result": result })
    }

    fn push(&self, own: &str, message: &Value) -> Option<String> {
        let to = message["dst"]["pk"].as_str()?;
        let count = self.0.count.fetch_add(1, Ordering::Relaxed);
        let id = format!("{count:016x}");
        let inbound = json!({
            "id": id, "srcIp": "400::1", "srcPk": own, "dstIp": "400::2", "dstPk": to, "topic": message["topic"], "payload": message["payload"],
        });
        let mut waiting = self.0.waiting.lock().unwrap();
        let queue = waiting.get_mut(to)?;
        queue.push_back(inbound.clone());
        if self.0.disturbed.load(Ordering::Relaxed) && count.is_multiple_of(3) {
            queue.push_back(inbound);
        }
        drop(waiting);
        self.0.changed.notify_waiters();
        Some(id)
    }

    fn reply(&self, own: &str, id: &str, message: &Value) {
        if self.0.disturbed.load(Ordering::Relaxed) && self.0.count.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) {
            return;
        }
        let inbound = json!({ "id": id, "srcIp": "400::2", "srcPk": own, "dstIp": "400::1", "dstPk": "", "payload": message["payload"] });
        self.0.replies.lock().unwrap().insert(id.to_owned(), inbound);
        self.0.changed.notify_waiters();
    }

    /// What `look` gives within so many seconds.
    async fn within(&self, seconds: u64, look: impl Fn() -> Option<Value>) -> Option<Value> {
        let looking = async {
            loop {
                let changed = self.0.changed.notified();
                if let Some(found) = look() {
                    return found;
                }
                changed.await;
            }
        };
        // A test does not wait as long as a person may.
        tokio::time::timeout(Duration::from_secs(seconds.min(2)), looking).await.ok()
    }

    async fn reply_to(&self, id: &str, seconds: u64) -> Option<Value> {
        self.within(seconds, || self.0.replies.lock().unwrap().remove(id)).await
    }

    async fn pop(&self, own: &str, topic: Option<&str>, seconds: u64) -> Option<Value> {
        self.within(seconds, || {
            let mut waiting = self.0.waiting.lock().unwrap();
            let queue = waiting.get_mut(own)?;
            let at = queue.iter().position(|message| topic.is_none() || message["topic"].as_str() == topic)?;
            queue.remove(at)
        })
        .await
    }
}

impl MyceliumNode {
    /// Where programs reach it.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Has it answer nobody, or go on.
    pub fn halt(&self, halts: bool) {
        self.halted.store(halts, Ordering::Relaxed);
    }
}
