//! Reads parameters, by name or by position, strictly: what is wrong is named.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{CowStrDeserializer, MapAccessDeserializer};
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::error::Error;
use crate::model::Beyond;

/// The names of a method's parameters, in document order.
pub(super) type Names = [String];

/// The parameters of a call; `raw` is its `params` as it stands, or nothing.
///
/// By name every parameter must be known. By position there may not be more than there are names. Either way `null` means not given,
/// and an integer beyond 64 bits is refused, because it would be rounded.
pub(super) fn parse<P: FromParameters>(raw: Option<&str>, names: &Names) -> Result<P, Error> {
    let mut current = None;
    let given = match raw.map(|raw| (raw, raw.trim_ascii_start().as_bytes().first())) {
        None => Ok(Vec::new()),
        Some((raw, Some(b'{'))) => by_name(raw, names, &mut current),
        Some((raw, Some(b'['))) => by_position(raw, names),
        Some(_) => return Err(Error::Params(format!("params must be an object or an array: {}", listed(names)))),
    };
    let parsed = given.and_then(|mut named| {
        named.retain(|(_, value)| value.get() != "null");
        P::read(Given { named, current: &mut current })
    });
    parsed.map_err(|error| {
        Error::Params(match current {
            Some(name) => format!("parameter `{name}`: {error}"),
            None => error.to_string(),
        })
    })
}

/// What reads itself from the parameters of a call: whatever can be deserialized, field by field.
pub trait FromParameters: Sized {
    /// Reads itself. `null` is not among what is given, and every name is known.
    fn read(given: Given<'_, '_>) -> Result<Self, serde_json::Error>;
}

impl<P: DeserializeOwned> FromParameters for P {
    fn read(given: Given<'_, '_>) -> Result<Self, serde_json::Error> {
        given.rest()
    }
}

/// The parameters that a call gives.
pub struct Given<'g, 'c> {
    named: Named<'g, 'g>,
    /// The one that is read, so that an error can name it.
    current: &'c mut Option<&'g str>,
}

impl<'g> Given<'g, '_> {
    /// Takes one of them out, if it is given.
    pub(super) fn take<T: DeserializeOwned>(&mut self, name: &str) -> Result<Option<T>, serde_json::Error> {
        let Some(at) = self.named.iter().position(|(other, _)| *other == name) else { return Ok(None) };
        let (name, value) = self.named.remove(at);
        read_value(name, value, PhantomData, self.current).map(Some)
    }

    /// Reads all that are left, as the fields of one type.
    pub(super) fn rest<T: DeserializeOwned>(self) -> Result<T, serde_json::Error> {
        T::deserialize(MapAccessDeserializer::new(Fields { given: self.named.into_iter(), next: None, current: self.current }))
    }
}

/// Reads the value of one parameter. Its name stays in `current` if the value is wrong.
fn read_value<'g, V: DeserializeSeed<'g>>(
    name: &'g str,
    value: &'g RawValue,
    seed: V,
    current: &mut Option<&'g str>,
) -> Result<V::Value, serde_json::Error> {
    *current = Some(name);
    if let Some(beyond) = Beyond::find(value.get(), name) {
        return Err(serde_json::Error::custom(beyond));
    }
    let value = seed.deserialize(&mut serde_json::Deserializer::from_str(value.get()))?;
    *current = None;
    Ok(value)
}

/// Parameters with their names, each once.
type Named<'n, 'r> = Vec<(&'n str, &'r RawValue)>;

fn by_name<'n, 'r>(raw: &'r str, names: &'n Names, current: &mut Option<&'n str>) -> Result<Named<'n, 'r>, serde_json::Error> {
    let mut json = serde_json::Deserializer::from_str(raw);
    let given = json.deserialize_map(Object { names, current })?;
    json.end()?;
    Ok(given)
}

fn by_position<'n, 'r>(raw: &'r str, names: &'n Names) -> Result<Named<'n, 'r>, serde_json::Error> {
    let values: Vec<&RawValue> = serde_json::from_str(raw)?;
    if values.len() > names.len() {
        return Err(serde_json::Error::custom(format!(
            "{} parameters, but at most {} are known: {}",
            values.len(),
            names.len(),
            listed(names)
        )));
    }
    Ok(names.iter().map(String::as_str).zip(values).collect())
}

fn listed(names: &Names) -> String {
    if names.is_empty() { "the method has none".into() } else { names.join(", ") }
}

/// Reads a JSON object whose keys are among `names`.
struct Object<'n, 'c> {
    names: &'n Names,
    current: &'c mut Option<&'n str>,
}

impl<'de, 'n> Visitor<'de> for Object<'n, '_> {
    type Value = Named<'n, 'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("parameters by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut given: Named<'n, 'de> = Vec::new();
        while let Some(Key(key)) = map.next_key()? {
            let Some(name) = self.names.iter().find(|name| **name == key) else {
                let key: String = key.chars().take(48).collect();
                return Err(A::Error::custom(format!("unknown parameter `{key}`; known: {}", listed(self.names))));
            };
            if given.iter().any(|(other, _)| other == name) {
                *self.current = Some(name);
                return Err(A::Error::custom(format!("duplicate field `{name}`")));
            }
            given.push((name, map.next_value()?));
        }
        Ok(given)
    }
}

/// A key of a JSON object, borrowed unless it has escapes.
pub(super) struct Key<'de>(pub(super) Cow<'de, str>);

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

/// Reads parameters as a map.
struct Fields<'c, 'g, I> {
    given: I,
    next: Option<(&'g str, &'g RawValue)>,
    current: &'c mut Option<&'g str>,
}

impl<'g, I: Iterator<Item = (&'g str, &'g RawValue)>> MapAccess<'g> for Fields<'_, 'g, I> {
    type Error = serde_json::Error;

    fn next_key_seed<K: DeserializeSeed<'g>>(&mut self, seed: K) -> Result<Option<K::Value>, Self::Error> {
        self.next = self.given.next();
        let Some((name, _)) = self.next else { return Ok(None) };
        *self.current = Some(name);
        let deserializer: CowStrDeserializer<'_, Self::Error> = Cow::Borrowed(name).into_deserializer();
        seed.deserialize(deserializer).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'g>>(&mut self, seed: V) -> Result<V::Value, Self::Error> {
        let (name, value) = self.next.take().ok_or_else(|| serde_json::Error::custom("a value without a name"))?;
        read_value(name, value, seed, self.current)
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
        assert_eq!(read(Some(r#"{"number": null ,"text":"a","any":null}"#)).unwrap(), Sample { text: "a".into(), number: 0, any: None });
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
            (r#"{"text":"a","nunber":null}"#, "unknown parameter `nunber`; known: text, number, any"),
            (r#"{"text":null}"#, "missing field `text`"),
            (r#"{"text":"a","number":1.0}"#, "parameter `number`: invalid type: floating point `1.0`, expected u32"),
            (r#"{"text":"a","any":[{"n":9223372036854775808}]}"#, "parameter `any`: any[0].n is 9223372036854775808, beyond the integers"),
            (r#"["a",1,-9223372036854775809]"#, "parameter `any`: any is -9223372036854775809, beyond the integers"),
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
