use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use super::tree::MARK;

/// The names that lead to the first member of a JSON text that stands in its object a second time, or has the name
/// [`MARK`], itself the last; nothing if there is none. For JSON that a library reads with serde_json's own reader.
///
/// A reader of JSON takes one of the two and drops the other silently, and programs do not agree which.
pub fn twice_or_marked(json: &[u8]) -> Result<Option<Vec<String>>, serde_json::Error> {
    let (mut path, mut reader) = (Vec::new(), serde_json::Deserializer::from_slice(json));
    match Once(&mut path).deserialize(&mut reader).and_then(|()| reader.end()) {
        Ok(()) => Ok(None),
        Err(error) if error.is_data() => Ok(Some(path)),
        Err(error) => Err(error),
    }
}

/// Goes through JSON in which each object has each name once. Where it does not, the path leads to what is there twice.
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
            let is_refused = !names.insert(name.clone()) || name == MARK;
            self.0.push(name);
            if is_refused {
                return Err(A::Error::custom("refused"));
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

    #[test]
    fn duplicate_keys_are_found_at_any_depth_and_in_any_spelling() {
        let found = |json: &str| twice_or_marked(json.as_bytes()).unwrap().map(|path| path.join("."));
        for (json, path) in
            [(r#"{"a":1,"a":2}"#, "a"), (r#"{"a":{"b":1,"\u0062":2}}"#, "a.b"), (r#"[{"a":1},{"a":[{"b":1,"c":2,"b":3}]}]"#, "a.b")]
        {
            assert_eq!(found(json).as_deref(), Some(path), "{json}");
        }
        for json in [r#"{"a":{"b":1},"b":[{"a":1},{"a":1}]}"#, "[]", "null", "-1.5", "\"a\""] {
            assert_eq!(found(json), None, "{json}");
        }
        let marked = r#"{"a":[1,{"b":{"\u0024serde_json::private::RawValue":"[]"}}]}"#;
        let path = twice_or_marked(marked.as_bytes()).unwrap().unwrap();
        assert_eq!(path, ["a", "b", MARK]);
        assert_eq!(twice_or_marked(br#"{"a":"$serde_json::private::RawValue"}"#).unwrap(), None);
        for json in ["", "{", r#"{"a":1} {}"#] {
            assert!(twice_or_marked(json.as_bytes()).is_err(), "{json}");
        }
    }
}
