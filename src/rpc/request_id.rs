//! Ids of requests: those that jsonrpsee can hold, and others.

use std::sync::Arc;

use jsonrpsee::types::Id;

/// Ids that are longer are no ids: every refusal repeats them.
pub(super) const LONGEST_ID: usize = 1024;

/// An id that jsonrpsee cannot hold, as its JSON. Its call is made without, and it is put into the answer.
#[derive(Debug, Clone)]
pub(super) struct NumberId(pub(super) Arc<str>);

/// What stands where the id belongs.
pub(super) enum Given<'t> {
    /// No id at all: a notification.
    Nothing,
    /// An id that jsonrpsee can hold.
    Id(Id<'static>),
    /// A number that it cannot hold: negative, with a fraction, or long.
    Number(&'t str),
    /// An id that no answer repeats.
    TooLong,
    /// What is no id.
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
