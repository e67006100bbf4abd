//! A real server in this process, and clients that send it raw frames.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use futures_util::stream::SplitStream;
use futures_util::{SinkExt, StreamExt};
use hero::access::{Authority, TokenKey};
use hero::audit::Audit;
use hero::coordinator::{Messages, Runners, Wakes};
use hero::dispatch::Dispatcher;
use hero::model::{ServerId, Timestamp};
use hero::rpc::{Access, App, Guard, Limits, Probes, ServerDetails, ServerSettings, Tls, serve};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{House, PATIENCE};

/// The wire protocol in front of a dispatcher, as in `hero serve`.
pub struct Server {
    pub address: SocketAddr,
    /// Ends the server with this.
    _shutdown: DropGuard,
}

impl Server {
    /// A server for the jobs of a house.
    pub async fn of(house: &House) -> Self {
        Self::over(&house.dispatcher).await
    }

    /// A server over any dispatcher.
    pub async fn over(dispatcher: &Dispatcher) -> Self {
        Self::within(dispatcher, Limits::default()).await
    }

    /// A server with its own limits.
    pub async fn within(dispatcher: &Dispatcher, limits: Limits) -> Self {
        let authority = Authority::new(dispatcher.contexts().stores(), TokenKey::random());
        Self::start(dispatcher, authority, limits, Access::Open, None).await
    }

    /// A server that requires a login. This process has the authority.
    pub async fn guarded(dispatcher: &Dispatcher) -> (Self, Authority) {
        Self::guarded_with(dispatcher, TokenKey::random()).await
    }

    /// The same, with this token key.
    pub async fn guarded_with(dispatcher: &Dispatcher, key: TokenKey) -> (Self, Authority) {
        Self::guarded_within(dispatcher, key, Limits::default()).await
    }

    /// The same, with its own limits.
    pub async fn guarded_within(dispatcher: &Dispatcher, key: TokenKey, limits: Limits) -> (Self, Authority) {
        let authority = Authority::new(dispatcher.contexts().stores(), key);
        authority.follow().await.unwrap();
        let access = Access::Login(Guard::new(authority.clone(), dispatcher.clone()));
        (Self::start(dispatcher, authority.clone(), limits, access, None).await, authority)
    }

    /// A server with an audit log, with or without a required login.
    pub async fn audited(dispatcher: &Dispatcher, audit: Audit, login: bool) -> (Self, Authority) {
        let authority = Authority::new(dispatcher.contexts().stores(), TokenKey::random());
        authority.follow().await.unwrap();
        let access = if login { Access::Login(Guard::new(authority.clone(), dispatcher.clone())) } else { Access::Open };
        let settings = ServerSettings { audit, access, ..ServerSettings::default() };
        (Self::with(dispatcher, authority.clone(), Limits::default(), settings).await, authority)
    }

    /// A server with TLS, and with its own limits.
    pub async fn encrypted(dispatcher: &Dispatcher, limits: Limits, tls: &Tls) -> Self {
        let authority = Authority::new(dispatcher.contexts().stores(), TokenKey::random());
        Self::start(dispatcher, authority, limits, Access::Open, Some(tls.clone())).await
    }

    async fn start(dispatcher: &Dispatcher, authority: Authority, limits: Limits, access: Access, tls: Option<Tls>) -> Self {
        Self::with(dispatcher, authority, limits, ServerSettings { access, tls, ..ServerSettings::default() }).await
    }

    async fn with(dispatcher: &Dispatcher, authority: Authority, limits: Limits, settings: ServerSettings) -> Self {
        let details = ServerDetails {
            server_id: ServerId::new().to_string(),
            started_at: Timestamp::local(),
            started: Instant::now(),
            listen: Vec::new(),
            contexts: dispatcher.contexts().ids(),
            node_key: None,
            pools: Vec::new(),
            limits: limits.clone(),
        };
        let probes = Probes { readiness: Arc::new(|| Box::pin(async { Ok(Vec::new()) })), metrics: Arc::new(String::new) };
        let (runners, messages) = (Runners::new(dispatcher.clone()), Messages::new(dispatcher.clone(), Wakes::default()));
        let app = App {
            dispatcher: dispatcher.clone(),
            authority,
            runners,
            messages,
            probes,
            details: Arc::new(details),
            drain: Arc::new(|_| 0),
        };
        // The name without a port, as behind a proxy.
        let allowed_hosts = vec!["localhost".to_owned()];
        let assistants = Some(hero::mcp::assistants());
        let settings = ServerSettings { listen: vec![([127, 0, 0, 1], 0).into()], limits, allowed_hosts, assistants, ..settings };
        let shutdown = CancellationToken::new();
        let serving = serve(settings, app, shutdown.clone()).await.unwrap();
        Self { address: serving.local_addr(), _shutdown: shutdown.drop_guard() }
    }

