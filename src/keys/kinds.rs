//! What type each key has that is named by no id: so those that another program has made something else of are found without a search.

use super::Keys;
use crate::model::MessageStatus;

/// The type of a key, as Redis calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `string`
    Text,
    /// `list`
    List,
    /// `set`
    Set,
    /// `zset`
    Sorted,
    /// `hash`
    Hash,
    /// `stream`
    Stream,
}

impl Kind {
    /// The word of Redis.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "string",
            Self::List => "list",
            Self::Set => "set",
            Self::Sorted => "zset",
            Self::Hash => "hash",
            Self::Stream => "stream",
        }
    }

    /// What is wrong with a key of another type.
    pub(crate) const fn is_another(self) -> &'static str {
        match self {
            Self::Text => "has to be a string and is of another type",
            Self::List => "has to be a list and is of another type",
            Self::Set => "has to be a set and is of another type",
            Self::Sorted => "has to be a sorted set and is of another type",
            Self::Hash => "has to be a hash and is of another type",
            Self::Stream => "has to be a stream and is of another type",
        }
    }
}

/// Those whose names are the same in each context.
const FIXED: [(Kind, &[&str]); 6] = [
    (Kind::Text, &["meta:identity", "meta:reaped", "meta:closed", "meta:rate", "meta:stored"]),
    (Kind::List, &["q:release", "q:linking", "q:results"]),
    (
        Kind::Set,
        &[
            "meta:actors",
            "meta:queues",
            "meta:left",
            "meta:paused",
            "meta:fair",
            "meta:calm",
            "meta:hours",
            "meta:types",
            "meta:collections",
        ],
    ),
    (
        Kind::Sorted,
        &[
            "q:scheduled",
            "q:leases",
            "q:unwritten",
            "q:staged",
            "q:watched",
            "q:capped",
            "q:conveyor",
            "q:unsent",
            "q:messages",
            "q:resting",
            "q:answers",
            "q:stops",
            "q:flows",
            "meta:foreign",
            "meta:schedules",
            "meta:runners",
            "meta:topics",
            "meta:nonces",
            "meta:nodes",
            "meta:flows",
            "access:identities",
            "access:contexts",
            "index:error",
            "index:left",
            "bus:box:in",
        ],
    ),
    (Kind::Hash, &["meta:strays", "meta:access", "meta:known", "meta:revisions", "access:pubkeys", "access:tokens"]),
    (Kind::Stream, &["events"]),
];
/// Those of messages.
const STATUSES: [MessageStatus; 4] =
    [MessageStatus::Dispatched, MessageStatus::Acknowledged, MessageStatus::Error, MessageStatus::Processed];
/// What is counted in `hero:seq:{kind}`.
const COUNTED: [&str; 4] = ["runner", "flow", "message", "job"];

impl Keys {
    /// Each key that is named by no id, and its type. Some are in context 0 only.
    pub fn kinds(&self) -> Vec<(String, Kind)> {
        let mut all: Vec<(String, Kind)> =
            FIXED.iter().flat_map(|(kind, names)| names.iter().map(|name| (self.key(format_args!("{name}")), *kind))).collect();
        all.extend([(self.msg_in(), Kind::List), (self.msg_out(), Kind::List), (self.rights(), Kind::Hash)]);
        all.extend(COUNTED.iter().map(|counted| (self.key(format_args!("seq:{counted}")), Kind::Text)));
        all.extend(STATUSES.iter().map(|status| (self.messages_of(*status), Kind::Sorted)));
        all
    }
}
