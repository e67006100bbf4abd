//! Writes and checks single records. A record is JSON with its number, the hash of the previous record, and its own
//! hash over everything before it in the line.

use serde::{Deserialize, Serialize};

use super::key::AuditKey;
use super::record::{Record, Who};
use hero_model::{ContextId, Timestamp, TokenId, escaped, excerpt};

/// The text before the hash of a record.
const BEFORE: &str = ",\"hash\":\"";
/// The number of digits of a hash.
const HASH_DIGITS: usize = 64;
/// The length of the end of a line: the hash with the text around it.
const LINE_END_BYTES: usize = BEFORE.len() + HASH_DIGITS + "\"}".len();
/// The maximum length of an object, in characters: a thousand jobs with their ids, as one call may create.
const LONGEST_OBJECT: usize = 48 * 1024;
/// The maximum length of any other text, in characters.
const LONGEST_TEXT: usize = 1024;

/// A place in the chain: the last record so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Link {
    /// The number of the record, from 1.
    pub(super) seq: u64,
    /// The hash of the record.
    pub(super) hash: String,
}

impl Link {
    /// Returns the place before the first record.
    pub(super) fn start() -> Self {
        Self { seq: 0, hash: "0".repeat(HASH_DIGITS) }
    }
}

/// The fields of a record in the order in which they are written.
#[serde_with::skip_serializing_none]
#[derive(Serialize)]
struct Fields<'r> {
    seq: u64,
    time: Timestamp,
    who: String,
    token: Option<&'r TokenId>,
    peer: Option<String>,
    what: &'r str,
    context: Option<ContextId>,
    object: Option<&'r str>,
    caller: Option<&'r str>,
    outcome: &'static str,
    code: Option<i32>,
    attempt: Option<u32>,
    end: Option<&'static str>,
    duration_ms: Option<u64>,
    count: Option<u64>,
    since: Option<Timestamp>,
    note: Option<&'r str>,
    prev: &'r str,
}

/// Appends a record to `text` as the next of the chain, in a line of its own.
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
    // Escaped, so that a terminal shows the file without obeying control characters.
    let body = escaped(serde_json::to_string(&fields).expect("texts and numbers can be written"));
    text.extend_from_slice(body.strip_suffix('}').unwrap_or(&body).as_bytes()); // The brace follows the hash.
    let hash = key.hash(&text[begin..]);
    text.extend_from_slice(BEFORE.as_bytes());
    text.extend_from_slice(hash.as_bytes());
    text.extend_from_slice(b"\"}\n");
    *link = Link { seq: link.seq + 1, hash };
}

/// The position in the chain that a line claims.
#[derive(Debug, Deserialize)]
pub(super) struct ChainEntry {
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

/// Checks a line without its newline. Returns its place if that can be parsed, and whether its hash is right.
pub(super) fn look(line: &[u8], key: &AuditKey) -> (Option<ChainEntry>, bool) {
    let entry: Option<ChainEntry> = serde_json::from_slice(line).ok();
    let right = entry.as_ref().is_some_and(|entry| {
        let (body, end) = line.split_at(line.len().saturating_sub(LINE_END_BYTES));
        end == format!("{BEFORE}{}\"}}", entry.hash).as_bytes() && key.is_hash(&entry.hash, body)
    });
    (entry, right)
}
