//! Checks a message before the SDK reads it. The SDK accepts any id, takes the last of several members with one name,
//! rounds integers, and reports unreadable messages without a reason.

use std::borrow::Cow;
use std::collections::BTreeMap;

use axum::body::Bytes;
use rmcp::model::{InitializeRequestParams, ProtocolVersion, RequestId, RequestMetaObject};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny};
use serde_json::value::RawValue;

use super::has_too_many_values;
use super::rejection::{Rejection, What};
use hero_model::{Beyond, MARK, excerpt, plain_zeros, twice_or_marked, without_position};
use hero_rpc::LONGEST_ID;

/// Maximum number of characters of a member's name in an error.
const MAX_NAME_CHARS: usize = 64;
/// The path of the parameters of a tool.
const ARGUMENTS: [&str; 2] = ["params", "arguments"];

/// The parts of a message that are needed here.
#[derive(Debug, Default)]
pub(super) struct IncomingMessage {
    pub(super) method: String,
    /// The call that the message cancels, if it does so.
    pub(super) cancels: Option<RequestId>,
    pub(super) id: Option<RequestId>,
    pub(super) first: First,
}

/// Whether a request may come before the session is open.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum First {
    /// It opens the session.
    Opens,
    /// The SDK answers it.
    May,
    #[default]
    MustNot,
}

impl First {
    fn of(method: &str, params: &Params<'_>) -> Self {
        let meta = params.get("_meta").and_then(|meta| serde_json::from_str::<RequestMetaObject>(meta.get()).ok());
        let meta = meta.filter(|meta| meta.protocol_version().is_some());
        match (method, meta) {
            ("initialize", _) => Self::Opens,
            ("ping" | "server/discover", _) => Self::May,
            (_, Some(meta)) if meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty() => Self::Opens,
            (_, Some(_)) => Self::May,
            (_, None) => Self::MustNot,
        }
    }
}

/// The members of `params` by their names.
type Params<'m> = BTreeMap<String, &'m RawValue>;

impl IncomingMessage {
    /// Parses and checks a message, as far as necessary.
    pub(super) fn read(body: &[u8]) -> Result<Self, Rejection> {
        if has_too_many_values(body) {
            return Err(Rejection::TooMany);
        }
        let refused = twice_or_marked(body).map_err(|error| Rejection::from(What::parse_error(without_position(&error.to_string()))))?;
        let (id, is_notification) = head(body);
        let checked = match refused {
            Some(path) => Err(refusal(&path)),
            None => Self::checked(body, id.clone()),
        };
        let is_answered = || !is_notification && !is_answer(body);
        checked.map_err(|what| if is_answered() { Rejection::Request(what, id) } else { Rejection::Notification(what) })
    }

