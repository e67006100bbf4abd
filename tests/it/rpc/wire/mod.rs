//! The wire protocol, with a few test methods: how a server handles frames, bodies, batches and refused clients.

mod backpressure;
mod batches;
mod budgets;
mod connections;
mod frames;
mod limits;
mod notifications;
mod origins;
mod oversize;
mod readers;
mod rfc6455;
mod specification;
mod subscriptions;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::stream::StreamExt as _;
use futures_util::{SinkExt, stream};
use hero::access::{Authority, IdentityChange, TokenKey};
use hero::model::{ContextId, Role};
use hero::rpc::{
    Access, Code, Concern, Effect, Error, Example, Guard, Items, Method, Permission, Probes, ServerSettings, Serving, Session, Size,
    Subscription, Table, serve_table,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};
use tokio_util::sync::CancellationToken;

use crate::support::House;

/// Nothing here takes longer, except when it hangs.
const ALIVE: Duration = Duration::from_secs(20);

/// The state of the test methods.
#[derive(Clone, Default)]
struct Bench {
    /// Lets `hold` go on.
    release: Arc<Notify>,
    /// The number of `hold` calls that have begun.
    held: Arc<AtomicU32>,
    /// The number of answers that `large` made.
    made: Arc<AtomicU32>,
    /// The number of `hold` calls that were dropped before they were released.
    dropped: Arc<AtomicU32>,
    /// Records of calls whose answers are of no interest.
    notes: Arc<Mutex<Vec<Vec<i64>>>>,
}

impl Bench {
    fn note(&self, numbers: Vec<i64>) -> Result<Value, Error> {
        self.notes.lock().unwrap().push(numbers);
        Ok(Value::Null)
    }

    fn notes(&self) -> Vec<Vec<i64>> {
        let mut notes = self.notes.lock().unwrap().clone();
        notes.sort_unstable();
        notes
    }
}

macro_rules! method {
    ($(#[$doc:meta])* $type:ident, $name:literal, { $($field:tt)* }, $example:expr, $output:ty, $sample:expr, |$self:ident, $bench:ident| $body:expr) => {
        $(#[$doc])*
        #[derive(Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        struct $type { $($field)* }

        impl Method<Bench> for $type {
            const NAME: &'static str = $name;
            const TAG: &'static str = "test";
            const PERMISSION: Permission = Permission::Read;
            const ERRORS: &'static [Code] = &[];
            const EFFECT: Effect = Effect::Reads;
            const RESULT: &'static str = "What was asked for.";
            type Output = $output;

            fn examples() -> Vec<Example<Self, $output>> {
                vec![Example { name: $name, params: $example, result: $sample }]
            }

            fn concern(&self) -> Concern<'_> {
                Concern::Server
            }

            async fn call($self, $bench: &Bench, _: &Session) -> Result<$output, Error> {
                $body
            }
        }
    };
}

method!(
    /// Subtracts.
    Subtract, "subtract", { minuend: i64, subtrahend: i64 }, Subtract { minuend: 42, subtrahend: 23 }, i64, 19,
    |self, _bench| Ok(self.minuend - self.subtrahend)
);
method!(
    /// Adds.
    Sum, "sum", { a: i64, b: i64, c: i64 }, Sum { a: 1, b: 2, c: 4 }, i64, 7,
    |self, _bench| Ok(self.a + self.b + self.c)
);
method!(
    /// Notes five numbers.
    Update, "update", { a: i64, b: i64, c: i64, d: i64, e: i64 }, Update { a: 1, b: 2, c: 3, d: 4, e: 5 }, Value, json!(null),
    |self, bench| bench.note(vec![self.a, self.b, self.c, self.d, self.e])
);
method!(
    /// Notes three numbers.
    NotifySum, "notify_sum", { a: i64, b: i64, c: i64 }, NotifySum { a: 1, b: 2, c: 4 }, Value, json!(null),
    |self, bench| bench.note(vec![self.a, self.b, self.c])
);
method!(
    /// Notes a number.
    NotifyHello, "notify_hello", { number: i64 }, NotifyHello { number: 7 }, Value, json!(null),
    |self, bench| bench.note(vec![self.number])
);
method!(
    /// Returns data.
    GetData, "get_data", {}, GetData {}, Value, json!(["hello", 5]),
    |self, _bench| Ok(json!(["hello", 5]))
);
method!(
    /// Returns its parameter.
    Echo, "echo", { any: Value }, Echo { any: json!(1) }, Value, json!(1),
    |self, _bench| Ok(self.any)
);
method!(
    /// Panics.
    Panic, "panic", {}, Panic {}, Value, json!(null),
    |self, _bench| panic!("a panic that a test wants")
);
method!(
    /// Holds the call until it is released.
    Hold, "hold", {}, Hold {}, Value, json!("held"),
    |self, bench| {
        struct Dropped<'a>(&'a Bench, bool);
        impl Drop for Dropped<'_> {
            fn drop(&mut self) {
                if !self.1 {
                    self.0.dropped.fetch_add(1, Ordering::SeqCst);
                }
            }
        }
        let mut guard = Dropped(bench, false);
        bench.held.fetch_add(1, Ordering::SeqCst);
        bench.release.notified().await;
        guard.1 = true;
        Ok(json!("held"))
    }
);