    /// The URL for WebSockets.
    pub fn url(&self) -> String {
        format!("ws://{}/", self.address)
    }

    /// Opens a WebSocket connection.
    pub async fn connect(&self) -> Client {
        Client::connect(&self.url()).await
    }

    /// Posts a body to `/`. Returns the status and answer.
    pub async fn post(&self, body: &str) -> (u16, String) {
        self.post_at("localhost", body).await
    }

    /// The same with a host name of the server.
    pub async fn post_at(&self, host: &str, body: &str) -> (u16, String) {
        let head = format!("POST / HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length: {}", body.len());
        http(&self.address.to_string(), host, &head, body).await
    }

    /// The same with an `Authorization` header.
    pub async fn post_with(&self, authorization: &str, body: &str) -> (u16, String) {
        let head = format!(
            "POST / HTTP/1.1\r\ncontent-type: application/json\r\nauthorization: {authorization}\r\ncontent-length: {}",
            body.len()
        );
        http(&self.address.to_string(), "localhost", &head, body).await
    }

    /// Requests a path with a host name of the server.
    pub async fn get_at(&self, host: &str, path: &str) -> (u16, String) {
        http(&self.address.to_string(), host, &format!("GET {path} HTTP/1.1"), "").await
    }

    pub async fn get(&self, path: &str) -> (u16, String) {
        get(&self.address.to_string(), path).await
    }
}

/// Requests a path. Returns the status and body.
pub async fn get(address: &str, path: &str) -> (u16, String) {
    http(address, "localhost", &format!("GET {path} HTTP/1.1"), "").await
}

async fn http(address: &str, host: &str, head: &str, body: &str) -> (u16, String) {
    let (head, body) = request(address, host, head, body).await;
    (head[9..12].parse().unwrap(), String::from_utf8(body).unwrap())
}

/// Sends a request. Returns the head, with names in lower case, and the body.
pub async fn request(address: &str, host: &str, head: &str, body: &str) -> (String, Vec<u8>) {
    let mut tcp = TcpStream::connect(address).await.unwrap();
    tcp.write_all(format!("{head}\r\nhost: {host}\r\nconnection: close\r\n\r\n{body}").as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    tokio::time::timeout(PATIENCE, tcp.read_to_end(&mut answer)).await.expect("an answer").unwrap();
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or_else(|| panic!("no HTTP: {answer:?}"));
    (String::from_utf8(answer[..end + 2].to_vec()).unwrap(), answer.split_off(end + 4))
}

/// An error object.
#[derive(Debug, Clone, PartialEq)]
pub struct CallError {
    pub code: i64,
    pub message: String,
    pub data: Value,
}

/// A WebSocket connection for any number of concurrent calls. Dropping it closes the connection.
#[derive(Clone)]
pub struct Client {
    outgoing: mpsc::UnboundedSender<Message>,
    state: Arc<Mutex<State>>,
    next: Arc<AtomicU64>,
}

#[derive(Default)]
struct State {
    calls: HashMap<u64, oneshot::Sender<(Value, Option<Items>)>>,
    subscriptions: HashMap<String, mpsc::UnboundedSender<Value>>,
}

/// The items of a subscription: each `params` of its notifications.
#[derive(Debug)]
pub struct Items {
    pub id: String,
    receiver: mpsc::UnboundedReceiver<Value>,
}

impl Client {
    pub async fn connect(url: &str) -> Self {
        let (socket, _) = tokio_tungstenite::connect_async(url).await.unwrap();
        let (mut sink, stream) = socket.split();
        let (outgoing, mut queue) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Some(message) = queue.recv().await {
                if sink.send(message).await.is_err() {
                    return;
                }
            }
            let _ = sink.close().await;
        });
        let state = Arc::new(Mutex::new(State::default()));
        tokio::spawn(read(stream, state.clone()));
        Self { outgoing, state, next: Arc::default() }
    }

    /// Calls a method. `params` are by name or by position; null leaves them out.
    pub async fn call(&self, method: &str, params: Value) -> Result<Value, CallError> {
        self.ask(method, params).await.map(|(result, _)| result)
    }

    /// Makes a call that must succeed.
    pub async fn ok(&self, method: &str, params: Value) -> Value {
        self.call(method, params.clone()).await.unwrap_or_else(|fault| panic!("{method} {params}: {fault:?}"))
    }

    /// Makes a call that must fail.
    pub async fn fault(&self, method: &str, params: Value) -> CallError {
        match self.call(method, params.clone()).await {
            Err(fault) => fault,
            Ok(result) => panic!("{method} {params}: {result}"),
        }
    }

    pub async fn subscribe(&self, method: &str, params: Value) -> Result<Items, CallError> {
        self.ask(method, params).await.map(|(_, items)| items.expect("a subscription"))
    }

    /// Sends any text. Answers to it are dropped.
    pub fn send(&self, text: impl Into<String>) {
        self.outgoing.send(Message::text(text.into())).unwrap();
    }

    async fn ask(&self, method: &str, params: Value) -> Result<(Value, Option<Items>), CallError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (caller, answer) = oneshot::channel();
        locked(&self.state).calls.insert(id, caller);
        let mut request = json!({"jsonrpc": "2.0", "id": id, "method": method});
        if !params.is_null() {
            request["params"] = params;
        }
        self.send(request.to_string());
        let answer = tokio::time::timeout(PATIENCE, answer).await.unwrap_or_else(|_| panic!("{method} is not answered"));
        let (mut answer, items) = answer.unwrap_or_else(|_| panic!("the connection closed under {method}"));
        if let Some(error) = answer.get("error") {
            let (code, message) = (error["code"].as_i64().unwrap(), error["message"].as_str().unwrap().to_owned());
            return Err(CallError { code, message, data: error.get("data").cloned().unwrap_or_default() });
        }
        Ok((answer["result"].take(), items))
    }
}