    /// Returns the outline of a message that has each name once, or its error.
    fn checked(body: &[u8], id: Option<RequestId>) -> Result<Self, What> {
        let outline = is_object(body).then(|| serde_json::from_slice::<Outline<'_>>(body).ok()).flatten();
        let outline = outline.ok_or_else(|| What::invalid("a message is one object"))?;
        match outline.id.map(|id| serde_json::from_str::<RequestId>(id.get())) {
            Some(Ok(id)) if is_too_long(&id) => return Err(What::invalid(&format!("an id has {LONGEST_ID} bytes at most"))),
            Some(Err(_)) => return Err(What::invalid("an id is a text or a whole number")),
            Some(Ok(_)) | None => {}
        }
        match outline.jsonrpc.map(|version| serde_json::from_str::<&str>(version.get())) {
            Some(Ok("2.0")) => {}
            Some(_) => return Err(What::invalid("`jsonrpc` is not the text \"2.0\"")),
            None => return Err(What::invalid("`jsonrpc` is missing; it is the text \"2.0\"")),
        }
        let is_answer = outline.result.is_some() || outline.error.is_some();
        let method = match outline.method.map(|method| serde_json::from_str::<String>(method.get())) {
            Some(Ok(_)) if is_answer => return Err(What::invalid("what has a `method` has neither `result` nor `error`")),
            Some(Ok(method)) => method,
            Some(Err(_)) => return Err(What::invalid("`method` is not a text")),
            // This side asks nothing, so nobody waits for an answer.
            None if is_answer => return Ok(Self { id, ..Self::default() }),
            None => return Err(What::invalid("`method` is missing")),
        };
        let params = match outline.params.map(|params| (params, serde_json::from_str::<Params<'_>>(params.get()))) {
            None => Params::new(),
            Some((text, Ok(params))) if text.get().starts_with('{') => params,
            Some(_) => return Err(What::invalid_params("`params` is not an object")),
        };
        let beyond = params.get("arguments").and_then(|arguments| Beyond::find(arguments.get(), ""));
        if let Some(beyond) = beyond {
            let what = format!("parameter `{}` is {}, {}", beyond.path.trim_start_matches('.'), beyond.number, Beyond::HINT);
            return Err(What::params(what));
        }
        check_params(&method, &params, outline.params)?;
        let cancelled = || serde_json::from_str(params.get("requestId")?.get()).ok();
        let cancels = if method == "notifications/cancelled" { cancelled() } else { None };
        let first = First::of(&method, &params);
        Ok(Self { method, cancels, id, first })
    }

    /// Returns the body of a checked message, with each `-0` as the integer 0: the SDK would read a float.
    pub(super) fn exact(body: Bytes) -> Bytes {
        match std::str::from_utf8(&body).map(plain_zeros) {
            Ok(Cow::Owned(exact)) => exact.into(),
            _ => body,
        }
    }

    /// Returns the error for a request that comes before the session is open.
    pub(super) fn too_early(self) -> Rejection {
        Rejection::Request(What::invalid("initialize first"), self.id)
    }

    /// Returns the error for a message that the SDK cannot read.
    pub(super) fn unreadable(&self) -> Rejection {
        let what = What::invalid("this is no message of the Model Context Protocol, or lacks what one of its method has");
        Rejection::Request(what, self.id.clone())
    }
}

/// Returns the error for a member that is there twice, or whose name the SDK would take for a mark of serde_json.
fn refusal(path: &[String]) -> What {
    let why =
        if path.last().is_some_and(|name| name == MARK) { "has a name that is reserved here; give it another" } else { "is given twice" };
    match path.strip_prefix(&ARGUMENTS.map(str::to_owned)) {
        Some(argument) if !argument.is_empty() => What::params(format!("parameter `{}` {why}", named(argument))),
        _ => What::invalid(&format!("`{}` {why}", named(path))),
    }
}

/// Refuses parameters that the SDK would not take for those of the method. Of the method it would then say that there is none.
fn check_params(method: &str, params: &Params<'_>, all: Option<&RawValue>) -> Result<(), What> {
    let given = |name: &str| params.get(name).map(|value| value.get()).filter(|value| *value != "null");
    if given("_meta").is_some_and(|meta| !meta.starts_with('{')) {
        return Err(What::invalid_params("`_meta` in `params` is not an object"));
    }
    for (name, begins, is_required) in members(method) {
        let kind = if *begins == '"' { "a text" } else { "an object" };
        match given(name) {
            Some(value) if !value.starts_with(*begins) => {
                return Err(What::invalid_params(&format!("{method} takes `{name}`, {kind}, and this is something else")));
            }
            None if *is_required => return Err(What::invalid_params(&format!("{method} takes `{name}`, {kind}, and it is missing"))),
            Some(_) | None => {}
        }
    }
    let initialize = all.filter(|_| method == "initialize").map(|all| serde_json::from_str::<InitializeRequestParams>(all.get()));
    match initialize {
        Some(Err(error)) => Err(What::invalid_params(&format!("initialize: {}", without_position(&error.to_string())))),
        Some(Ok(_)) | None => Ok(()),
    }
}

/// The members of the parameters of a method: the name, how its JSON begins, and whether it must be there.
fn members(method: &str) -> &'static [(&'static str, char, bool)] {
    match method {
        "initialize" => &[("protocolVersion", '"', true), ("capabilities", '{', true), ("clientInfo", '{', true)],
        "tools/call" => &[("name", '"', true), ("arguments", '{', false)],
        "resources/read" => &[("uri", '"', true)],
        "tools/list" | "resources/list" | "resources/templates/list" => &[("cursor", '"', false)],
        _ => &[],
    }
}

