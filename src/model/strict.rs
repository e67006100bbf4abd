use std::borrow::Cow;
use std::fmt;

use serde::de::value::CowStrDeserializer;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};

use super::integer::{cut, index, member};

/// Reads a value, and tells the path of what is wrong. Where a struct is read, only an object is accepted.
///
/// A derived `Deserialize` of a struct also accepts a list with the fields in their order, which no document mentions. Values that are
/// read as any JSON are not checked, and neither are the contents of enums.
///
/// After an error, the path of it in the value is appended to `path`, such as `[3].labels`.
pub fn strict<'de, S: DeserializeSeed<'de>, D: Deserializer<'de>>(seed: S, from: D, path: &mut String) -> Result<S::Value, D::Error> {
    let mut inside = String::new();
    let value = seed.deserialize(Strict { from, path: &mut inside });
    path.push_str(&cut(&inside));
    value
}

/// A deserializer around `from` that notes the path of an error.
struct Strict<'p, F> {
    from: F,
    /// The path of the error, from this value on.
    path: &'p mut String,
}

/// Puts a step before the path, if the result is an error.
fn behind<T, E>(path: &mut String, step: impl FnOnce() -> String, result: Result<T, E>) -> Result<T, E> {
    if result.is_err() {
        path.insert_str(0, &step());
    }
    result
}

/// Makes methods that read values as `from` does, because these values have nothing inside.
macro_rules! as_it_is {
    ($($name:ident($($arg:ident: $of:ty),*)),*) => {
        $(fn $name<V: Visitor<'de>>(self, $($arg: $of,)* visitor: V) -> Result<V::Value, D::Error> {
            self.from.$name($($arg,)* visitor)
        })*
    };
}

/// Makes methods that read values as `from` does, and look into what is inside.
macro_rules! looked_into {
    ($($name:ident($($arg:ident: $of:ty),*)),*) => {
        $(fn $name<V: Visitor<'de>>(self, $($arg: $of,)* visitor: V) -> Result<V::Value, D::Error> {
            self.from.$name($($arg,)* Look { visitor, path: self.path, object: false })
        })*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Strict<'_, D> {
    type Error = D::Error;

    as_it_is! {
        deserialize_any(), deserialize_bool(), deserialize_i8(), deserialize_i16(), deserialize_i32(), deserialize_i64(), deserialize_u8(),
        deserialize_u16(), deserialize_u32(), deserialize_u64(), deserialize_f32(), deserialize_f64(), deserialize_char(), deserialize_str(),
        deserialize_string(), deserialize_bytes(), deserialize_byte_buf(), deserialize_unit(), deserialize_unit_struct(name: &'static str),
        deserialize_enum(name: &'static str, variants: &'static [&'static str]), deserialize_identifier(), deserialize_ignored_any()
    }

    looked_into! {
        deserialize_option(), deserialize_newtype_struct(name: &'static str), deserialize_seq(), deserialize_tuple(len: usize),
        deserialize_tuple_struct(name: &'static str, len: usize), deserialize_map()
    }

    fn deserialize_struct<V: Visitor<'de>>(self, _: &'static str, _: &'static [&'static str], visitor: V) -> Result<V::Value, D::Error> {
        self.from.deserialize_map(Look { visitor, path: self.path, object: true })
    }
}

/// A visitor that reads what is inside through [`Strict`].
struct Look<'p, V> {
    visitor: V,
    path: &'p mut String,
    object: bool,
}

/// Makes methods that give a value to the visitor as it is.
macro_rules! seen {
    ($($name:ident: $of:ty),*) => {
        $(fn $name<E: serde::de::Error>(self, value: $of) -> Result<V::Value, E> {
            self.visitor.$name(value)
        })*
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Look<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.object { f.write_str("an object") } else { self.visitor.expecting(f) }
    }

    seen! {
        visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str, visit_borrowed_str: &'de str, visit_string: String
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<V::Value, E> {
        self.visitor.visit_none()
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<V::Value, E> {
        self.visitor.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<V::Value, D::Error> {
        self.visitor.visit_some(Strict { from, path: self.path })
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, from: D) -> Result<V::Value, D::Error> {
        self.visitor.visit_newtype_struct(Strict { from, path: self.path })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, from: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_seq(Items { from, path: self.path, at: 0 })
    }

    fn visit_map<A: MapAccess<'de>>(self, from: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_map(Members { from, path: self.path, name: Cow::Borrowed("") })
    }
}

struct Items<'p, A> {
    from: A,
    path: &'p mut String,
    at: usize,
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Items<'_, A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        let at = self.at;
        self.at += 1;
        let item = self.from.next_element_seed(Seed { seed, path: &mut *self.path });
        behind(self.path, || index(at), item)
    }

    fn size_hint(&self) -> Option<usize> {
        self.from.size_hint()
    }
}

struct Members<'p, 'de, A> {
    from: A,
    path: &'p mut String,
    name: Cow<'de, str>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Members<'_, 'de, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        let Some(Key(name)) = self.from.next_key()? else { return Ok(None) };
        self.name = name;
        let name: CowStrDeserializer<'_, A::Error> = Cow::Borrowed(&*self.name).into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        let value = self.from.next_value_seed(Seed { seed, path: &mut *self.path });
        behind(self.path, || member(&self.name), value)
    }
}

struct Seed<'p, S> {
    seed: S,
    path: &'p mut String,
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Seed<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<S::Value, D::Error> {
        self.seed.deserialize(Strict { from, path: self.path })
    }
}

/// A name in a JSON object, borrowed unless it has escapes.
pub struct Key<'de>(pub Cow<'de, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::marker::PhantomData;

    use serde::de::DeserializeOwned;

    use super::*;
    use crate::model::JobSpec;

    fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
        let mut path = String::new();
        let value = strict(PhantomData, &mut serde_json::Deserializer::from_str(text), &mut path);
        value.map_err(|error| format!("{path}: {error}"))
    }

    #[test]
    fn a_list_is_no_object_and_an_error_says_where_it_is() {
        for (text, expected) in [
            (r#"[["1"]]"#, "[0]: invalid type: sequence, expected an object"),
            (r#"[{"script":"1"},[]]"#, "[1]: invalid type: sequence, expected an object"),
            (r#"[{"script":"1","labels":{"a b":1}}]"#, r#"[0].labels["a b"]: invalid type: integer `1`, expected a string"#),
            (r#"[{"script":"1"},{"script":"1","prerequisites":["x"]}]"#, r#"[1].prerequisites[0]: "x" is not a UUID"#),
            (r#"[{"script":"1","timeout":"1"}]"#, "[0].timeout: invalid type: string"),
            (r#"[{"scrpt":"1"}]"#, "[0]: unknown field `scrpt`"),
            (r#"{}"#, ": invalid type: map, expected a sequence"),
        ] {
            let error = read::<Vec<JobSpec>>(text).unwrap_err();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
        let long = read::<BTreeMap<String, u8>>(&format!(r#"{{"{}":""}}"#, "é".repeat(5000))).unwrap_err();
        assert!(long.len() < 400, "{long}");
    }

    #[test]
    fn what_is_right_reads_as_without_it() {
        let text = r#"[{"script":"1","args":[{"x":[1.5]}],"labels":{"\u0061":"b"},"timeout":2,"priority":0,"group":null,"env_vars":null}]"#;
        assert_eq!(read::<Vec<JobSpec>>(text).unwrap(), serde_json::from_str::<Vec<JobSpec>>(text).unwrap());
    }
}
