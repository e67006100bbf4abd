//! How a record is written and looked at: JSON with its number, the hash of the record before, and its own hash over all that stands before that.

use serde::{Deserialize, Serialize};

use super::key::AuditKey;
use super::record::{Record, Who};
use hero_model::{ContextId, Timestamp, TokenId, escaped, excerpt};

/// What stands before the hash of a record.
const BEFORE: &str = ",\"hash\":\"";
/// How many digits a hash has.
const DIGITS: usize = 64;
/// What ends a line: the hash, with what stands round it.
const END: usize = BEFORE.len() + DIGITS + "\"}".len();
/// How many characters an object has at most: a thousand jobs with their ids, as one call may create.
const LONGEST_OBJECT: usize = 48 * 1024;
/// How many characters any other text has at most.
const LONGEST_TEXT: usize = 1024;

/// A place in the chain: the last record so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Link {
    /// Its number, from 1.
    pub(super) seq: u64,
    /// Its hash.
    pub(super) hash: String,
}

impl Link {
    /// Before the first record.
    pub(super) fn start() -> Self {
        Self { seq: 0, hash: "0".repeat(DIGITS) }
    }
}

/// A record as it is written, in this order.
#[derive(Serialize)]
struct Fields<'r> {
    seq: u64,
    time: Timestamp,
    who: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<&'r TokenId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<String>,
    what: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<ContextId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    caller: Option<&'r str>,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'r str>,
    prev: &'r str,
}

/// Appends a record to `text` as the next of the chain, in a line.
pub(super) fn append(record: &Record, link: &mut Link, key: &AuditKey, text: &mut Vec<u8>) {
    let (who, what) = (record.who.to_string(), excerpt(&record.what, LONGEST_TEXT));
    let (object, note) = (record.object.as_deref().map(|object| excerpt(object, LONGEST_OBJECT)), record.note.as_deref());
    let (note, caller) =
        (note.map(|note| excerpt(note, LONGEST_TEXT)), record.caller.as_deref().map(|caller| excerpt(caller, LONGEST_TEXT)));
    let fields = Fields {
        seq: link.seq + 1,
        time: record.time,
        who: excerpt(&who, LONGEST_TEXT).into_owned(),
        token: if let Who::Identity(_, token) = &record.who { Some(token) } else { None },
        peer: record.peer.map(|peer| peer.to_string()),
        what: &what,
        context: record.context,
        object: object.as_deref(),
        caller: caller.as_deref(),
        outcome: record.outcome.word(),
        code: record.outcome.code(),
        attempt: record.execution.as_ref().map(|execution| execution.attempt),
        end: record.execution.as_ref().map(|execution| execution.end),
        duration_ms: record.execution.as_ref().and_then(|execution| execution.duration_ms),
        count: record.count.map(|(count, _)| count),
        since: record.count.map(|(_, since)| since),
        note: note.as_deref(),
        prev: &link.hash,
    };
    let begin = text.len();
    // Whoever looks at the file by a terminal sees what is there.
    let body = escaped(serde_json::to_string(&fields).expect("texts and numbers can be written"));
    text.extend_from_slice(body.strip_suffix('}').unwrap_or(&body).as_bytes()); // The brace stands behind the hash.
    let hash = key.hash(&text[begin..]);
    text.extend_from_slice(BEFORE.as_bytes());
    text.extend_from_slice(hash.as_bytes());
    text.extend_from_slice(b"\"}\n");
    *link = Link { seq: link.seq + 1, hash };
}

/// What a line says of its place in the chain.
#[derive(Debug, Deserialize)]
pub(super) struct Place {
    pub(super) seq: u64,
    pub(super) prev: String,
    pub(super) hash: String,
    #[serde(default)]
    pub(super) what: String,
    #[serde(default)]
    pub(super) outcome: String,
    #[serde(default)]
    pub(super) count: Option<u64>,
    #[serde(default)]
    pub(super) note: Option<String>,
}

/// Looks at a line without its end. Gives its place if that can be read, and whether its hash is right.
pub(super) fn look(line: &[u8], key: &AuditKey) -> (Option<Place>, bool) {
    let place: Option<Place> = serde_json::from_slice(line).ok();
    let right = place.as_ref().is_some_and(|place| {
        let (body, end) = line.split_at(line.len().saturating_sub(END));
        end == format!("{BEFORE}{}\"}}", place.hash).as_bytes() && key.is_hash(&place.hash, body)
    });
    (place, right)
}
