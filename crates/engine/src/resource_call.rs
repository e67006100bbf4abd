//! What scripts ask for beyond their engine: files, processes, the network, a Redis.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Capability;

/// The bytes of text that one answer holds at most. A value of a script takes them whole.
pub const LARGEST_TEXT: usize = 240 << 10;

/// A host call about resources beyond the engine. Each needs a grant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResourceCall {
    /// Something about the files of the context.
    Files(FileCall),
    /// Something about processes.
    Processes(ProcessCall),
    /// Something of the network.
    Net(NetCall),
    /// A command for the Redis that the operator named.
    Redis(RedisCall),
}

/// What scripts ask about the files of their context. Paths are relative to the directory that the job is in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileCall {
    /// Whether there is a file or a directory.
    Exists {
        /// Where.
        path: String,
    },
    /// Make a directory, and those above it.
    MakeDirectory {
        /// Where.
        path: String,
    },
    /// Delete a file, or a directory with everything in it.
    Delete {
        /// Where.
        path: String,
    },
    /// Copy a file, or a directory with everything in it.
    Copy {
        /// From where.
        from: String,
        /// To where.
        to: String,
    },
    /// Move a file or a directory.
    Move {
        /// From where.
        from: String,
        /// To where.
        to: String,
    },
    /// The text in a file.
    Read {
        /// Where.
        path: String,
    },
    /// Write a text to a file.
    Write {
        /// Where.
        path: String,
        /// What.
        text: String,
        /// Behind what is there, instead of in its place.
        append: bool,
    },
    /// How many bytes a file has.
    Size {
        /// Where.
        path: String,
    },
    /// What has such a name, in a directory and in those below it.
    Find {
        /// Where to look.
        directory: String,
        /// The name, with `*` for any letters and `?` for one.
        name: String,
        /// Directories, instead of files.
        directories: bool,
        /// Only the first.
        first: bool,
    },
    /// Go to another directory, for the rest of the job.
    ChangeDirectory {
        /// Where.
        path: String,
    },
}

/// What scripts ask about processes. They see those of their job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessCall {
    /// Run a command of the shell to its end.
    Run {
        /// The command, or several lines of them.
        command: String,
    },
    /// The processes of the job that still run.
    List {
        /// What their name or command has in it.
        pattern: String,
    },
    /// End processes of the job.
    Kill {
        /// What their name or command has in it.
        pattern: String,
    },
    /// Where a program is.
    Which {
        /// Its name.
        program: String,
    },
}

/// What scripts ask of the network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetCall {
    /// Whether somebody accepts connections.
    TcpCheck {
        /// The name or the address of the machine.
        host: String,
        /// The port.
        port: u16,
    },
    /// The status that a GET is answered with.
    HttpStatus {
        /// Of what.
        url: String,
    },
    /// Whether a GET is answered, and not with an error.
    HttpCheck {
        /// Of what.
        url: String,
    },
    /// The text that is there.
    HttpGet {
        /// Of what.
        url: String,
        /// More headers.
        headers: BTreeMap<String, String>,
    },
    /// Send a text, and get one.
    HttpPost {
        /// Where to.
        url: String,
        /// The text.
        body: String,
        /// More headers.
        headers: BTreeMap<String, String>,
    },
}

/// A command for the Redis that the operator named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RedisCall {
    /// The command.
    pub command: RedisCommand,
    /// Its arguments; the first is the key, if it has one.
    pub arguments: Vec<String>,
}

/// The commands that there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "they are those of Redis")]
pub enum RedisCommand {
    Ping,
    Get,
    Set,
    Del,
    Exists,
    Expire,
    Incr,
    HSet,
    HGet,
    HGetAll,
    HDel,
    LPush,
    RPush,
    LLen,
    LRange,
}

impl RedisCommand {
    /// Its name in Redis.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ping => "PING",
            Self::Get => "GET",
            Self::Set => "SET",
            Self::Del => "DEL",
            Self::Exists => "EXISTS",
            Self::Expire => "EXPIRE",
            Self::Incr => "INCR",
            Self::HSet => "HSET",
            Self::HGet => "HGET",
            Self::HGetAll => "HGETALL",
            Self::HDel => "HDEL",
            Self::LPush => "LPUSH",
            Self::RPush => "RPUSH",
            Self::LLen => "LLEN",
            Self::LRange => "LRANGE",
        }
    }

    /// How many arguments it has.
    pub const fn arguments(self) -> usize {
        match self {
            Self::Ping => 0,
            Self::Get | Self::Del | Self::Exists | Self::Incr | Self::HGetAll | Self::LLen => 1,
            Self::Set | Self::Expire | Self::HGet | Self::HDel | Self::LPush | Self::RPush => 2,
            Self::HSet | Self::LRange => 3,
        }
    }
}

impl ResourceCall {
    /// What a script needs to ask this.
    pub const fn needs(&self) -> Capability {
        match self {
            Self::Files(_) => Capability::Fs,
            Self::Processes(_) => Capability::Process,
            Self::Net(_) => Capability::Net,
            Self::Redis(_) => Capability::Redis,
        }
    }

    /// About how many bytes it has.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Files(call) => call.size(),
            Self::Processes(call) => call.size(),
            Self::Net(call) => call.size(),
            Self::Redis(call) => call.size(),
        }
    }
}

impl FileCall {
    fn size(&self) -> usize {
        match self {
            Self::Exists { path }
            | Self::MakeDirectory { path }
            | Self::Delete { path }
            | Self::Read { path }
            | Self::Size { path }
            | Self::ChangeDirectory { path } => path.len(),
            Self::Copy { from, to } | Self::Move { from, to } => from.len() + to.len(),
            Self::Write { path, text, .. } => path.len() + text.len(),
            Self::Find { directory, name, .. } => directory.len() + name.len(),
        }
    }
}

impl ProcessCall {
    fn size(&self) -> usize {
        match self {
            Self::Run { command: text } | Self::List { pattern: text } | Self::Kill { pattern: text } | Self::Which { program: text } => {
                text.len()
            }
        }
    }
}

impl NetCall {
    fn size(&self) -> usize {
        let of = |headers: &BTreeMap<String, String>| headers.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>();
        match self {
            Self::TcpCheck { host: text, .. } | Self::HttpStatus { url: text } | Self::HttpCheck { url: text } => text.len(),
            Self::HttpGet { url, headers } => url.len() + of(headers),
            Self::HttpPost { url, body, headers } => url.len() + body.len() + of(headers),
        }
    }
}

impl RedisCall {
    fn size(&self) -> usize {
        self.arguments.iter().map(String::len).sum()
    }
}
