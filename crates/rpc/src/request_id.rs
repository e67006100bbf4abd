//! Ids of requests: those that jsonrpsee has a type for, and others.

use std::sync::Arc;

use jsonrpsee::types::Id;

/// How long an id may be. Longer ones are refused, because every response repeats the id.
pub const LONGEST_ID: usize = 1024;

/// An id that jsonrpsee has no type for, as its JSON. Its call is made without an id, which is put into the answer afterwards.
#[derive(Debug, Clone)]
pub(super) struct NumberId(pub(super) Arc<str>);

/// What a message has as its id.
pub(super) enum Given<'t> {
    /// No id at all: a notification.
    Nothing,
    /// An id that jsonrpsee has a type for.
    Id(Id<'static>),
    /// A number that it has no type for: negative, with a fraction, or long.
    Number(&'t str),
    /// An id that is too long to be repeated in an answer.
    TooLong,
    /// Something that is not an id, such as a list.
    NoId,
}

impl<'t> Given<'t> {
    /// Reads the id from its JSON.
    pub(super) fn of(raw: &'t str) -> Self {
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
