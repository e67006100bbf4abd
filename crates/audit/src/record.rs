use std::borrow::Cow;
use std::fmt;
use std::net::SocketAddr;

use hero_model::{ContextId, IdentityId, JobId, ScheduleId, Timestamp, TokenId};

/// Who did something.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Who {
    /// A caller who did not log in.
    Anonymous,
    /// Whoever runs the server.
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
    /// More callers than are told apart.
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

/// How something ended. Codes are those of the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It was done.
    Ok,
    /// Who it was may not do that.
    Refused(i32),
    /// It came to nothing, or whether it was done is not known: the code says which.
    Failed(i32),
    /// It ended badly, without a code.
    Bad,
    /// Nobody waited for the end: the caller's connection closed, or the call took too long. It may have been done.
    Unknown,
}

impl Outcome {
    /// The word in a record.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Refused(_) => "refused",
            Self::Failed(_) | Self::Bad => "failed",
            Self::Unknown => "unknown",
        }
    }

    /// The code of the wire, if there is one.
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
    /// Its number.
    pub attempt: u32,
    /// How it ended: `finished`, `failed`, `timeout`, `crashed` and so on.
    pub end: &'static str,
    /// How long it took, if that is known.
    pub duration_ms: Option<u64>,
}

/// What somebody did. No contents: ids and names only.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// When it ended.
    pub time: Timestamp,
    /// Who did it.
    pub who: Who,
    /// Where the call came from.
    pub peer: Option<SocketAddr>,
    /// The method, or a word of ours such as `execute`, `login`, `spawn`.
    pub what: Cow<'static, str>,
    /// The context in which it was done.
    pub context: Option<ContextId>,
    /// What it was done to or has made, as `kind:id`; several are separated by spaces.
    pub object: Option<String>,
    /// For whom it was done: the `caller_id` of a job.
    pub caller: Option<String>,
    /// How it ended.
    pub outcome: Outcome,
    /// What there is to say of an attempt.
    pub execution: Option<Execution>,
    /// How often the same happened since a time, where that was counted.
    pub count: Option<(u64, Timestamp)>,
    /// What the server has to say.
    pub note: Option<String>,
}

impl Record {
    /// That somebody has done something now.
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

    /// What the server has to say of its log.
    pub(super) fn of_server(what: &'static str, outcome: Outcome, note: Option<String>) -> Self {
        Self { note, ..Self::new(Who::Server, what, outcome) }
    }

    /// How many bytes it takes in memory, roughly.
    pub(super) fn weight(&self) -> usize {
        let caller = self.caller.as_ref().map_or(0, String::len);
        size_of::<Self>() + caller + self.object.as_ref().map_or(0, String::len) + self.note.as_ref().map_or(0, String::len)
    }
}