/// Counts up to a number, or for ever.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Count {
    /// The last number.
    #[serde(default)]
    to: u32,
    /// Bytes that pad each item.
    #[serde(default)]
    pad: u32,
}

/// An item of [`Count`].
#[derive(Serialize, JsonSchema)]
struct Counted {
    /// The number.
    number: u32,
    /// Padding.
    pad: String,
}

impl Subscription<Bench> for Count {
    const NAME: &'static str = "subscribe_count";
    const NOTIFICATION: &'static str = "count";
    const UNSUBSCRIBE: &'static str = "unsubscribe_count";
    const TAG: &'static str = "test";
    const PERMISSION: Permission = Permission::Read;
    const ERRORS: &'static [Code] = &[];
    type Item = Counted;

    fn examples() -> Vec<Example<Self, Counted>> {
        vec![Example { name: "count", params: Self { to: 1, pad: 0 }, result: Counted { number: 1, pad: String::new() } }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Context(ContextId(0))
    }

    async fn open(self, _: &Bench, _: &Session) -> Result<Items<Counted>, Error> {
        let last = if self.to == 0 { u32::MAX } else { self.to };
        let pad = "x".repeat(self.pad as usize);
        let items = stream::iter(1..=last).map(move |number| Ok(Counted { number, pad: pad.clone() }));
        // An end that a test can see, and that is not one of the limits.
        Ok(if self.to == 0 { items.boxed() } else { items.chain(stream::iter([Err(Error::Internal)])).boxed() })
    }
}

/// Holds the call until it is released, as long as its caller wants.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct HoldLong {}

impl Method<Bench> for HoldLong {
    const NAME: &'static str = "hold_long";
    const TAG: &'static str = "test";
    const PERMISSION: Permission = Permission::Read;
    const ERRORS: &'static [Code] = &[];
    const EFFECT: Effect = Effect::Reads;
    const WAITS: bool = true;
    const RESULT: &'static str = "What was asked for.";
    type Output = Value;

    fn examples() -> Vec<Example<Self, Value>> {
        vec![Example { name: "hold", params: Self {}, result: json!("held") }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Server
    }

    async fn call(self, bench: &Bench, session: &Session) -> Result<Value, Error> {
        Hold {}.call(bench, session).await
    }
}

/// Returns the number of bytes that its caller requests.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Large {
    bytes: usize,
}

impl Method<Bench> for Large {
    const NAME: &'static str = "large";
    const TAG: &'static str = "test";
    const PERMISSION: Permission = Permission::Read;
    const ERRORS: &'static [Code] = &[];
    const EFFECT: Effect = Effect::Reads;
    const SIZE: Size = Size::Large;
    const RESULT: &'static str = "What was asked for.";
    type Output = String;

    fn examples() -> Vec<Example<Self, String>> {
        vec![Example { name: "large", params: Self { bytes: 1 }, result: "x".into() }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Server
    }

    async fn call(self, bench: &Bench, _: &Session) -> Result<String, Error> {
        bench.made.fetch_add(1, Ordering::SeqCst);
        Ok("x".repeat(self.bytes))
    }
}

fn table() -> Table<Bench> {
    Table::new()
        .method::<Subtract>()
        .method::<Sum>()
        .method::<Update>()
        .method::<NotifySum>()
        .method::<NotifyHello>()
        .method::<GetData>()
        .method::<Echo>()
        .method::<Panic>()
        .method::<Hold>()
        .method::<HoldLong>()
        .method::<Large>()
        .subscription::<Count>()
}

/// A server that requires a login, which always fails.
fn login() -> Access {
    let authority = Authority::new([], TokenKey::random());
    Access::Login(Guard::new(authority, crate::support::dispatcher([], std::path::Path::new("."))))
}

/// A server with the methods above.
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
