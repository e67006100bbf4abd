//! The properties that hold for every message of a client. The target in `fuzz/` calls this function, and so do the tests below, on any
//! toolchain.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, LazyLock};

use http::Extensions;
use schemars::JsonSchema;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::runtime::{Builder, Runtime};
use tokio_util::task::TaskTracker;

use super::effect::Effect;
use super::error::{Code, Error};
use super::jsonrpc;
use super::limits::Limits;
use super::memory::RequestReservation;
use super::method::{Example, Method};
use super::middleware::{Middleware, Rules, middleware};
use super::table::Table;
use crate::connection::addresses::Addresses;
use crate::connection::anonymous::TrackedConnection;
use crate::jsonrpc::entry::OverHttp;
use crate::jsonrpc::request_id::LONGEST_ID;
use crate::openrpc::document::OpenRpcDocument;
use crate::session::access::Access;
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use crate::table::invoker::MethodInvoker;
use hero_audit::Audit;

/// The most entries of a batch here. It is small, so that larger batches are tried, too.
const MAX_BATCH_ENTRIES: u32 = 8;

/// Adds, with a parameter that need not be given.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Add {
    a: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    b: Option<i64>,
}

impl Method<()> for Add {
    const NAME: &'static str = "add";
    const TAG: &'static str = "fuzzing";
    const PERMISSION: Permission = Permission::Read;
    const ERRORS: &'static [Code] = &[];
    const EFFECT: Effect = Effect::Reads;
    const RESULT: &'static str = "The sum.";
    type Output = i64;

    fn examples() -> Vec<Example<Self, i64>> {
        vec![Example { name: "two", params: Self { a: 40, b: Some(2) }, result: 42 }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Server
    }

    async fn call(self, (): &(), _: &Session) -> Result<i64, Error> {
        Ok(self.a.wrapping_add(self.b.unwrap_or_default()))
    }
}

/// All middleware, in the order of a server, around that method.
struct Bench {
    limits: Limits,
    middleware: Middleware,
    runtime: Runtime,
}

static BENCH: LazyLock<Bench> = LazyLock::new(|| {
    let (limits, table) = (Limits { batch: MAX_BATCH_ENTRIES, ..Limits::default() }, Table::<()>::new().method::<Add>());
    let document = Arc::new(OpenRpcDocument::new(&table.document()));
    let methods = table.register((), &limits, &Access::Open, &Audit::default(), &document).expect("each name is there once");
    let rules = Arc::new(Rules::new(&table, limits.clone(), Access::Open, Audit::default()));
    let middleware = middleware(&rules, MethodInvoker::without_subscriptions(methods, limits.response_bytes as usize));
    let runtime = Builder::new_current_thread().enable_time().build().expect("a runtime");
    Bench { limits, middleware, runtime }
});

/// Sends the bytes as one message, over HTTP and on a WebSocket. Each request with an id gets one answer, with that id and in its place; a
/// notification gets none; an entry that is neither gets an answer without an id. Nothing panics: a panic would be answered as an internal
/// error.
pub fn requests(bytes: &[u8]) {
    for over_http in [false, true] {
        let said = String::from_utf8_lossy(bytes);
        let answer = answer(bytes, over_http);
        let (ids, in_batch) = expected(bytes, over_http);
        if ids.is_empty() {
            assert!(answer.is_none(), "{said}: {answer:?}");
            continue;
        }
        let text = answer.unwrap_or_else(|| panic!("{said} is not answered"));
        let answers: Vec<Answered<'_>> = if in_batch {
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{said}: {error}: {text}"))
        } else {
            vec![serde_json::from_str(&text).unwrap_or_else(|error| panic!("{said}: {error}: {text}"))]
        };
        assert_eq!(answers.iter().map(|answer| same(answer.id.get())).collect::<Vec<_>>(), ids, "{said}: {text}");
        for Answered { jsonrpc, result, error, .. } in answers {
            assert!(jsonrpc == "2.0" && result.is_some() != error.is_some(), "{said}: {text}");
            assert!(error.is_none_or(|error| error["code"].is_i64() && error["code"] != -32603), "{said}: {text}");
        }
    }
}

/// Returns the answer to a message on a connection of its own.
fn answer(bytes: &[u8], over_http: bool) -> Option<String> {
    let Bench { limits, middleware, runtime } = &*BENCH;
    let addresses = Addresses::new(limits.clone(), false);
    let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
    let share = addresses.join(peer.ip(), 0).expect("nobody else is connected");
    let connection = addresses.connection(&share);
    let tracked = TrackedConnection::new(&Arc::default(), peer.ip(), connection.closing(), true);
    let reservation = Arc::new(RequestReservation::of(&connection));
    let session = Session::new(peer, peer, (share, tracked), connection, false, TaskTracker::new().token());
    let mut extensions = Extensions::new();
    extensions.insert(Arc::new(session));
    extensions.insert(Arc::downgrade(&reservation));
    if over_http {
        extensions.insert(OverHttp);
    }
    runtime.block_on(async { jsonrpc::answer(middleware, bytes, &extensions, limits.batch).await.map(|reply| reply.json.get().to_owned()) })
}

#[derive(Deserialize)]
struct Answered<'a> {
    jsonrpc: String,
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    error: Option<Value>,
}

