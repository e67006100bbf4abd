//! Conversions between JSON and Rhai values, with limits on depth and size.

use std::io::Write;

use rhai::{Array, Blob, Dynamic, FnPtr, ImmutableString, Map};
use serde_json::{Number, Value};

use crate::Limits;
use crate::limits::{FIXED, size};
use hero_model::{ErrorKind, JobError, Limit, Output, OutputFormat};

/// Why a value cannot become JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refused {
    #[error("is too large")]
    TooLarge,
    #[error("is nested deeper than {}", Limits::RESULT_DEPTH)]
    TooDeep,
    #[error("holds {0}, which JSON can't say")]
    NotJson(String),
}

/// Converts the result of a script to its stored form: empty, a text, or JSON.
pub(super) fn output(value: &Dynamic, cap: usize) -> Result<Output, JobError> {
    let text = |text: String| if text.len() <= cap { Ok(Output { text, format: OutputFormat::Text }) } else { Err(Refused::TooLarge) };
    let output = if value.is_unit() {
        Ok(Output { text: String::new(), format: OutputFormat::Empty })
    } else if let Some(string) = value.read_lock::<ImmutableString>() {
        text(string.as_str().to_owned())
    } else if let Ok(char) = value.as_char() {
        text(char.into())
    } else {
        json(cap, |json| json.value(value, 0)).map(|text| Output { text, format: OutputFormat::Json })
    };
    output.map_err(|refused| match refused {
        Refused::TooLarge => error(Some(Limit::Result), format!("the result has more than {} (script_result)", size(cap))),
        Refused::TooDeep => error(Some(Limit::Result), format!("the result {refused} ({FIXED})")),
        Refused::NotJson(_) => error(None, format!("the result {refused}")),
    })
}

fn error(limit: Option<Limit>, message: String) -> JobError {
    let kind = if limit.is_some() { ErrorKind::Limit } else { ErrorKind::Script };
    JobError { limit, ..JobError::new(kind, message) }
}

/// The JSON of a value.
pub(super) fn json_of(value: &Dynamic, cap: usize) -> Result<String, Refused> {
    json(cap, |json| json.value(value, 0))
}

/// The JSON of a map.
pub(super) fn json_of_map(map: &Map, cap: usize) -> Result<String, Refused> {
    json(cap, |json| json.map(map, 0))
}

/// The JSON of an array.
pub(super) fn json_of_array(items: &Array, cap: usize) -> Result<String, Refused> {
    json(cap, |json| json.array(items, 0))
}

/// The JSON of a value that a script threw. Decimal numbers become texts: a reader would round them, and a rounded
/// secret is not recognised.
pub(super) fn json_of_thrown(value: &Dynamic, cap: usize) -> Result<String, Refused> {
    json_as(cap, true, |json| json.value(value, 0))
}

fn json(cap: usize, write: impl FnOnce(&mut Json) -> Result<(), Refused>) -> Result<String, Refused> {
    json_as(cap, false, write)
}

fn json_as(cap: usize, decimals_as_text: bool, write: impl FnOnce(&mut Json) -> Result<(), Refused>) -> Result<String, Refused> {
    let mut json = Json { out: Vec::new(), cap, decimals_as_text };
    write(&mut json)?;
    Ok(String::from_utf8(json.out).expect("JSON written from strings is UTF-8"))
}

struct Json {
    out: Vec<u8>,
    cap: usize,
    decimals_as_text: bool,
}

impl Json {
    fn value(&mut self, value: &Dynamic, depth: usize) -> Result<(), Refused> {
        // A shared value that is being changed cannot be read: it contains itself.
        let value = value.read_lock::<Dynamic>().ok_or(Refused::TooDeep)?;
        if let Ok(int) = value.as_int() {
            self.put(format_args!("{int}"))
        } else if let Some(text) = value.read_lock::<ImmutableString>() {
            self.string(&text)
        } else if let Ok(bool) = value.as_bool() {
            self.put(format_args!("{bool}"))
        } else if let Ok(float) = value.as_float() {
            match Number::from_f64(float) {
                Some(number) => self.put(format_args!("{number}")),
                None => Err(Refused::NotJson(format!("the number {float}"))),
            }
        } else if let Ok(decimal) = value.as_decimal() {
            if self.decimals_as_text { self.string(&decimal.to_string()) } else { self.put(format_args!("{decimal}")) }
        } else if let Some(items) = value.read_lock::<Array>() {
            self.array(&items, depth)
        } else if let Some(map) = value.read_lock::<Map>() {
            self.map(&map, depth)
        } else if value.is_unit() {
            self.put(format_args!("null"))
        } else if let Ok(char) = value.as_char() {
            self.string(char.encode_utf8(&mut [0; 4]))
        } else if let Some(blob) = value.read_lock::<Blob>() {
            deeper(depth)?;
            self.list(blob.iter(), |json, byte| json.put(format_args!("{byte}")))
        } else if let Some(function) = value.read_lock::<FnPtr>() {
            let name = if function.is_anonymous() { "a closure".to_owned() } else { format!("the function {}", function.fn_name()) };
            Err(Refused::NotJson(name))
        } else {
            Err(Refused::NotJson(format!("a value of type {}", value.type_name())))
        }
    }

