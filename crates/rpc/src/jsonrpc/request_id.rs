//! Ids of requests: those that jsonrpsee has a type for, and others.

use std::sync::Arc;

use jsonrpsee::types::Id;

/// The most bytes of an id. Longer ones are refused, because every response repeats the id.
pub const LONGEST_ID: usize = 1024;

/// The JSON of an id for which jsonrpsee has no type. Its call is made without an id, and the id is put into the answer afterwards.
#[derive(Debug, Clone)]
pub(crate) struct NumberId(pub(crate) Arc<str>);

/// The id of a message.
pub(crate) enum RawId<'t> {
    /// No id at all: a notification.
    Nothing,
    /// An id that jsonrpsee has a type for.
    Id(Id<'static>),
    /// A number for which jsonrpsee has no type: negative, with a fraction, or long.
    Number(&'t str),
    /// An id that is too long to be repeated in an answer.
    TooLong,
    /// Something that is not an id, such as a list.
    NoId,
}

impl<'t> RawId<'t> {
    /// Parses the id from its JSON.
    pub(crate) fn of(raw: &'t str) -> Self {
        match raw.as_bytes().first() {
            Some(b'n') => Self::Id(Id::Null),
            Some(b'"') => match serde_json::from_str::<String>(raw) {
                Ok(text) if text.len() > LONGEST_ID => Self::TooLong,
                Ok(text) => Self::Id(Id::Str(text.into())),
                Err(_) => Self::NoId,
            },
            Some(b'-' | b'0'..=b'9') if raw.len() > LONGEST_ID => Self::TooLong,
            Some(b'-' | b'0'..=b'9') => raw.parse().map_or(Self::Number(raw), |number| Self::Id(Id::Number(number))),
            _ => Self::NoId,
        }
    }
}
