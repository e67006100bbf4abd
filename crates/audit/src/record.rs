use std::borrow::Cow;
use std::fmt;
use std::net::SocketAddr;

use hero_model::{ContextId, IdentityId, JobId, ScheduleId, Timestamp, TokenId};

/// The party that did something.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Who {
    /// A caller who did not log in.
    Anonymous,
    /// The operator of the server.
    Operator,
    /// An identity, by this token.
    Identity(IdentityId, TokenId),
    /// An actor: `type:group:instance`.
    Actor(String),
    /// A job, by its script.
    Job(JobId),
    /// A schedule.
    Schedule(ScheduleId),
    /// An identity, by its signature on a message.
    Signer(IdentityId),
    /// A node, by its name or its key.
    Node(String),
    /// The server itself.
    Server,
    /// The callers beyond those that are told apart.
    Others,
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Anonymous => f.write_str("anonymous"),
            Self::Operator => f.write_str("operator"),
            Self::Identity(identity, _) | Self::Signer(identity) => write!(f, "identity:{identity}"),
            Self::Actor(name) => write!(f, "actor:{name}"),
            Self::Job(job) => write!(f, "job:{job}"),
            Self::Node(node) => write!(f, "node:{node}"),
            Self::Schedule(schedule) => write!(f, "schedule:{schedule}"),
            Self::Server => f.write_str("server"),
            Self::Others => f.write_str("others"),
        }
    }
}

/// The outcome of an operation. Codes are JSON-RPC error codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It succeeded.
    Ok,
    /// The party lacked the right to do it.
    Refused(i32),
    /// It failed, or it is unknown whether it was done; the code says which.
    Failed(i32),
    /// It ended with an error that has no code.
    Bad,
    /// The caller did not wait for the end: its connection closed, or the call took too long. It may have been done.
    Unknown,
}

impl Outcome {
    /// Returns the word for the record.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Refused(_) => "refused",
            Self::Failed(_) | Self::Bad => "failed",
            Self::Unknown => "unknown",
        }
    }

    /// Returns the JSON-RPC error code, if there is one.
    pub const fn code(self) -> Option<i32> {
        match self {
            Self::Refused(code) | Self::Failed(code) => Some(code),
            Self::Ok | Self::Bad | Self::Unknown => None,
        }
    }
}

/// An attempt of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Execution {
    /// The number of the attempt.
    pub attempt: u32,
    /// The end of the attempt: `finished`, `failed`, `timeout`, `crashed` and so on.
    pub end: &'static str,
    /// The duration, if known.
    pub duration_ms: Option<u64>,
}

/// A record of one operation. It has ids and names only, no contents.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// The time at which it ended.
    pub time: Timestamp,
    /// The party that did it.
    pub who: Who,
    /// The address that the call came from.
    pub peer: Option<SocketAddr>,
    /// The method, or another word such as `execute`, `login`, `spawn`.
    pub what: Cow<'static, str>,
    /// The context of the operation.
    pub context: Option<ContextId>,
    /// The object that was changed or made, as `kind:id`; several are separated by spaces.
    pub object: Option<String>,
    /// The `caller_id` of a job: the party for whom it was done.
    pub caller: Option<String>,
    /// The outcome.
    pub outcome: Outcome,
    /// Details of an attempt.
    pub execution: Option<Execution>,
    /// The number of repetitions since a time, if they were counted together.
    pub count: Option<(u64, Timestamp)>,
    /// A note of the server.
    pub note: Option<String>,
}

impl Record {
    /// Creates a record of something that was done now.
    pub fn new(who: Who, what: impl Into<Cow<'static, str>>, outcome: Outcome) -> Self {
        Self {
            time: Timestamp::local(),
            who,
            peer: None,
            what: what.into(),
            context: None,
            object: None,
            caller: None,
            outcome,
            execution: None,
            count: None,
            note: None,
        }
    }

    /// Creates a record of the server about its log.
    pub(super) fn of_server(what: &'static str, outcome: Outcome, note: Option<String>) -> Self {
        Self { note, ..Self::new(Who::Server, what, outcome) }
    }

    /// Returns the approximate size in memory, in bytes.
    pub(super) fn weight(&self) -> usize {
        let caller = self.caller.as_ref().map_or(0, String::len);
        size_of::<Self>() + caller + self.object.as_ref().map_or(0, String::len) + self.note.as_ref().map_or(0, String::len)
    }
}