async fn read(mut stream: SplitStream<WebSocketStream<MaybeTlsStream<TcpStream>>>, state: Arc<Mutex<State>>) {
    while let Some(Ok(message)) = stream.next().await {
        let Message::Text(text) = message else { continue };
        let answer = hero::model::tree(&text).unwrap();
        let mut state = locked(&state);
        if let Some(method) = answer.get("method") {
            let id = answer["params"]["subscription"].as_str().unwrap_or_else(|| panic!("{method} without a subscription"));
            // Items in flight when the test dropped the receiver are lost.
            let _ = state.subscriptions.get(id).map(|items| items.send(answer["params"].clone()));
            continue;
        }
        let Some(caller) = answer["id"].as_u64().and_then(|id| state.calls.remove(&id)) else { continue };
        // Every text result may be a subscription id, whose items can follow at once.
        let items = answer["result"].as_str().map(|id| {
            let (sender, receiver) = mpsc::unbounded_channel();
            state.subscriptions.insert(id.to_owned(), sender);
            Items { id: id.to_owned(), receiver }
        });
        let _ = caller.send((answer, items));
    }
    *locked(&state) = State::default();
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap()
}

impl Items {
    /// Returns the next item, or the error that ended the subscription.
    pub async fn next(&mut self) -> Value {
        let params = tokio::time::timeout(PATIENCE, self.receiver.recv()).await.expect("an item in time");
        let mut params = params.expect("an item before the connection closed");
        match params.get("error") {
            Some(error) => json!({"error": error}),
            None => params["result"].take(),
        }
    }

    /// Takes the first item, which says where they begin, and returns the rest.
    pub async fn begun(mut self) -> Self {
        let first = self.next().await;
        assert_eq!(first["type"], "began", "{first}");
        self
    }

    /// Returns all items before the end marker.
    pub async fn rest(&mut self) -> Vec<Value> {
        let mut items = Vec::new();
        loop {
            let item = self.next().await;
            if item == json!({"type": "ended"}) {
                return items;
            }
            assert!(item.get("error").is_none(), "{item}");
            items.push(item);
        }
    }

    /// Returns the items that have already arrived.
    pub fn waiting(&mut self) -> Vec<Value> {
        std::iter::from_fn(|| self.receiver.try_recv().ok()).map(|mut params| params["result"].take()).collect()
    }
}
