//! The errors for messages that are too large, and a reader that finds the id of a message without keeping the message in memory.

use std::sync::Arc;

use jsonrpsee::server::MethodResponse;
use jsonrpsee::types::error::{OVERSIZED_REQUEST_CODE, TOO_BIG_BATCH_REQUEST_CODE};
use jsonrpsee::types::{ErrorObject, ErrorObjectOwned, Id};
use serde_json::json;

use super::entry::Reply;
use super::request_id::{LONGEST_ID, NumberId, RawId};

/// Returns the error of a request above the limit.
pub(crate) fn request_too_large(limit: u32) -> ErrorObjectOwned {
    let message = format!("the request has more than {limit} bytes, which is the limit of a request (--max-request); nothing was done");
    ErrorObject::owned(OVERSIZED_REQUEST_CODE, message, Some(json!({"limit": limit, "setting": "--max-request"})))
}

/// Returns the error of a batch above the limit.
pub(crate) fn batch_too_large(limit: u32) -> ErrorObjectOwned {
    let message = format!("the batch has more than {limit} entries, which is the limit of a batch (--max-batch); nothing was done");
    ErrorObject::owned(TOO_BIG_BATCH_REQUEST_CODE, message, Some(json!({"limit": limit, "setting": "--max-batch"})))
}

/// Finds the id of a message that is not kept in memory, wherever the id is in it. It needs a few bytes of memory.
///
/// For a message that is not JSON it finds no id, or a wrong one, which does no harm.
#[derive(Debug, Default)]
pub(crate) struct IdReader {
    /// The number of open arrays and objects.
    depth: u64,
    text: Text,
    /// The position of the reader.
    position: Position,
    /// The name of the member that is being read, or the JSON of its value if the member is the id.
    token: Vec<u8>,
    id: Option<Vec<u8>>,
    has_method: bool,
}

/// The state of the reader within a text.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum Text {
    #[default]
    Outside,
    Inside,
    /// After a backslash.
    Escaped,
}

/// The expected part at the depth of the members of a request.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum Position {
    /// So far there was only white space.
    #[default]
    Begin,
    /// A name.
    Name,
    /// The value of the id.
    Id,
    /// Another value.
    Value,
    /// The message is no request, or the rest does not matter.
    End,
}

impl IdReader {
    /// Reads the next bytes.
    pub(crate) fn read(&mut self, bytes: &[u8]) {
        if self.position == Position::End {
            return;
        }
        for byte in bytes {
            self.step(*byte);
        }
    }

    fn step(&mut self, byte: u8) {
        let (was, depth) = (self.text, self.depth);
        self.text = match (was, byte) {
            (Text::Inside, b'\\') => Text::Escaped,
            (Text::Inside, b'"') => Text::Outside,
            (Text::Outside, b'"') | (Text::Escaped | Text::Inside, _) => Text::Inside,
            (Text::Outside, _) => Text::Outside,
        };
        if was == Text::Outside {
            match byte {
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        match self.position {
            Position::End => {}
            Position::Begin if byte.is_ascii_whitespace() => {}
            Position::Begin => self.position = if byte == b'{' { Position::Name } else { Position::End },
            Position::Name if was == Text::Outside && byte == b':' => {
                self.position = if self.token == br#""id""# { Position::Id } else { Position::Value };
                self.has_method |= self.token == br#""method""#;
                self.token.clear();
            }
            Position::Id | Position::Value if was == Text::Outside && depth == 1 && matches!(byte, b',' | b'}') => {
                let token = std::mem::take(&mut self.token);
                if self.position == Position::Id {
                    self.id = Some(token);
                }
                self.position = if byte == b',' { Position::Name } else { Position::End };
            }
            Position::Value => {}
            Position::Name | Position::Id if was == Text::Outside && byte.is_ascii_whitespace() => {}
            // A token is cut here: it is longer than any relevant name and any id.
            Position::Name | Position::Id if self.token.len() <= LONGEST_ID => self.token.push(byte),
            Position::Name | Position::Id => {}
        }
    }

    /// Returns the response that refuses a request. There is none if the whole message was read and is a notification.
    pub(crate) fn refusal(&self, error: ErrorObjectOwned, is_whole: bool) -> Option<Reply> {
        let raw = self.id.as_deref().and_then(|raw| std::str::from_utf8(raw).ok());
        let (id, number) = match raw.map(RawId::of) {
            Some(RawId::Id(id)) => (id, None),
            Some(RawId::Number(number)) if serde_json::from_str::<serde_json::Number>(number).is_ok() => {
                (Id::Null, Some(NumberId(Arc::from(number))))
            }
            None if is_whole && self.has_method => return None,
            _ => (Id::Null, None),
        };
        Some(Reply::from(MethodResponse::error(id, error)).with_id(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the response to `text`, which is read in pieces of `step` bytes.
    fn refusal(text: &str, step: usize) -> Option<serde_json::Value> {
        let mut id_reader = IdReader::default();
        text.as_bytes().chunks(step).for_each(|bytes| id_reader.read(bytes));
        id_reader.refusal(request_too_large(9), true).map(|reply| serde_json::from_str(reply.json.get()).unwrap())
    }

    #[test]
    fn the_id_is_found_wherever_it_stands() {
        for (text, id) in [
            (r#"{"jsonrpc":"2.0","id":7,"method":"x","params":[1]}"#, json!(7)),
            (r#" { "method" : "x" , "params" : {"id":1,"a":["id",{"id":2}]} , "id" : "a\"}, b" } "#, json!("a\"}, b")),
            (r#"{"params":["\"id\":5,\\",{"}":"]"}],"id":-1.5,"method":"id"}"#, json!(-1.5)),
            (r#"{"id":null,"method":"x"}"#, json!(null)),
            (r#"{"id":{"id":1},"method":"x"}"#, json!(null)),
            (r#"{"params":[1],"id"#, json!(null)),
            (r#"[{"id":1,"method":"x"}]"#, json!(null)),
            (r#"{"id":-,"method":"x"}"#, json!(null)),
            ("\"id\":1", json!(null)),
            ("}}}}", json!(null)),
        ] {
            for step in [1, 3, 1000] {
                let answer = refusal(text, step).unwrap();
                assert_eq!((&answer["id"], &answer["error"]["code"]), (&id, &json!(-32007)), "{text}");
            }
        }
        let long = format!(r#"{{"id":"{}","method":"x"}}"#, "x".repeat(2000));
        assert_eq!(refusal(&long, 100).unwrap()["id"], json!(null));
    }

    #[test]
    fn a_notification_is_not_told_that_it_is_too_large() {
        let text = r#"{"jsonrpc":"2.0","method":"x","params":{"id":1}}"#;
        assert_eq!(refusal(text, 5), None);
        let mut id_reader = IdReader::default();
        id_reader.read(&text.as_bytes()[..40]);
        assert!(id_reader.refusal(request_too_large(9), false).is_some(), "its id may come yet");
    }
}
