//! Reads parameters, by name or by position, strictly: what is wrong is named.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::{CowStrDeserializer, MapAccessDeserializer};
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::error::Error;
use crate::model::{Beyond, Key, plain_zeros, strict};

/// The names of a method's parameters, in document order.
pub(super) type Names = [String];

/// The parameters of a call; `raw` is its `params` as it stands, or nothing.
///
/// By name every parameter must be known. By position there may not be more than there are names. Either way `null` means not given,
/// and an integer beyond 64 bits is refused, because it would be rounded. What a parameter is made of has names only, no positions.
pub(super) fn parse<P: DeserializeOwned>(raw: Option<&str>, names: &Names) -> Result<P, Error> {
    let (mut current, mut place) = (None, String::new());
    let raw = raw.map(plain_zeros);
    let given = match raw.as_deref().map(|raw| (raw, raw.trim_ascii_start().as_bytes().first())) {
        None => Ok(Vec::new()),
        Some((raw, Some(b'{'))) => by_name(raw, names, &mut current),
        Some((raw, Some(b'['))) => by_position(raw, names),
        Some(_) => return Err(Error::Params(format!("params must be an object or an array: {}", listed(names)))),
    };
    let parsed = given.and_then(|given| {
        let given = given.into_iter().filter(|(_, value)| value.get() != "null");
        P::deserialize(MapAccessDeserializer::new(Given { given, value: None, current: &mut current, place: &mut place }))
    });
    parsed.map_err(|error| {
        Error::Params(match current {
            Some(name) => format!("parameter `{name}{place}`: {error}"),
            None => error.to_string(),
        })
    })
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

/// Reads parameters as a map, and leaves the name of one whose value is wrong in `current`, and where it is wrong in `place`.
struct Given<'n, 'c, 'de, I> {
    given: I,
    value: Option<&'de RawValue>,
    current: &'c mut Option<&'n str>,
    place: &'c mut String,
}

impl<'n, 'de, I: Iterator<Item = (&'n str, &'de RawValue)>> MapAccess<'de> for Given<'n, '_, 'de, I> {
    type Error = serde_json::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Self::Error> {
        let Some((name, value)) = self.given.next() else { return Ok(None) };
        self.value = Some(value);
        *self.current = Some(name);
        let deserializer: CowStrDeserializer<'_, Self::Error> = Cow::Borrowed(name).into_deserializer();
        seed.deserialize(deserializer).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Self::Error> {
        let raw = self.value.take().map_or("null", RawValue::get);
        if let Some(beyond) = Beyond::find(raw, self.current.unwrap_or("it")) {
            return Err(serde_json::Error::custom(beyond));
        }
        let value = strict(seed, &mut serde_json::Deserializer::from_str(raw), self.place)?;
        *self.current = None;
        Ok(value)
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
        list: Option<Vec<Part>>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Part {
        of: u8,
    }

    fn read(raw: Option<&str>) -> Result<Sample, String> {
        parse(raw, &["text", "number", "any", "list"].map(Into::into)).map_err(|error| error.to_string())
    }

    #[test]
    fn names_and_positions_say_the_same() {
        let expected = Sample { text: "a".into(), number: 7, any: Some(serde_json::json!([1])), list: None };
        assert_eq!(read(Some(r#"{"any":[1],"text":"a","number":7}"#)).unwrap(), expected);
        assert_eq!(read(Some(r#" ["a",7,[1]]"#)).unwrap(), expected);
        assert_eq!(read(Some(r#"["a"]"#)).unwrap(), Sample { text: "a".into(), number: 0, any: None, list: None });
        assert_eq!(read(Some(r#"["a",null,null]"#)).unwrap(), Sample { text: "a".into(), number: 0, any: None, list: None });
        assert_eq!(read(Some(r#"{"te\u0078t":"a"}"#)).unwrap().text, "a");
        assert_eq!(
            read(Some(r#"{"number": null ,"text":"a","any":null}"#)).unwrap(),
            Sample { text: "a".into(), number: 0, any: None, list: None }
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (raw, expected) in [
            (r#"{"text":"a","nunber":7}"#, "unknown parameter `nunber`; known: text, number, any, list"),
            (r#"{"text":"a","number":-1}"#, "parameter `number`: invalid value: integer `-1`, expected u32"),
            (r#"["a","b"]"#, "parameter `number`: invalid type: string \"b\", expected u32"),
            (r#"["a",1,2,[],3]"#, "5 parameters, but at most 4 are known: text, number, any, list"),
            (r#"{"number":1}"#, "missing field `text`"),
            (r#"{"text":"a","text":"b"}"#, "duplicate field `text`"),
            (r#"{"text":"a","nunber":null}"#, "unknown parameter `nunber`; known: text, number, any, list"),
            (r#"{"text":null}"#, "missing field `text`"),
            (r#"{"text":"a","number":1.0}"#, "parameter `number`: invalid type: floating point `1.0`, expected u32"),
            (r#"{"text":"a","any":[{"n":9223372036854775808}]}"#, "parameter `any`: any[0].n is 9223372036854775808, beyond the integers"),
            (r#"["a",1,-9223372036854775809]"#, "parameter `any`: any is -9223372036854775809, beyond the integers"),
            (r#"{"text":"a","list":[[1]]}"#, "parameter `list[0]`: invalid type: sequence, expected an object"),
            (r#"{"text":"a","list":[{"of":1},{"of":"1"}]}"#, "parameter `list[1].of`: invalid type: string \"1\", expected u8"),
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
