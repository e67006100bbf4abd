//! Checks a message before the SDK reads it. The SDK accepts any id, takes the last of several members with one name,
//! rounds integers, and reports unreadable messages without a reason.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use axum::body::Bytes;
use axum::response::{IntoResponse as _, Response};
use http::{StatusCode, header};
use rmcp::model::{ErrorCode, RequestId};
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use super::{MOST_VALUES, has_too_many_values};
use hero_model::{Beyond, excerpt, plain_zeros, without_position};
use hero_rpc::LONGEST_ID;

/// Maximum number of characters of a member's name in an error.
const NAME: usize = 64;
/// The path of the parameters of a tool.
const ARGUMENTS: [&str; 2] = ["params", "arguments"];

/// The parts of a message that are needed here.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub(super) method: String,
    /// The call that the message cancels, if it does so.
    pub(super) cancels: Option<RequestId>,
    id: Option<RequestId>,
}

impl Said {
    /// Parses and checks a message, as far as necessary.
    pub(super) fn read(body: &[u8]) -> Result<Self, Wrong> {
        if has_too_many_values(body) {
            return Err(Wrong::TooMany);
        }
        let mut path = Vec::new();
        let mut json = serde_json::Deserializer::from_slice(body);
        let once = Once(&mut path).deserialize(&mut json).and_then(|()| json.end());
        let outline = serde_json::from_slice::<Outline<'_>>(body);
        let id = outline.as_ref().ok().and_then(|outline| outline.id).map(|id| serde_json::from_str::<RequestId>(id.get()));
        if let Err(error) = once {
            let id = id.and_then(Result::ok).filter(|id| !is_too_long(id));
            return Err(match (error.is_data(), path.strip_prefix(&ARGUMENTS.map(str::to_owned))) {
                (false, _) => Wrong::new(ErrorCode::PARSE_ERROR, format!("Parse error: {}", without_position(&error.to_string())), None),
                (true, Some(argument)) if !argument.is_empty() => {
                    Wrong::new(ErrorCode::INVALID_PARAMS, format!("parameter `{}` is given twice", named(argument)), id)
                }
                (true, _) => Wrong::new(ErrorCode::INVALID_REQUEST, format!("Invalid Request: `{}` is given twice", named(&path)), id),
            });
        }
        let invalid = |what: &str| Wrong::new(ErrorCode::INVALID_REQUEST, format!("Invalid Request: {what}"), None);
        let is_object = body.trim_ascii_start().starts_with(b"{");
        let Some(outline) = outline.ok().filter(|_| is_object) else { return Err(invalid("a message is one object")) };
        let id = match id {
            None => None,
            Some(Ok(id)) if !is_too_long(&id) => Some(id),
            Some(Ok(_)) => return Err(invalid(&format!("an id has {LONGEST_ID} bytes at most"))),
            Some(Err(_)) => return Err(invalid("an id is a text or a whole number")),
        };
        let arguments = outline.params.and_then(|params| serde_json::from_str::<Given<'_>>(params.get()).ok()?.arguments);
        if let Some(beyond) = arguments.and_then(|arguments| Beyond::find(arguments.get(), "")) {
            let what = format!("parameter `{}` is {}, {}", beyond.path.trim_start_matches('.'), beyond.number, Beyond::HINT);
            return Err(Wrong::new(ErrorCode::INVALID_PARAMS, what, id));
        }
        let method: String = outline.method.and_then(|method| serde_json::from_str(method.get()).ok()).unwrap_or_default();
        let is_call =
            || outline.params.is_some_and(|params| serde_json::from_str::<ToolCall<'_>>(params.get()).is_ok_and(|call| call.is_one()));
        if method == "tools/call" && !is_call() {
            let what = "Invalid params: tools/call takes `name`, a text, and `arguments`, an object";
            return Err(Wrong::new(ErrorCode::INVALID_PARAMS, what.to_owned(), id));
        }
        let cancelled = || serde_json::from_str::<Cancelled>(outline.params?.get()).ok()?.request_id;
        let cancels = if method == "notifications/cancelled" { cancelled() } else { None };
        Ok(Self { method, cancels, id })
    }

    /// Returns the body of a checked message, with each `-0` as the integer 0: the SDK would read a float.
    pub(super) fn exact(body: Bytes) -> Bytes {
        match std::str::from_utf8(&body).map(plain_zeros) {
            Ok(Cow::Owned(exact)) => exact.into(),
            _ => body,
        }
    }

    /// Returns the error for a message that the SDK cannot read.
    pub(super) fn unreadable(&self) -> Wrong {
        let what = "Invalid Request: this is no message of the Model Context Protocol, or lacks what one of its method has";
        Wrong::new(ErrorCode::INVALID_REQUEST, what.to_owned(), self.id.clone())
    }
}

fn is_too_long(id: &RequestId) -> bool {
    matches!(id, RequestId::String(text) if text.len() > LONGEST_ID)
}

fn named(path: &[String]) -> String {
    path.iter().map(|name| excerpt(name, NAME)).collect::<Vec<_>>().join(".")
}

/// The reason why a message is refused.
#[derive(Debug)]
pub(super) enum Wrong {
    /// The message has too many values.
    TooMany,
    /// The message has more bytes than this.
    TooLong(usize),
    /// An error of JSON-RPC.
    Error(Error),
}

/// The error object for an invalid message.
#[derive(Debug, Serialize)]
pub(super) struct Error {
    code: i32,
    message: String,
    #[serde(skip)]
    id: Option<RequestId>,
}

impl Wrong {
    fn new(code: ErrorCode, message: String, id: Option<RequestId>) -> Self {
        Self::Error(Error { code: code.0, message, id })
    }

    /// Returns the error for a message that is too large. It is sent before anything is parsed.
    fn too_large(&self) -> Option<String> {
        match self {
            Self::TooMany => Some(format!("a request to an assistant may have {MOST_VALUES} values; JSON-RPC at / takes more")),
            Self::TooLong(most) => Some(format!("a message to an assistant has {most} bytes at most")),
            Self::Error(_) => None,
        }
    }

    fn body(self) -> String {
        let error = match (self.too_large(), self) {
            (None, Self::Error(error)) => error,
            (what, _) => {
                Error { code: ErrorCode::INVALID_REQUEST.0, message: format!("Invalid Request: {}", what.unwrap_or_default()), id: None }
            }
        };
        json!({ "jsonrpc": "2.0", "id": error.id, "error": error }).to_string()
    }

    pub(super) fn into_response(self) -> Response {
        match self.too_large() {
            Some(what) => (StatusCode::PAYLOAD_TOO_LARGE, what + "\n").into_response(),
            None => (StatusCode::BAD_REQUEST, [(header::CONTENT_TYPE, "application/json")], self.body()).into_response(),
        }
    }

    pub(super) fn into_line(self) -> String {
        self.body() + "\n"
    }
}

/// The members that identify a message.
#[derive(Deserialize)]
struct Outline<'m> {
    /// Null is an id in JSON-RPC, though a message here may not have it.
    #[serde(borrow, default, deserialize_with = "given")]
    id: Option<&'m RawValue>,
    #[serde(borrow)]
    method: Option<&'m RawValue>,
    #[serde(borrow)]
    params: Option<&'m RawValue>,
}

fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

#[derive(Deserialize)]
struct Given<'m> {
    #[serde(borrow)]
    arguments: Option<&'m RawValue>,
}

