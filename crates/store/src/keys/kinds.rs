//! The type of each key without an id in its name. With it, keys that other programs have spoilt are found without a search.

use super::Keys;
use hero_model::MessageStatus;

/// The type of a key, in the words of Redis.
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
    /// Returns the word of Redis.
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

    /// Returns the error text for a key of another type.
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

/// The keys with the same name in each context.
const FIXED: [(Kind, &[&str]); 6] = [
    (Kind::Text, &["meta:identity", "meta:reaped", "meta:closed", "meta:rate", "meta:stored"]),
    (Kind::List, &["q:release", "q:created", "q:results"]),
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
            "q:holding",
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
            "meta:runners:taken",
            "meta:topics",
            "meta:nonces",
            "meta:nodes",
            "meta:flows",
            "access:identities",
            "access:numbers",
            "access:contexts",
            "index:error",
            "index:left",
            "bus:box:in",
        ],
    ),
    (Kind::Hash, &["meta:strays", "meta:access", "meta:known", "meta:revisions", "access:pubkeys", "access:tokens"]),
    (Kind::Stream, &["events"]),
];
/// The statuses of messages.
const STATUSES: [MessageStatus; 4] =
    [MessageStatus::Dispatched, MessageStatus::Acknowledged, MessageStatus::Error, MessageStatus::Processed];
/// The kinds that `hero:seq:{kind}` counts.
const COUNTED: [&str; 4] = ["runner", "flow", "message", "job"];

/// The keys with an id in their names: how they begin and end, and their types. The first match counts.
const NAMED: [(&str, &str, Kind); 47] = [
    ("hero:job:actor_queue:", "", Kind::List),
    ("hero:q:work:", "", Kind::List),
    ("hero:q:ctl:", "", Kind::List),
    ("hero:q:reply:", "", Kind::List),
    ("hero:stop_queue:", "", Kind::List),
    ("hero:q:fair:", ":held", Kind::Text),
    ("hero:q:fair:", "", Kind::List),
    ("hero:q:left:", "", Kind::Hash),
    ("hero:rel:", ":active", Kind::Set),
    ("hero:rel:", "", Kind::List),
    ("hero:meta:actor:inst:", "", Kind::Text),
    ("hero:meta:displaced:", "", Kind::Text),
    ("hero:meta:queue:stats:", "", Kind::Hash),
    ("hero:schedule:", ":waiting", Kind::List),
    ("hero:schedule:", "", Kind::Hash),
    ("hero:osis:", ":objects", Kind::Hash),
    ("hero:osis:", ":entries", Kind::Hash),
    ("hero:osis:", ":ids", Kind::Sorted),
    ("hero:access:tokens:of:", "", Kind::Set),
    ("hero:access:nonce:", "", Kind::Text),
    ("actor:", "", Kind::Hash),
    ("context:", "", Kind::Hash),
    ("runner:", "", Kind::Hash),
    ("message:", "", Kind::Hash),
    ("msg_out:sending:", "", Kind::List),
    ("hero:q:sent:", "", Kind::List),
    ("hero:q:awaited:", "", Kind::Sorted),
    ("hero:q:stops:", "", Kind::Sorted),
    ("hero:came:", "", Kind::Text),
    ("hero:bus:box:", "", Kind::Sorted),
    ("hero:bus:letter:", "", Kind::Text),
    ("hero:bus:receipt:", "", Kind::Text),
    ("hero:log:", "", Kind::Stream),
    ("hero:index:", "", Kind::List),
    ("hero:staged:", ":lines", Kind::List),
    ("hero:staged:", ":held", Kind::List),
    ("hero:staged:", "", Kind::Hash),
    ("hero:idem:", "", Kind::Hash),
    ("hero:work_queue:", "", Kind::List),
    ("hero:reply:", "", Kind::List),
    ("rhai_tasks:", "", Kind::List),
    ("rhai_task_details:", "", Kind::Hash),
    ("queue:", "", Kind::List),
    ("job:", "", Kind::Hash),
    ("flow:", "", Kind::Hash),
    ("hero:messages:", "", Kind::Sorted),
    ("hero:seq:", "", Kind::Text),
];

impl Keys {
    /// Returns the type of a key with an id in its name; nothing for a key of another program.
    pub fn kind_of(&self, key: &str) -> Option<Kind> {
        let name = key.strip_prefix(&self.prefix)?;
        let is_index = name.strip_prefix("hero:osis:").and_then(|rest| rest.split_once(':')).map(|(_, what)| what.starts_with("index:"));
        let known = NAMED.iter().find(|(first, last, _)| name.starts_with(first) && name.ends_with(last)).map(|(.., kind)| *kind);
        match (self.parse_job(key), is_index) {
            (Some(_), _) => Some(Kind::Hash),
            (None, Some(true)) => Some(Kind::Sorted),
            // The key of a collection.
            (None, None) if name.starts_with("hero:osis:") => Some(Kind::Hash),
            // The key of a worker.
            (None, _) => known.or_else(|| name.starts_with("hero:job:").then_some(Kind::List)),
        }
    }

    /// Returns each key without an id in its name, with its type. Some exist only in context 0.
    pub fn kinds(&self) -> Vec<(String, Kind)> {
        let mut all: Vec<(String, Kind)> =
            FIXED.iter().flat_map(|(kind, names)| names.iter().map(|name| (self.key(format_args!("{name}")), *kind))).collect();
        all.extend([(self.msg_in(), Kind::List), (self.msg_out(), Kind::List), (self.rights(), Kind::Hash)]);
        all.extend(COUNTED.iter().map(|counted| (self.key(format_args!("seq:{counted}")), Kind::Text)));
        all.extend(STATUSES.iter().map(|status| (self.messages_of(*status), Kind::Sorted)));
        all
    }
}
