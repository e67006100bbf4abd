//! The wire protocol, with a few test methods: how a server handles frames, bodies, batches and refused clients.

mod backpressure;
mod batches;
mod budgets;
mod connections;
mod frames;
mod limits;
mod methods;
mod notifications;
mod origins;
mod oversize;
mod readers;
mod rfc6455;
mod specification;
mod subscriptions;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::SinkExt;
use futures_util::stream::StreamExt as _;
use hero::access::{Authority, IdentityChange, TokenKey};
use hero::model::{ContextId, Role};
use hero::rpc::{Access, Guard, Probes, ServerSettings, Serving, serve_table};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};
use tokio_util::sync::CancellationToken;

use crate::support::House;
use methods::{Bench, table};

/// Nothing here takes longer, except when it hangs.
const ALIVE: Duration = Duration::from_secs(20);

/// A server that requires a login, which always fails.
fn login() -> Access {
    let authority = Authority::new([], TokenKey::random());
    Access::Login(Guard::new(authority, crate::support::dispatcher([], std::path::Path::new("."))))
}

/// A server with the methods of [`methods`].
struct Server {
    serving: Serving,
    bench: Bench,
    shutdown: CancellationToken,
}

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

impl Server {
    async fn start() -> Self {
        Self::with(|_| {}).await
    }

    async fn with(change: impl FnOnce(&mut ServerSettings)) -> Self {
        let mut settings = ServerSettings { listen: vec![([127, 0, 0, 1], 0).into()], ..ServerSettings::default() };
        change(&mut settings);
        let (bench, shutdown) = (Bench::default(), CancellationToken::new());
        let probes = Probes {
            readiness: Arc::new(|| Box::pin(async { Err(vec!["no actor of type v".into(), "Redis is away".into()]) })),
            metrics: Arc::new(|| "hero_up 1\n".into()),
        };
        let serving = serve_table(settings, &table(), bench.clone(), probes, shutdown.clone()).await.unwrap();
        Self { serving, bench, shutdown }
    }

    async fn websocket(&self) -> Socket {
        let (socket, _) = tokio_tungstenite::connect_async(format!("ws://{}/", self.serving.local_addr())).await.unwrap();
        socket
    }

    async fn tcp(&self) -> TcpStream {
        TcpStream::connect(self.serving.local_addr()).await.unwrap()
    }

    /// Sends raw bytes and reads to the end of the connection.
    async fn raw(&self, request: &[u8]) -> String {
        let mut tcp = self.tcp().await;
        tcp.write_all(request).await.unwrap();
        let mut answer = Vec::new();
        tokio::time::timeout(ALIVE, tcp.read_to_end(&mut answer)).await.expect("an answer").unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Makes an HTTP request: status and body.
    async fn http(&self, head: &str, body: &[u8]) -> (u16, String) {
        let mut request = format!("{head}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len()).into_bytes();
        request.extend_from_slice(body);
        let answer = self.raw(&request).await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no HTTP: {answer}"));
        (head[9..12].parse().unwrap(), body.to_owned())
    }

    /// Posts a body to `/`.
    async fn post(&self, body: impl AsRef<[u8]>) -> (u16, String) {
        self.http("POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json", body.as_ref()).await
    }

    async fn get(&self, path: &str) -> (u16, String) {
        self.http(&format!("GET {path} HTTP/1.1\r\nhost: localhost"), b"").await
    }
}

async fn send(socket: &mut Socket, text: impl Into<String>) {
    socket.send(Message::text(text.into())).await.unwrap();
}

/// The next message, which must come.
async fn receive(socket: &mut Socket) -> Value {
    loop {
        let message = tokio::time::timeout(ALIVE, socket.next()).await.expect("a message in time").expect("a message").unwrap();
        if let Message::Text(text) = message {
            return serde_json::from_str(&text).unwrap();
        }
    }
}

async fn ask(socket: &mut Socket, text: impl Into<String>) -> Value {
    send(socket, text).await;
    receive(socket).await
}

fn call(id: u32, method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

/// Ends the server, and returns the data that it sends until the connection closes.
async fn last_words(server: &Server, socket: &mut Socket) -> Vec<String> {
    server.shutdown.cancel();
    let mut words = Vec::new();
    while let Some(Ok(message)) = tokio::time::timeout(ALIVE, socket.next()).await.expect("the connection is closed") {
        if let Message::Text(text) = message {
            words.push(text.to_string());
        }
    }
    words
}

/// Waits until `condition` holds.
async fn until(condition: impl Fn() -> bool) {
    let wait = async {
        while !condition() {
            // The awaited work may need this processor.
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(ALIVE, wait).await.expect("it comes true");
}

/// Asserts that the connection still answers.
async fn assert_alive(socket: &mut Socket) {
    assert_eq!(ask(socket, call(9999, "subtract", json!([42, 23]))).await, json!({"jsonrpc": "2.0", "id": 9999, "result": 19}));
}