    fn array(&mut self, items: &Array, depth: usize) -> Result<(), Refused> {
        let depth = deeper(depth)?;
        self.list(items.iter(), |json, item| json.value(item, depth))
    }

    fn map(&mut self, map: &Map, depth: usize) -> Result<(), Refused> {
        let depth = deeper(depth)?;
        self.put(format_args!("{{"))?;
        for (at, (name, value)) in map.iter().enumerate() {
            if at > 0 {
                self.put(format_args!(","))?;
            }
            self.string(name)?;
            self.put(format_args!(":"))?;
            self.value(value, depth)?;
        }
        self.put(format_args!("}}"))
    }

    fn list<T>(
        &mut self,
        items: impl Iterator<Item = T>,
        mut each: impl FnMut(&mut Self, T) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        self.put(format_args!("["))?;
        for (at, item) in items.enumerate() {
            if at > 0 {
                self.put(format_args!(","))?;
            }
            each(self, item)?;
        }
        self.put(format_args!("]"))
    }

    fn string(&mut self, text: &str) -> Result<(), Refused> {
        serde_json::to_writer(&mut self.out, text).expect("a string is JSON and a vector takes it");
        self.check()
    }

    fn put(&mut self, text: std::fmt::Arguments<'_>) -> Result<(), Refused> {
        self.out.write_fmt(text).expect("a vector takes all");
        self.check()
    }

    fn check(&self) -> Result<(), Refused> {
        if self.out.len() <= self.cap { Ok(()) } else { Err(Refused::TooLarge) }
    }
}

fn deeper(depth: usize) -> Result<usize, Refused> {
    if depth < Limits::RESULT_DEPTH { Ok(depth + 1) } else { Err(Refused::TooDeep) }
}

/// Converts JSON to a value for scripts: whole numbers become integers, all others floats. The JSON reader has limited
/// the depth.
///
/// Returns `None` if a whole number is too large for the integers of scripts. [`exact`](hero_model::exact) finds it in
/// the text.
pub(super) fn dynamic(value: &Value) -> Option<Dynamic> {
    Some(match value {
        Value::Null => Dynamic::UNIT,
        Value::Bool(bool) => (*bool).into(),
        Value::Number(number) if number.is_f64() => number.as_f64()?.into(),
        Value::Number(number) => number.as_i64()?.into(),
        Value::String(text) => text.as_str().into(),
        Value::Array(items) => Dynamic::from_array(items.iter().map(dynamic).collect::<Option<_>>()?),
        Value::Object(map) => {
            let entries = map.iter().map(|(name, value)| Some((name.as_str().into(), dynamic(value)?)));
            Dynamic::from_map(entries.collect::<Option<_>>()?)
        }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 64, 8, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
                prop::collection::btree_map(any::<String>(), inner, 0..8).prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn json_survives_the_way_through_rhai(value in any_json()) {
            let text = json(1 << 20, |json| json.value(&dynamic(&value).unwrap(), 0)).unwrap();
            prop_assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        }
    }

    #[test]
    fn a_float_stays_a_float_and_no_integer_becomes_one() {
        assert_eq!(output(&Dynamic::from(1.0), 100).unwrap().text, "1.0");
        let read = |text: &str| dynamic(&serde_json::from_str(text).unwrap());
        assert_eq!(output(&read("[1e19, 9223372036854775807]").unwrap(), 100).unwrap().text, "[1e+19,9223372036854775807]");
        assert!(read("[{\"a\": 18446744073709551615}]").is_none() && read("9223372036854775808").is_none());
    }

    #[test]
    fn whatever_becomes_a_list_of_json_is_a_level_and_levels_are_capped() {
        let nested = |levels: usize, inner: Dynamic| (0..levels).fold(inner, |value, _| Dynamic::from_array(vec![value]));
        for inner in [Dynamic::from_array(Array::new()), Dynamic::from_map(Map::new()), Dynamic::from_blob(vec![1])] {
            let deepest = output(&nested(Limits::RESULT_DEPTH - 1, inner.clone()), 1000).unwrap();
            let read = dynamic(&serde_json::from_str(&deepest.text).unwrap()).unwrap();
            assert_eq!(output(&read, 1000).unwrap(), deepest);
            let refused = output(&nested(Limits::RESULT_DEPTH, inner), 1000).unwrap_err();
            assert_eq!((refused.kind, refused.limit), (ErrorKind::Limit, Some(Limit::Result)));
        }
    }

    #[test]
    fn size_is_capped() {
        assert!(output(&Dynamic::from_array(vec![Dynamic::ONE; 50]), 101).is_ok());
        assert_eq!(output(&Dynamic::from_array(vec![Dynamic::ONE; 50]), 100).unwrap_err().limit, Some(Limit::Result));
        assert_eq!(output(&Dynamic::from("x".repeat(11)), 10).unwrap_err().limit, Some(Limit::Result));
    }
}
