use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Returns the tree of values of a JSON text, exactly as written. Fails if the text is not JSON, or has more than 127
/// nested arrays and objects.
///
/// Use this for all JSON of clients, scripts and foreign programs, and never let serde_json read a [`Value`] itself. If
/// an object begins with the name [`MARK`], serde_json reads the JSON in the text of that
/// member instead. That changes the meaning, and each such text may be nested as deeply again, until the stack
/// overflows.
pub fn tree(text: &str) -> Result<Value, serde_json::Error> {
    let mut json = serde_json::Deserializer::from_str(text);
    let value = Tree.deserialize(&mut json)?;
    json.end()?;
    Ok(value)
}

/// The name by which serde_json marks JSON in a text.
pub const MARK: &str = "$serde_json::private::RawValue";

struct Tree;

impl<'de> DeserializeSeed<'de> for Tree {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tree {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Self)? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(Self)?;
            map.insert(name, value);
        }
        Ok(map.into())
    }
}

#[cfg(test)]
pub(super) mod marked {
    pub(crate) use super::MARK as NAME;

    /// `texts` such texts inside each other, each with 100 levels of its own. 60 make 6,000 levels, too deep for the stack of a server's thread.
    pub(crate) fn nested(texts: usize) -> String {
        (0..texts).fold("1".to_owned(), |inner, _| around(&format!("\"{}\"", inner.replace('\\', "\\u005c").replace('"', "\\u0022"))))
    }

    /// [`nested`] as serde_json writes it.
    pub(crate) fn written(texts: usize) -> String {
        around(&serde_json::json!(nested(texts - 1)).to_string())
    }

    fn around(inner: &str) -> String {
        format!("{}{{\"{NAME}\":{inner}}}{}", "[".repeat(99), "]".repeat(99))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_json_in_a_text_stays_text() {
        assert_eq!(tree(&marked::nested(60)).unwrap().to_string(), marked::written(60));
        assert_eq!(tree(r#"{"$serde_json::private::RawValue":"["}"#).unwrap()[marked::NAME], "[");
    }

    #[test]
    fn what_is_no_json_or_too_deep_is_refused() {
        for text in ["", "{", "[1,]", "nul", "1 2", "{1:2}"] {
            assert!(tree(text).is_err(), "{text}");
        }
        let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
        assert!(tree(&deep).unwrap_err().to_string().contains("recursion limit"));
    }
}