fn is_object(body: &[u8]) -> bool {
    body.trim_ascii_start().starts_with(b"{")
}

/// The id by which JSON can be answered, whatever else is wrong with it, and whether it is a notification, which is not answered.
fn head(body: &[u8]) -> (Option<RequestId>, bool) {
    /// Each is read by itself, so that nothing else that stands there twice hides it.
    #[derive(Deserialize)]
    struct Id<'m> {
        #[serde(borrow, default, deserialize_with = "given")]
        id: Option<&'m RawValue>,
    }

    #[derive(Deserialize)]
    struct Method<'m> {
        #[serde(borrow)]
        method: Option<&'m RawValue>,
    }

    match serde_json::from_slice::<Id<'_>>(body) {
        Ok(Id { id: Some(id) }) if is_object(body) => (serde_json::from_str(id.get()).ok().filter(|id| !is_too_long(id)), false),
        Ok(Id { id: None }) if is_object(body) => {
            // It fails only for a method that stands there twice.
            let method = serde_json::from_slice::<Method<'_>>(body).map(|named| named.method);
            (None, method.map_or(true, |method| method.is_some_and(|method| method.get().starts_with('"'))))
        }
        _ => (None, false),
    }
}

/// Whether JSON is an answer, whatever is wrong with it.
fn is_answer(body: &[u8]) -> bool {
    let names = serde_json::from_slice::<BTreeMap<String, IgnoredAny>>(body).unwrap_or_default();
    !names.contains_key("method") && ["result", "error"].iter().any(|name| names.contains_key(*name))
}

fn is_too_long(id: &RequestId) -> bool {
    matches!(id, RequestId::String(text) if text.len() > LONGEST_ID)
}

fn named(path: &[String]) -> String {
    path.iter().map(|name| excerpt(name, MAX_NAME_CHARS)).collect::<Vec<_>>().join(".")
}

/// The members of a message that say what it is.
#[derive(Deserialize)]
struct Outline<'m> {
    #[serde(borrow, default, deserialize_with = "given")]
    jsonrpc: Option<&'m RawValue>,
    /// Null is an id, too, though none that a message may have.
    #[serde(borrow, default, deserialize_with = "given")]
    id: Option<&'m RawValue>,
    #[serde(borrow, default, deserialize_with = "given")]
    method: Option<&'m RawValue>,
    #[serde(borrow)]
    params: Option<&'m RawValue>,
    #[serde(borrow, default, deserialize_with = "given")]
    result: Option<&'m RawValue>,
    #[serde(borrow, default, deserialize_with = "given")]
    error: Option<&'m RawValue>,
}

fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(body: &str) -> (i32, String, Option<RequestId>) {
        match IncomingMessage::read(body.as_bytes()) {
            Err(Rejection::Request(what, id)) => (what.code, what.message, id),
            other => panic!("{body}: {other:?}"),
        }
    }

    #[test]
    fn duplicate_keys_are_named_at_any_depth() {
        let call = |arguments: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"x","arguments":{arguments}}}}}"#)
        };
        let id = Some(RequestId::Number(7));
        for (body, code, said, id) in [
            (call(r#"{"script":"1","script":"2"}"#), -32602, "parameter `script` is given twice", id.clone()),
            (call(r#"{"filter":{"status":1,"st\u0061tus":2}}"#), -32602, "parameter `filter.status` is given twice", id.clone()),
            (call(r#"[{"a":1},{"a":{"b":1,"b":2}}]"#), -32602, "parameter `a.b` is given twice", id.clone()),
            (call(r#"{}},"params":{"a":1"#), -32600, "Invalid Request: `params` is given twice", id.clone()),
            (r#"{"id":7,"params":{"name":1,"name":2}}"#.to_owned(), -32600, "Invalid Request: `params.name` is given twice", id),
            (r#"{"id":7,"id":8}"#.to_owned(), -32600, "Invalid Request: `id` is given twice", None),
        ] {
            assert_eq!(wrong(&body), (code, said.to_owned(), id), "{body}");
        }
        assert!(IncomingMessage::read(call(r#"{"a":{"b":1},"b":[{"a":1},{"a":1}]}"#).as_bytes()).is_ok());
    }

    #[test]
    fn whole_numbers_that_would_be_rounded_are_refused_and_minus_zero_is_zero() {
        let call = |number: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"x","arguments":{{"args":{{"n":[{number}]}}}}}}}}"#)
        };
        for number in ["99999999999999999999", "9223372036854775808", "-9223372036854775809"] {
            let (code, said, id) = wrong(&call(number));
            assert_eq!((code, id), (-32602, Some(RequestId::Number(7))));
            assert!(said.starts_with(&format!("parameter `args.n[0]` is {number}, beyond")), "{said}");
        }
        assert!(IncomingMessage::read(call("-0").as_bytes()).is_ok());
        assert_eq!(IncomingMessage::exact(call("-0").into()), call(" 0"));
        assert_eq!(IncomingMessage::exact(call("-0.0").into()), call("-0.0"));
    }

    #[test]
    fn an_id_is_a_text_that_can_be_repeated_or_a_whole_number() {
        let with = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        let text = |length| format!("\"{}\"", "x".repeat(length));
        for id in ["1", "-1", "\"a\"", &text(LONGEST_ID)] {
            assert!(IncomingMessage::read(with(id).as_bytes()).is_ok_and(|said| said.id.is_some()), "{id}");
        }
        for id in ["null", "1.5", "[1]", "{}", "true", &text(LONGEST_ID + 1), &text(1 << 20)] {
            let (code, said, id) = wrong(&with(id));
            assert!(code == -32600 && said.len() < 100 && id.is_none(), "{said}");
        }
    }

    #[test]
    fn a_call_of_a_tool_names_it_and_gives_an_object() {
        let call = |params: &str| format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{params}}}"#);
        for params in ["{}", r#"{"name":1}"#, r#"{"name":"x","arguments":[]}"#, r#"{"name":"x","arguments":"{}"}"#] {
            let (code, said, id) = wrong(&call(params));
            assert!(code == -32602 && said.contains("tools/call takes") && id == Some(RequestId::Number(7)), "{params}: {said}");
        }
        for params in [r#"{"name":"x"}"#, r#"{"name":"x","arguments":null}"#, r#"{"name":"x","arguments":{},"_meta":{}}"#] {
            assert!(IncomingMessage::read(call(params).as_bytes()).is_ok(), "{params}");
        }
    }

    #[test]
    fn what_is_no_json_and_what_is_no_message_are_told_apart() {
        for body in ["", "no JSON", "{", r#"{"id":1} {}"#, "[1", &"[".repeat(1000), "\"\u{1}\""] {
            assert_eq!(wrong(body).0, -32700, "{body}");
        }
        for body in ["1", "[]", r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, "null", "\"x\""] {
            assert_eq!(wrong(body).0, -32600, "{body}");
        }
        let answer = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
        assert!(IncomingMessage::read(answer.as_bytes()).is_ok_and(|said| said.method.is_empty()));
        let cancels = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a","reason":"b"}}"#;
        assert_eq!(IncomingMessage::read(cancels.as_bytes()).unwrap().cancels, Some(RequestId::String("a".into())));
    }

    #[test]
    fn a_request_that_is_wrong_gets_its_id_and_the_name_of_what_is_wrong() {
        let of = |rest: &str| format!(r#"{{"id":7,{rest}}}"#);
        let with = |method: &str, params: &str| of(&format!(r#""jsonrpc":"2.0","method":"{method}","params":{params}"#));
        for (body, code, said) in [
            (of(r#""method":"ping""#), -32600, "`jsonrpc` is missing"),
            (of(r#""jsonrpc":"1.0","method":"ping""#), -32600, "`jsonrpc` is not"),
            (of(r#""jsonrpc":2.0,"method":"ping""#), -32600, "`jsonrpc` is not"),
            (of(r#""jsonrpc":"2.0""#), -32600, "`method` is missing"),
            (of(r#""jsonrpc":"2.0","params":5"#), -32600, "`method` is missing"),
            (of(r#""jsonrpc":"2.0","method":1"#), -32600, "`method` is not a text"),
            (of(r#""jsonrpc":"2.0","method":"ping","result":{}"#), -32600, "neither `result`"),
            (of(r#""jsonrpc":"2.0","method":"ping","method":"ping""#), -32600, "`method` is given twice"),
            (with("ping", "5"), -32602, "`params` is not an object"),
            (with("tools/list", "[]"), -32602, "`params` is not an object"),
            (with("tools/list", r#"{"_meta":5}"#), -32602, "`_meta` in `params` is not an object"),
            (with("tools/list", r#"{"cursor":5}"#), -32602, "tools/list takes `cursor`, a text"),
            (with("tools/call", "[]"), -32602, "`params` is not an object"),
            (with("resources/read", "{}"), -32602, "resources/read takes `uri`, a text, and it is missing"),
            (with("resources/read", r#"{"uri":5}"#), -32602, "resources/read takes `uri`, a text, and this is something else"),
            (of(r#""jsonrpc":"2.0","method":"resources/read""#), -32602, "takes `uri`"),
            (with("initialize", "{}"), -32602, "initialize takes `protocolVersion`"),
            (
                with("initialize", r#"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"version":"1"}}"#),
                -32602,
                "missing field `name`",
            ),
        ] {
            let (found, message, id) = wrong(&body);
            assert!(found == code && message.contains(said) && id == Some(RequestId::Number(7)), "{body}: {found} {message} {id:?}");
        }
        for params in ["null", "{}", r#"{"_meta":null,"cursor":null}"#, r#"{"_meta":{},"cursor":"x"}"#] {
            assert!(IncomingMessage::read(with("tools/list", params).as_bytes()).is_ok(), "{params}");
        }
    }

    #[test]
    fn a_notification_is_not_answered_whatever_is_wrong_with_it() {
        let answer = |body: &str| IncomingMessage::read(body.as_bytes()).unwrap_err().into_line();
        for body in [
            r#"{"method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"1.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized","params":5}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized","params":{"_meta":5}}"#,
            r#"{"jsonrpc":"2.0","method":"x","params":{"a":1,"a":2}}"#,
            r#"{"jsonrpc":"2.0","method":"x","method":"x"}"#,
        ] {
            assert_eq!(answer(body), None, "{body}");
        }
        // Nor is an answer.
        for body in
            [r#"{"id":7,"error":5}"#, r#"{"result":{}}"#, r#"{"jsonrpc":"2.0","id":{},"result":1}"#, r#"{"id":7,"error":5,"error":6}"#]
        {
            assert_eq!(answer(body), None, "{body}");
        }
        // These are neither that nor a request.
        for body in [r#"{"jsonrpc":"2.0","params":5}"#, r#"{"jsonrpc":"2.0","method":1}"#, "[]", r#"["method"]"#, "{"] {
            assert!(answer(body).is_some_and(|line| line.contains(r#""id":null"#)), "{body}");
        }
    }
}
