//! Reads parameters by name or by position. It is strict, and its errors tell the caller which parameter is wrong and why.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{CowStrDeserializer, MapAccessDeserializer};
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

pub(crate) use self::error::ParamsError;
use self::error::listed;
use self::located::Located;
use super::error::Error;
use crate::jsonrpc::member_name::MemberName;
use hero_model::{Beyond, plain_zeros};

mod error;
mod located;

/// The names of a method's parameters, in document order.
pub(super) type Names = [String];

/// Reads the parameters of a call; `raw` is its `params` in JSON, or nothing.
///
/// By name, every parameter must be known. By position, there may be as many as there are names. In both forms `null` means not given, and
/// an integer beyond 64 bits is refused, because it would be rounded. The fields inside a parameter are given by name only.
pub(super) fn parse<P: FromParameters>(raw: Option<&str>, names: &Names) -> Result<P, Error> {
    let raw = raw.map(plain_zeros);
    let given = match raw.as_deref().map(|raw| (raw, raw.trim_ascii_start().as_bytes().first())) {
        None => Ok(Vec::new()),
        Some((raw, Some(b'{'))) => by_name(raw, names),
        Some((raw, Some(b'['))) => by_position(raw, names),
        Some(_) if names.is_empty() => return Err(Error::Params("params must be an object or an array, and empty".into())),
        Some(_) => return Err(Error::Params(format!("params must be an object or an array: {}", listed(names)))),
    };
    let parsed = given.and_then(|mut named| {
        named.retain(|(_, value)| value.get() != "null");
        P::read(GivenParams { named })
    });
    parsed.map_err(|fault| Error::Params(fault.to_string()))
}

/// Reads JSON text, for example from a file, in the same way as a parameter `name`. Errors have their place in the text.
pub fn read_as_parameter<T: DeserializeOwned>(text: &str, name: &str) -> Result<T, ParamsError> {
    read_value(name, &plain_zeros(text), PhantomData)
}

/// A type that can be read from the parameters of a call. Every deserializable type is one.
pub trait FromParameters: Sized {
    /// Reads the type. Parameters that are `null` were removed, and every name is known.
    fn read(given: GivenParams<'_>) -> Result<Self, ParamsError>;
}

impl<P: DeserializeOwned> FromParameters for P {
    fn read(given: GivenParams<'_>) -> Result<Self, ParamsError> {
        given.rest()
    }
}

/// The parameters that a call gives.
pub struct GivenParams<'g> {
    named: NamedParams<'g, 'g>,
}

impl GivenParams<'_> {
    /// Removes one parameter and returns it, if it was given.
    pub(super) fn take<T: DeserializeOwned>(&mut self, name: &str) -> Result<Option<T>, ParamsError> {
        let Some(at) = self.named.iter().position(|(other, _)| *other == name) else { return Ok(None) };
        let (name, value) = self.named.remove(at);
        read_value(name, value.get(), PhantomData).map(Some)
    }

    /// Reads all remaining parameters as the fields of one type.
    pub(super) fn rest<T: DeserializeOwned>(self) -> Result<T, ParamsError> {
        T::deserialize(MapAccessDeserializer::new(Fields { given: self.named.into_iter(), next: None }))
    }
}

/// Reads the value of one parameter.
fn read_value<'g, V: DeserializeSeed<'g>>(name: &str, raw: &'g str, seed: V) -> Result<V::Value, ParamsError> {
    let read = seed.deserialize(Located(&mut serde_json::Deserializer::from_str(raw))).map_err(|fault| fault.inside(name));
    match (read, Beyond::find(raw, name)) {
        // Only a type that takes any JSON accepts it.
        (Ok(_), Some(beyond)) => Err(ParamsError::beyond(&beyond)),
        (Err(fault), Some(beyond)) => Err(fault.with_number(beyond)),
        (read, None) => read,
    }
}

/// Parameters with their names, each once.
type NamedParams<'n, 'r> = Vec<(&'n str, &'r RawValue)>;

fn by_name<'n, 'r>(raw: &'r str, names: &'n Names) -> Result<NamedParams<'n, 'r>, ParamsError> {
    let mut fault = None;
    let mut json = serde_json::Deserializer::from_str(raw);
    let read = json.deserialize_map(Object { names, fault: &mut fault }).and_then(|given| json.end().map(|()| given));
    read.map_err(|error| fault.unwrap_or_else(|| ParamsError::parser(error)))
}