/// Returns the ids of the expected answers, in order, and whether they form a batch. It follows the specification, independently of
/// `jsonrpc.rs`.
fn expected(bytes: &[u8], over_http: bool) -> (Vec<String>, bool) {
    let nobody = || "null".to_owned();
    let Ok(text) = std::str::from_utf8(bytes) else { return (vec![nobody()], false) };
    let Ok(entries) = serde_json::from_str::<Vec<&RawValue>>(text) else { return (one(text).into_iter().collect(), false) };
    let ids: Vec<String> = entries.iter().filter_map(|entry| one(entry.get())).collect();
    if entries.len() > MAX_BATCH_ENTRIES as usize {
        // The server refuses the message as a whole. Over HTTP each request has a response.
        return (if ids.is_empty() && !over_http { Vec::new() } else { vec![nobody()] }, false);
    }
    if entries.is_empty() { (vec![nobody()], false) } else { (ids, true) }
}

/// Returns the id of the answer to one entry; nothing for a notification.
fn one(text: &str) -> Option<String> {
    let nobody = Some("null".to_owned());
    let Ok(Members(members)) = serde_json::from_str(text) else { return nobody };
    let all = |name: &str| members.iter().filter(|(is, _)| is == name).map(|(_, value)| value.get()).collect::<Vec<_>>();
    let is_call = all("jsonrpc") == [r#""2.0""#]
        && matches!(all("method")[..], [method] if serde_json::from_str::<String>(method).is_ok())
        && all("params").len() < 2;
    match all("id")[..] {
        [] if is_call => None,
        [id] => Some(same(id)),
        _ => nobody,
    }
}

/// Returns an id in the form of answers, for comparison: a text may be escaped in several ways. An invalid or long id becomes `null`.
fn same(id: &str) -> String {
    let text = if id.starts_with('"') { serde_json::from_str::<String>(id).ok() } else { None };
    match text {
        Some(text) if text.len() <= LONGEST_ID => Value::from(text).to_string(),
        None if id.starts_with(|c: char| c == '-' || c.is_ascii_digit()) && id.len() <= LONGEST_ID => id.to_owned(),
        _ => "null".to_owned(),
    }
}

/// The members of an object, including repeated ones.
struct Members(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Each)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;

    /// Generates the JSON of members, which are often valid.
    fn member() -> impl Strategy<Value = String> {
        let members = [
            r#""jsonrpc":"2.0""#,
            r#""jsonrpc":"1.0""#,
            r#""jsonrpc":2.0"#,
            r#""method":"add""#,
            r#""method":"rpc.discover""#,
            r#""method":"nothing""#,
            r#""method":1"#,
            r#""params":[40,2]"#,
            r#""params":{"a":1}"#,
            r#""params":{"b":true}"#,
            r#""params":null"#,
            r#""params":"x""#,
            r#""id":1"#,
            r#""id":"x""#,
            r#""id":"\u0078\"""#,
            r#""id":"\ud800""#,
            r#""id":null"#,
            r#""id":-0.5e9"#,
            r#""id":18446744073709551616"#,
            r#""id":true"#,
            r#""id":[1]"#,
            r#""\u0069d":7"#,
            r#""more":{"id":2}"#,
            r#""\ud800":1"#,
        ];
        prop::sample::select(members.to_vec()).prop_map(str::to_owned)
    }

    fn entry() -> impl Strategy<Value = String> {
        let object = |members: Vec<String>| format!("{{{}}}", members.join(","));
        let right =
            (0..1000_u32, prop::sample::select(vec!["add", "nothing", "rpc.discover"]), any::<bool>()).prop_map(|(id, method, is_call)| {
                let id = if is_call { format!(r#","id":{id}"#) } else { String::new() };
                format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":[1,2]{id}}}"#)
            });
        let other = prop::sample::select(vec!["1", "null", "\"x\"", "[]", "[1]", "{}", "nul", "", "1e999"]).prop_map(str::to_owned);
        prop_oneof![3 => right, 4 => prop::collection::vec(member(), 0..6).prop_map(object), 1 => other]
    }

    fn message() -> impl Strategy<Value = Vec<u8>> {
        let batch = prop::collection::vec(entry(), 0..11).prop_map(|entries| format!("[{}]", entries.join(",")));
        let space = prop::sample::select(vec!["", " ", "\n", "\u{c}", "\u{a0}", "\0"]);
        (space, prop_oneof![entry(), batch], any::<Option<(prop::sample::Index, u8)>>()).prop_map(|(space, text, other)| {
            let mut bytes = format!("{space}{text}").into_bytes();
            // In one of two messages, one byte is replaced.
            if let Some((at, byte)) = other.filter(|_| !bytes.is_empty()) {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            bytes
        })
    }

    proptest! {
        // These messages are small, so there are four times as many cases.
        #![proptest_config(ProptestConfig { cases: 4 * ProptestConfig::default().cases, ..ProptestConfig::default() })]

        #[test]
        fn each_request_with_an_id_is_answered_once_and_nothing_else_whatever_a_message_is(bytes in message()) {
            requests(&bytes);
        }
    }

    #[test]
    fn the_seeds_hold() {
        let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/requests");
        let files: Vec<_> = std::fs::read_dir(seeds).unwrap().collect();
        assert!(files.len() >= 5);
        for file in files {
            requests(&std::fs::read(file.unwrap().path()).unwrap());
        }
    }
}
