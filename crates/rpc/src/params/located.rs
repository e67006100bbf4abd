use std::borrow::Cow;
use std::fmt;

use serde::de::value::CowStrDeserializer;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Visitor};

use super::MemberName;
use super::error::ParamsError;

/// A deserializer that also reports the path of a fault. Otherwise it reads like the one inside it.
///
/// The inner deserializer alone reads parameters that take any JSON, because nothing in them can be wrong.
pub(super) struct Located<D>(pub(super) D);

impl<'de, D: Deserializer<'de>> Located<D> {
    fn typed<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ParamsError> {
        noting(|fault| self.0.deserialize_any(Noting { inner: visitor, fault }))
    }
}

macro_rules! typed {
    ($($method:ident($($argument:ident: $type:ty)?),)*) => {
        $(fn $method<V: Visitor<'de>>(self, $($argument: $type,)? visitor: V) -> Result<V::Value, ParamsError> {
            self.typed(visitor)
        })*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Located<D> {
    type Error = ParamsError;

    typed! {
        deserialize_bool(),
        deserialize_i8(),
        deserialize_i16(),
        deserialize_i32(),
        deserialize_i64(),
        deserialize_u8(),
        deserialize_u16(),
        deserialize_u32(),
        deserialize_u64(),
        deserialize_f32(),
        deserialize_f64(),
        deserialize_char(),
        deserialize_str(),
        deserialize_string(),
        deserialize_bytes(),
        deserialize_byte_buf(),
        deserialize_unit(),
        deserialize_unit_struct(_name: &'static str),
        deserialize_seq(),
        deserialize_tuple(_len: usize),
        deserialize_map(),
        deserialize_identifier(),
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ParamsError> {
        self.0.deserialize_any(visitor).map_err(ParamsError::parser)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ParamsError> {
        self.0.deserialize_ignored_any(visitor).map_err(ParamsError::parser)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ParamsError> {
        noting(|fault| self.0.deserialize_option(Noting { inner: visitor, fault }))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, ParamsError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(self, _: &'static str, _: usize, visitor: V) -> Result<V::Value, ParamsError> {
        self.typed(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(self, _: &'static str, _: &'static [&'static str], visitor: V) -> Result<V::Value, ParamsError> {
        self.typed(ByName(visitor))
    }

    /// Reads one of several words. No parameter has any other kind of enum.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ParamsError> {
        let word = String::deserialize(self).map_err(|fault| fault.of_words(words))?;
        visitor.visit_enum(IntoDeserializer::<ParamsError>::into_deserializer(word))
    }
}

/// Reads members by name only: serde would also accept an array of the members in their order.
struct ByName<V>(V);

impl<'de, V: Visitor<'de>> Visitor<'de> for ByName<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(map)
    }
}

/// Reads a value. A recorded fault is the error; otherwise the error of the parser is.
fn noting<T, E: fmt::Display>(read: impl FnOnce(&mut Option<ParamsError>) -> Result<T, E>) -> Result<T, ParamsError> {
    let mut fault = None;
    read(&mut fault).map_err(|error| fault.unwrap_or_else(|| ParamsError::parser(error)))
}

/// A visitor or seed, and the place where it records a fault. The parser's own errors are only texts, so they cannot carry it.
struct Noting<'f, T> {
    inner: T,
    fault: &'f mut Option<ParamsError>,
}

impl<T> Noting<'_, T> {
    fn run<R, E: Error>(self, read: impl FnOnce(T) -> Result<R, ParamsError>) -> Result<R, E> {
        read(self.inner).map_err(|fault| {
            *self.fault = Some(fault);
            E::custom("")
        })
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Noting<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.run(|seed| seed.deserialize(Located(deserializer)))
    }
}

macro_rules! visits {
    ($($method:ident($type:ty),)*) => {
        $(fn $method<E: Error>(self, value: $type) -> Result<V::Value, E> {
            self.run(|visitor| visitor.$method(value))
        })*
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Noting<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    visits! {
        visit_bool(bool),
        visit_i64(i64),
        visit_u64(u64),
        visit_f64(f64),
        visit_str(&str),
        visit_borrowed_str(&'de str),
        visit_string(String),
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.run(Visitor::visit_unit)
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.run(Visitor::visit_none)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.run(|visitor| visitor.visit_some(Located(deserializer)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<V::Value, A::Error> {
        self.run(|visitor| visitor.visit_seq(Items { items, next: 0 }))
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<V::Value, A::Error> {
        self.run(|visitor| visitor.visit_map(Members { members, name: Cow::Borrowed("") }))
    }
}

/// The items of an array, and the index of the next.
struct Items<A> {
    items: A,
    next: usize,
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Items<A> {
    type Error = ParamsError;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, ParamsError> {
        let at = self.next;
        self.next += 1;
        let read = noting(|fault| self.items.next_element_seed(Noting { inner: seed, fault }));
        read.map_err(|fault| fault.inside_item(at))
    }

    fn size_hint(&self) -> Option<usize> {
        self.items.size_hint()
    }
}

/// The members of an object, and the name of the current one.
struct Members<'de, A> {
    members: A,
    name: Cow<'de, str>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Members<'de, A> {
    type Error = ParamsError;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, ParamsError> {
        let Some(MemberName(name)) = self.members.next_key().map_err(ParamsError::parser)? else { return Ok(None) };
        self.name = name;
        let deserializer: CowStrDeserializer<'_, ParamsError> = Cow::Borrowed(&*self.name).into_deserializer();
        seed.deserialize(deserializer).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, ParamsError> {
        let read = noting(|fault| self.members.next_value_seed(Noting { inner: seed, fault }));
        read.map_err(|fault| fault.inside(&self.name))
    }
}