fn by_position<'n, 'r>(raw: &'r str, names: &'n Names) -> Result<NamedParams<'n, 'r>, ParamsError> {
    let values: Vec<&RawValue> = serde_json::from_str(raw).map_err(ParamsError::parser)?;
    if values.len() > names.len() {
        let (given, known) = (values.len(), names.len());
        return Err(ParamsError::custom(match known {
            0 => format!("the method has no parameters, but got {given}"),
            1 => format!("the method has one parameter ({}), but got {given}", listed(names)),
            _ => format!("the method has at most {known} parameters ({}), but got {given}", listed(names)),
        }));
    }
    Ok(names.iter().map(String::as_str).zip(values).collect())
}

/// Reads a JSON object whose keys are among `names`, and stores errors about the keys in `fault`.
struct Object<'n, 'f> {
    names: &'n Names,
    fault: &'f mut Option<ParamsError>,
}

impl<'de, 'n> Visitor<'de> for Object<'n, '_> {
    type Value = NamedParams<'n, 'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("parameters by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut given: NamedParams<'n, 'de> = Vec::new();
        while let Some(MemberName(key)) = map.next_key()? {
            let wrong = match self.names.iter().find(|name| **name == key) {
                None => ParamsError::unknown(&key, self.names),
                Some(name) if given.iter().any(|(other, _)| other == name) => ParamsError::twice(name),
                Some(name) => {
                    given.push((name, map.next_value()?));
                    continue;
                }
            };
            *self.fault = Some(wrong);
            return Err(A::Error::custom(""));
        }
        Ok(given)
    }
}

/// Reads parameters as a map.
struct Fields<'g, I> {
    given: I,
    next: Option<(&'g str, &'g RawValue)>,
}

