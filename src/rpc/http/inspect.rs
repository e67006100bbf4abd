use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// What the types of jsonrpsee would make of a body that we would not.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// Nothing: let it answer. The entries of a batch with these numbers have an id that it takes for none.
    Pass(Vec<usize>),
    /// No text: a parse error.
    NotText,
    /// JSON, but no request: an invalid request, whose id cannot be told.
    Invalid,
}

/// Looks at the body of a POST. JSON that is broken passes, because jsonrpsee answers that right.
pub(super) fn inspect(body: &[u8]) -> Finding {
    let Ok(text) = std::str::from_utf8(body) else { return Finding::NotText };
    match serde_json::from_str::<Shape>(text) {
        Ok(Shape::Call(call)) if call.id == Id::Bad || (call.id == Id::Absent && !call.is_request()) => Finding::Invalid,
        Ok(Shape::Batch(entries)) => Finding::Pass(entries),
        Ok(_) | Err(_) => Finding::Pass(Vec::new()),
    }
}

#[derive(Debug, PartialEq, Eq, Default)]
enum Id {
    #[default]
    Absent,
    Good,
    Bad,
}

impl Id {
    /// Whether jsonrpsee can read it: null, a text, or a number it can hold.
    fn of(raw: &RawValue) -> Self {
        let raw = raw.get();
        let good =
            raw == "null" || raw.parse::<u64>().is_ok() || (raw.starts_with('"') && serde_json::from_str::<Cow<'_, str>>(raw).is_ok());
        if good { Self::Good } else { Self::Bad }
    }
}

#[derive(Debug, Default)]
struct Call {
    id: Id,
    version: bool,
    method: bool,
}

impl Call {
    fn is_request(&self) -> bool {
        self.version && self.method
    }
}

/// The outline of a body: only what decides whether it is answered.
enum Shape {
    Call(Call),
    /// The entries that would not be answered.
    Batch(Vec<usize>),
    Other,
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Outline { nested: false })
    }
}

struct Outline {
    /// Within a batch; batches of batches are not looked into.
    nested: bool,
}

/// An entry of a batch: whether its id would be lost.
struct Entry(bool);

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let shape = deserializer.deserialize_any(Outline { nested: true })?;
        Ok(Self(matches!(shape, Shape::Call(Call { id: Id::Bad, .. }))))
    }
}

impl<'de> Visitor<'de> for Outline {
    type Value = Shape;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut call = Call::default();
        while let Some(key) = map.next_key::<Cow<'_, str>>()? {
            match &*key {
                "id" if call.id == Id::Absent => call.id = Id::of(map.next_value()?),
                "id" => {
                    map.next_value::<IgnoredAny>()?;
                    call.id = Id::Bad; // Twice.
                }
                "jsonrpc" => call.version = map.next_value::<&RawValue>()?.get() == r#""2.0""#,
                "method" => call.method = map.next_value::<&RawValue>()?.get().starts_with('"'),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(Shape::Call(call))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        if self.nested {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(Shape::Other);
        }
        let mut lost = Vec::new();
        let mut at = 0;
        while let Some(Entry(is_lost)) = seq.next_element()? {
            if is_lost {
                lost.push(at);
            }
            at += 1;
        }
        Ok(Shape::Batch(lost))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Shape::Other)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Shape::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(Shape::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Shape::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Shape::Other)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(Shape::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_would_be_lost_are_found() {
        for id in ["-1", "1.5", "true", "{}", "[]", "1e400", "18446744073709551616", r#""\ud800""#, r#"1,"id":2"#] {
            let body = format!(r#"{{"jsonrpc":"2.0","method":"ping","id":{id}}}"#);
            assert_eq!(inspect(body.as_bytes()), Finding::Invalid, "{id}");
            let batch = format!(r#"[{{"jsonrpc":"2.0","method":"ping","id":1}},{body},7,[]]"#);
            assert_eq!(inspect(batch.as_bytes()), Finding::Pass(vec![1]), "{id}");
        }
        for id in ["0", "18446744073709551615", "null", r#""x""#] {
            let body = format!(r#"{{"jsonrpc":"2.0","method":"ping","id":{id}}}"#);
            assert_eq!(inspect(body.as_bytes()), Finding::Pass(vec![]), "{id}");
        }
    }

    #[test]
    fn only_what_is_no_request_is_refused() {
        assert_eq!(inspect(br#"{"jsonrpc":"2.0","method":"ping"}"#), Finding::Pass(vec![]));
        assert_eq!(inspect(br#"{"jsonrpc":"2.0","method":1,"params":"bar"}"#), Finding::Invalid);
        assert_eq!(inspect(br#"{"jsonrpc":"1.0","method":"ping"}"#), Finding::Invalid);
        assert_eq!(inspect(b"{"), Finding::Pass(vec![]));
        assert_eq!(inspect(b"{\"\xff\":1}"), Finding::NotText);
        assert_eq!(inspect("[".repeat(100_000).as_bytes()), Finding::Pass(vec![]));
    }
}
