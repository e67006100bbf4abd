use std::fmt;
use std::str::FromStr;

use crate::score::Score;
use hero_model::MessageKey;

/// The place in the messages of a status before a page, as a cursor names it: the page begins after this message, `{ms}-{caller}:{number}`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StatusCursor {
    /// The time when the message got the status.
    pub(crate) since: Score,
    /// The name of the message.
    pub(crate) key: MessageKey,
}

impl StatusCursor {
    /// The place before all messages.
    pub(crate) const FIRST: Self = Self { since: Score::HIGHEST, key: MessageKey { caller_id: 0, message_id: 0 } };
}

impl fmt::Display for StatusCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}:{}", self.since, self.key.caller_id, self.key.message_id)
    }
}

impl FromStr for StatusCursor {
    type Err = ();

    fn from_str(cursor: &str) -> Result<Self, ()> {
        let (since, key) = cursor.rsplit_once('-').ok_or(())?;
        Ok(Self { since: since.parse()?, key: name_in(&format!("message:{key}")).ok_or(())? })
    }
}

/// The place where a page of a list of messages begins, as a cursor names it: `{position}-{caller}:{number}`, or `{position}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ListCursor {
    /// The number of elements before it.
    pub(crate) position: usize,
    /// The message that the page begins with, which may have moved by now; nothing if no message was near.
    pub(crate) first: Option<MessageKey>,
}

impl fmt::Display for ListCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.first {
            Some(key) => write!(f, "{}-{}:{}", self.position, key.caller_id, key.message_id),
            None => self.position.fmt(f),
        }
    }
}

impl FromStr for ListCursor {
    type Err = ();

    fn from_str(cursor: &str) -> Result<Self, ()> {
        let (position, first) = cursor.split_once('-').map_or((cursor, None), |(position, first)| (position, Some(first)));
        let position: u32 = position.parse().map_err(|_| ())?;
        let first = first.map(|first| name_in(&format!("message:{first}")).ok_or(())).transpose()?;
        Ok(Self { position: position as usize, first })
    }
}

/// Returns the message that an element of a list names, if it is written in hero's format.
pub(crate) fn name_in(element: &str) -> Option<MessageKey> {
    element.parse().ok().filter(|key: &MessageKey| key.to_string() == element)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_back_and_one_of_nonsense_refused() {
        let key = MessageKey { caller_id: 12, message_id: 101 };
        for since in [Score(1_763_000_000_000.0), Score(1.5), Score(-2.0), Score::HIGHEST] {
            let place = StatusCursor { since, key };
            assert_eq!(place.to_string().parse(), Ok(place));
        }
        for place in [ListCursor { position: 20, first: Some(key) }, ListCursor { position: 20, first: None }] {
            assert_eq!(place.to_string().parse(), Ok(place));
        }
        for bad in ["", "x", "5-", "-", "5-1", "5-1:", "5-01:2", "5-message:1:2", "NaN-1:2", "5-1:4294967296", "1-18446744073709551615"] {
            assert_eq!((bad.parse::<StatusCursor>(), bad.parse::<ListCursor>()), (Err(()), Err(())), "{bad}");
        }
    }
}