#[derive(Deserialize)]
struct ToolCall<'m> {
    #[serde(borrow)]
    name: &'m RawValue,
    #[serde(borrow)]
    arguments: Option<&'m RawValue>,
}

impl ToolCall<'_> {
    fn is_one(&self) -> bool {
        self.name.get().starts_with('"') && self.arguments.is_none_or(|arguments| arguments.get().starts_with('{'))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Cancelled {
    request_id: Option<RequestId>,
}

/// Walks through JSON and checks that each object has each name once. After a failure, the path names the duplicate.
struct Once<'p>(&'p mut Vec<String>);

impl<'de> DeserializeSeed<'de> for Once<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Once<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut names = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            let is_new = names.insert(name.clone());
            self.0.push(name);
            if !is_new {
                return Err(A::Error::custom("twice"));
            }
            map.next_value_seed(Once(self.0))?;
            self.0.pop();
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element_seed(Once(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(body: &str) -> (i32, String, Option<RequestId>) {
        match Said::read(body.as_bytes()) {
            Err(Wrong::Error(error)) => (error.code, error.message, error.id),
            other => panic!("{body}: {other:?}"),
        }
    }

    #[test]
    fn what_is_there_twice_is_named_wherever_it_stands() {
        let call = |arguments: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"x","arguments":{arguments}}}}}"#)
        };
        let id = Some(RequestId::Number(7));
        for (body, code, said, id) in [
            (call(r#"{"script":"1","script":"2"}"#), -32602, "parameter `script` is given twice", id.clone()),
            (call(r#"{"filter":{"status":1,"st\u0061tus":2}}"#), -32602, "parameter `filter.status` is given twice", id.clone()),
            (call(r#"[{"a":1},{"a":{"b":1,"b":2}}]"#), -32602, "parameter `a.b` is given twice", id.clone()),
            (call(r#"{}},"params":{"a":1"#), -32600, "Invalid Request: `params` is given twice", None),
            (r#"{"id":7,"params":{"name":1,"name":2}}"#.to_owned(), -32600, "Invalid Request: `params.name` is given twice", id),
            (r#"{"id":7,"id":8}"#.to_owned(), -32600, "Invalid Request: `id` is given twice", None),
        ] {
            assert_eq!(wrong(&body), (code, said.to_owned(), id), "{body}");
        }
        assert!(Said::read(call(r#"{"a":{"b":1},"b":[{"a":1},{"a":1}]}"#).as_bytes()).is_ok());
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
        assert!(Said::read(call("-0").as_bytes()).is_ok());
        assert_eq!(Said::exact(call("-0").into()), call(" 0"));
        assert_eq!(Said::exact(call("-0.0").into()), call("-0.0"));
    }

    #[test]
    fn an_id_is_a_text_that_can_be_repeated_or_a_whole_number() {
        let with = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        let text = |length| format!("\"{}\"", "x".repeat(length));
        for id in ["1", "-1", "\"a\"", &text(LONGEST_ID)] {
            assert!(Said::read(with(id).as_bytes()).is_ok_and(|said| said.id.is_some()), "{id}");
        }
        for id in ["null", "1.5", "[1]", "{}", "true", &text(LONGEST_ID + 1), &text(1 << 20)] {
            let (code, said, id) = wrong(&with(id));
            assert!(code == -32600 && said.len() < 100 && id.is_none(), "{said}");
        }
    }

    #[test]
    fn a_call_of_a_tool_names_it_and_gives_an_object() {
        let call = |params: &str| format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{params}}}"#);
        for params in ["{}", "[]", "1", r#"{"name":1}"#, r#"{"name":"x","arguments":[]}"#, r#"{"name":"x","arguments":"{}"}"#] {
            let (code, said, id) = wrong(&call(params));
            assert!(code == -32602 && said.contains("tools/call takes") && id == Some(RequestId::Number(7)), "{params}: {said}");
        }
        for params in [r#"{"name":"x"}"#, r#"{"name":"x","arguments":null}"#, r#"{"name":"x","arguments":{},"_meta":{}}"#] {
            assert!(Said::read(call(params).as_bytes()).is_ok(), "{params}");
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
        let cancels = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a","reason":"b"}}"#;
        assert_eq!(Said::read(cancels.as_bytes()).unwrap().cancels, Some(RequestId::String("a".into())));
    }
}
