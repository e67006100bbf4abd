//! The methods of the servers here.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::stream;
use futures_util::stream::StreamExt as _;
use hero::model::ContextId;
use hero::rpc::{Code, Concern, Effect, Error, Example, Items, Method, Permission, Session, Size, Subscription, Table};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::Notify;

/// The state of the test methods.
#[derive(Clone, Default)]
pub(super) struct Bench {
    /// Lets `hold` go on.
    pub(super) release: Arc<Notify>,
    /// The number of `hold` calls that have begun.
    pub(super) held: Arc<AtomicU32>,
    /// The number of answers that `large` made.
    pub(super) made: Arc<AtomicU32>,
    /// The number of `hold` calls that were dropped before they were released.
    pub(super) dropped: Arc<AtomicU32>,
    /// Records of calls whose answers are of no interest.
    pub(super) notes: Arc<Mutex<Vec<Vec<i64>>>>,
}

impl Bench {
    fn note(&self, numbers: Vec<i64>) -> Result<Value, Error> {
        self.notes.lock().unwrap().push(numbers);
        Ok(Value::Null)
    }

    pub(super) fn notes(&self) -> Vec<Vec<i64>> {
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

pub(super) fn table() -> Table<Bench> {
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
