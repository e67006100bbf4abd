//! Reads parameters, by name or by position, strictly: what is wrong is named.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::{CowStrDeserializer, MapAccessDeserializer};
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::error::Error;

/// The names of a method's parameters, in document order.
pub(super) type Names = [String];

/// The parameters of a call; `raw` is its `params` as it stands, or nothing.
///
/// By name every parameter must be known. By position there may not be more than there are names, and `null` means not given.
pub(super) fn parse<P: DeserializeOwned>(raw: Option<&str>, names: &Names) -> Result<P, Error> {
    let mut current = None;
    let parsed = match raw.map(|raw| raw.trim_ascii_start().as_bytes().first()) {
        None => P::deserialize(MapAccessDeserializer::new(Named { inner: Nothing, names, current: &mut current })),
        Some(Some(b'{')) => by_name(raw.unwrap_or_default(), names, &mut current),
        Some(Some(b'[')) => by_position(raw.unwrap_or_default(), names, &mut current),
        Some(_) => return Err(Error::Params(format!("params must be an object or an array: {}", listed(names)))),
    };
    parsed.map_err(|error| {
        Error::Params(match current {
            Some(name) => format!("parameter `{name}`: {error}"),
            None => error.to_string(),
        })
    })
}

fn by_name<'n, P: DeserializeOwned>(raw: &str, names: &'n Names, current: &mut Option<&'n str>) -> Result<P, serde_json::Error> {
    let mut json = serde_json::Deserializer::from_str(raw);
    let params = json.deserialize_map(Object { names, current, read: std::marker::PhantomData })?;
    json.end()?;
    Ok(params)
}

fn by_position<'n, P: DeserializeOwned>(raw: &str, names: &'n Names, current: &mut Option<&'n str>) -> Result<P, serde_json::Error> {
    let values: Vec<&RawValue> = serde_json::from_str(raw)?;
    if values.len() > names.len() {
        return Err(serde_json::Error::custom(format!(
            "{} parameters, but at most {} are known: {}",
            values.len(),
            names.len(),
            listed(names)
        )));
    }
    let given = names.iter().zip(values).filter(|(_, value)| value.get() != "null");
    P::deserialize(MapAccessDeserializer::new(Named { inner: Positional { given, value: None }, names, current }))
}

fn listed(names: &Names) -> String {
    if names.is_empty() { "the method has none".into() } else { names.join(", ") }
}

/// Reads a JSON object through [`Named`].
struct Object<'n, 'c, P> {
    names: &'n Names,
    current: &'c mut Option<&'n str>,
    read: std::marker::PhantomData<P>,
}

impl<'de, P: DeserializeOwned> Visitor<'de> for Object<'_, '_, P> {
    type Value = P;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("parameters by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, inner: A) -> Result<P, A::Error> {
        P::deserialize(MapAccessDeserializer::new(Named { inner, names: self.names, current: self.current }))
    }
}

/// A map that refuses keys that are not among `names`, and leaves the name of a parameter whose value is wrong in `current`.
struct Named<'n, 'c, A> {
    inner: A,
    names: &'n Names,
    current: &'c mut Option<&'n str>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Named<'_, '_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        let Some(Key(key)) = self.inner.next_key()? else { return Ok(None) };
        let Some(name) = self.names.iter().find(|name| **name == key) else {
            let key: String = key.chars().take(48).collect();
            return Err(A::Error::custom(format!("unknown parameter `{key}`; known: {}", listed(self.names))));
        };
        // Duplicates surface as errors of this call, so the name must be set before it.
        let deserializer: CowStrDeserializer<'_, A::Error> = Cow::Borrowed(name.as_str()).into_deserializer();
        *self.current = Some(name);
        seed.deserialize(deserializer).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        let value = self.inner.next_value_seed(seed)?;
        *self.current = None;
        Ok(value)
    }
}

/// A key of a JSON object, borrowed unless it has escapes.
struct Key<'de>(Cow<'de, str>);

impl<'de> serde::Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a parameter")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

/// Parameters that were given by position.
struct Positional<'de, I> {
    given: I,
    value: Option<&'de RawValue>,
}

impl<'de: 'n, 'n, I: Iterator<Item = (&'n String, &'de RawValue)>> MapAccess<'de> for Positional<'de, I> {
    type Error = serde_json::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Self::Error> {
        let Some((name, value)) = self.given.next() else { return Ok(None) };
        self.value = Some(value);
        let deserializer: CowStrDeserializer<'_, Self::Error> = Cow::Borrowed(name.as_str()).into_deserializer();
        seed.deserialize(deserializer).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Self::Error> {
        let value = self.value.take().map_or("null", RawValue::get);
        seed.deserialize(&mut serde_json::Deserializer::from_str(value))
    }
}

/// No parameters.
struct Nothing;

impl<'de> MapAccess<'de> for Nothing {
    type Error = serde_json::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, _: K) -> Result<Option<K::Value>, Self::Error> {
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, _: V) -> Result<V::Value, Self::Error> {
        Err(serde_json::Error::custom("there are no values without keys"))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::Value;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Sample {
        text: String,
        #[serde(default)]
        number: u32,
        any: Option<Value>,
    }

    fn read(raw: Option<&str>) -> Result<Sample, String> {
        parse(raw, &["text".into(), "number".into(), "any".into()]).map_err(|error| error.to_string())
    }

    #[test]
    fn names_and_positions_say_the_same() {
        let expected = Sample { text: "a".into(), number: 7, any: Some(serde_json::json!([1])) };
        assert_eq!(read(Some(r#"{"any":[1],"text":"a","number":7}"#)).unwrap(), expected);
        assert_eq!(read(Some(r#" ["a",7,[1]]"#)).unwrap(), expected);
        assert_eq!(read(Some(r#"["a"]"#)).unwrap(), Sample { text: "a".into(), number: 0, any: None });
        assert_eq!(read(Some(r#"["a",null,null]"#)).unwrap(), Sample { text: "a".into(), number: 0, any: None });
        assert_eq!(read(Some(r#"{"te\u0078t":"a"}"#)).unwrap().text, "a");
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (raw, expected) in [
            (r#"{"text":"a","nunber":7}"#, "unknown parameter `nunber`; known: text, number, any"),
            (r#"{"text":"a","number":-1}"#, "parameter `number`: invalid value: integer `-1`, expected u32"),
            (r#"["a","b"]"#, "parameter `number`: invalid type: string \"b\", expected u32"),
            (r#"["a",1,2,3]"#, "4 parameters, but at most 3 are known: text, number, any"),
            (r#"{"number":1}"#, "missing field `text`"),
            (r#"{"text":"a","text":"b"}"#, "duplicate field `text`"),
            (r#""a""#, "params must be an object or an array"),
            ("5", "params must be an object or an array"),
        ] {
            let error = read(Some(raw)).unwrap_err();
            assert!(error.contains(expected), "{raw}: {error}");
        }
        assert!(read(None).unwrap_err().contains("missing field `text`"));
    }

    #[test]
    fn deep_nesting_is_an_error_and_no_stack_overflow() {
        let deep = format!(r#"{{"text":"a","any":{}{}}}"#, "[".repeat(200_000), "]".repeat(200_000));
        assert!(read(Some(&deep)).unwrap_err().contains("recursion limit"));
        let deep = format!(r#"["a",1,{}{}]"#, "[".repeat(200_000), "]".repeat(200_000));
        assert!(read(Some(&deep)).unwrap_err().contains("recursion limit"));
    }
}