impl<'g, I: Iterator<Item = (&'g str, &'g RawValue)>> MapAccess<'g> for Fields<'g, I> {
    type Error = ParamsError;

    fn next_key_seed<K: DeserializeSeed<'g>>(&mut self, seed: K) -> Result<Option<K::Value>, ParamsError> {
        self.next = self.given.next();
        let Some((name, _)) = self.next else { return Ok(None) };
        let deserializer: CowStrDeserializer<'_, ParamsError> = Cow::Borrowed(name).into_deserializer();
        seed.deserialize(deserializer).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'g>>(&mut self, seed: V) -> Result<V::Value, ParamsError> {
        let (name, value) = self.next.take().ok_or_else(|| ParamsError::custom("a value without a name"))?;
        read_value(name, value.get(), seed)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde_json::Value;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Sample {
        text: String,
        #[serde(default)]
        number: u32,
        any: Option<Value>,
        #[serde(default)]
        inner: Vec<Inner>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        word: Word,
        #[serde(default)]
        map: BTreeMap<String, String>,
        #[serde(default)]
        inner: Vec<Inner>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Word {
        One,
        Two,
    }

    fn read(raw: Option<&str>) -> Result<Sample, String> {
        parse(raw, &["text".into(), "number".into(), "any".into(), "inner".into()]).map_err(|error| error.to_string())
    }

    #[test]
    fn names_and_positions_say_the_same() {
        let expected = Sample { text: "a".into(), number: 7, any: Some(serde_json::json!([1])), inner: Vec::new() };
        assert_eq!(read(Some(r#"{"any":[1],"text":"a","number":7}"#)).unwrap(), expected);
        assert_eq!(read(Some(r#" ["a",7,[1]]"#)).unwrap(), expected);
        assert_eq!(read(Some(r#"["a"]"#)).unwrap(), Sample { text: "a".into(), number: 0, any: None, inner: Vec::new() });
        assert_eq!(read(Some(r#"["a",null,null]"#)).unwrap(), Sample { text: "a".into(), number: 0, any: None, inner: Vec::new() });
        assert_eq!(read(Some(r#"{"te\u0078t":"a"}"#)).unwrap().text, "a");
        assert_eq!(
            read(Some(r#"{"number": null ,"text":"a","any":null}"#)).unwrap(),
            Sample { text: "a".into(), number: 0, any: None, inner: Vec::new() }
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (raw, expected) in [
            (r#"{"text":"a","nunber":7}"#, "unknown parameter `nunber`; known: text, number, any, inner"),
            (r#"{"text":"a","number":-1}"#, "parameter `number`: expected a whole number from 0 to 4294967295, but got -1"),
            (r#"["a","b"]"#, "parameter `number`: expected a whole number from 0 to 4294967295, but got \"b\""),
            (r#"["a",1,2,[],3]"#, "the method has at most 4 parameters (text, number, any, inner), but got 5"),
            (r#"{"number":1}"#, "parameter `text` is missing"),
            (r#"{"text":"a","text":"b"}"#, "parameter `text` is given twice"),
            (r#"{"text":"a","nunber":null}"#, "unknown parameter `nunber`; known: text, number, any, inner"),
            (r#"{"text":null}"#, "parameter `text` is missing"),
            (r#"{"text":"a","number":1.0}"#, "parameter `number`: expected a whole number from 0 to 4294967295, but got 1.0"),
            (
                r#"{"text":"a","any":[{"n":9223372036854775808}]}"#,
                "parameter `any[0].n`: 9223372036854775808 is beyond the integers of scripts",
            ),
            (r#"["a",1,-9223372036854775809]"#, "parameter `any`: -9223372036854775809 is beyond the integers of scripts"),
            (
                r#"{"text":"a","number":99999999999999999999}"#,
                "parameter `number`: expected a whole number from 0 to 4294967295, but got 99999999999999999999",
            ),
            (r#"{"text":"a","inner":[{"word":"one"},{"word":"x"}]}"#, "parameter `inner[1].word`: expected one of one, two, but got \"x\""),
            (r#"{"text":"a","inner":[{"word":7}]}"#, "parameter `inner[0].word`: expected one of one, two, but got 7"),
            (r#"{"text":"a","inner":[{}]}"#, "parameter `inner[0].word` is missing"),
            (r#"{"text":"a","inner":[{"word":"one","wrd":1}]}"#, "unknown parameter `inner[0].wrd`; known: word, map, inner"),
            (r#"{"text":"a","inner":[{"word":"one","word":"one"}]}"#, "parameter `inner[0].word` is given twice"),
            (
                r#"{"text":"a","inner":[{"word":"one","map":{"a b":{}}}]}"#,
                "parameter `inner[0].map[\"a b\"]`: expected a text, but got an object",
            ),
            (
                r#"{"text":"a","inner":[{"word":"one","inner":[[]]}]}"#,
                "parameter `inner[0].inner[0]`: expected an object, but got an array",
            ),
            (r#"{"text":"a","inner":[{"word":"one","inner":{}}]}"#, "parameter `inner[0].inner`: expected an array, but got an object"),
            (r#"{"text":true}"#, "parameter `text`: expected a text, but got true"),
            (r#""a""#, "params must be an object or an array"),
            ("5", "params must be an object or an array"),
        ] {
            let error = read(Some(raw)).unwrap_err();
            assert!(error.starts_with(expected) && !error.contains(" column "), "{raw}: {error}");
        }
        assert!(read(None).unwrap_err().contains("parameter `text` is missing"));
    }

    #[test]
    fn a_method_without_parameters_says_so() {
        #[derive(Debug, Deserialize)]
        struct Nothing {}
        let read = |raw| parse::<Nothing>(Some(raw), &[]).map_err(|error| error.to_string());
        assert_eq!(read("[1]").unwrap_err(), "the method has no parameters, but got 1");
        assert_eq!(read(r#"{"a":1}"#).unwrap_err(), "unknown parameter `a`; known: none");
        assert!(read("[]").is_ok() && read("{}").is_ok());
    }

    #[test]
    fn deep_nesting_is_an_error_and_no_stack_overflow() {
        let deep = format!(r#"{{"text":"a","any":{}{}}}"#, "[".repeat(200_000), "]".repeat(200_000));
        assert!(read(Some(&deep)).unwrap_err().contains("recursion limit"));
        let deep = format!(r#"["a",1,{}{}]"#, "[".repeat(200_000), "]".repeat(200_000));
        assert!(read(Some(&deep)).unwrap_err().contains("recursion limit"));
    }
}
