//! Host calls of scripts about resources outside of their engine: files, processes, the network, a Redis.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Capability;

/// The maximum text in one answer, in bytes. A value of a script can hold all of it.
pub const LARGEST_TEXT: usize = 240 << 10;

/// A host call about resources outside of the engine. Each needs a grant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResourceCall {
    /// A call about the files of the context.
    Files(FileCall),
    /// A call about processes.
    Processes(ProcessCall),
    /// A call about the network.
    Net(NetCall),
    /// A command for the Redis that the operator named.
    Redis(RedisCall),
}

/// Calls of scripts about the files of their context. Paths are relative to the working directory of the job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileCall {
    /// Check whether a file or a directory exists.
    Exists {
        /// The path.
        path: String,
    },
    /// Make a directory, and those above it.
    MakeDirectory {
        /// The path.
        path: String,
    },
    /// Delete a file, or a directory with everything in it.
    Delete {
        /// The path.
        path: String,
    },
    /// Copy a file, or a directory with everything in it.
    Copy {
        /// The source.
        from: String,
        /// The target.
        to: String,
    },
    /// Move a file or a directory.
    Move {
        /// The source.
        from: String,
        /// The target.
        to: String,
    },
    /// Read the text of a file.
    Read {
        /// The path.
        path: String,
    },
    /// Write a text to a file.
    Write {
        /// The path.
        path: String,
        /// The text.
        text: String,
        /// Append to the file instead of replacing it.
        append: bool,
    },
    /// Get the size of a file in bytes.
    Size {
        /// The path.
        path: String,
    },
    /// Find entries by name, in a directory and all directories below it.
    Find {
        /// The directory to search.
        directory: String,
        /// The name, with `*` for any characters and `?` for one.
        name: String,
        /// Find directories instead of files.
        directories: bool,
        /// Only the first match.
        first: bool,
    },
    /// Change the working directory for the rest of the job.
    ChangeDirectory {
        /// The path.
        path: String,
    },
}

/// Calls of scripts about processes. They only see those of their job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessCall {
    /// Run a shell command to its end.
    Run {
        /// The command, or several lines of them.
        command: String,
    },
    /// List the running processes of the job.
    List {
        /// A text that their name or command contains.
        pattern: String,
    },
    /// End processes of the job.
    Kill {
        /// A text that their name or command contains.
        pattern: String,
    },
    /// Find the path of a program.
    Which {
        /// Its name.
        program: String,
    },
}

/// Calls of scripts about the network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetCall {
    /// Check whether a server accepts connections.
    TcpCheck {
        /// The name or the address of the server.
        host: String,
        /// The port.
        port: u16,
    },
    /// Get the status of a response to GET.
    HttpStatus {
        /// The URL.
        url: String,
    },
    /// Check whether a GET succeeds.
    HttpCheck {
        /// The URL.
        url: String,
    },
    /// Get a text.
    HttpGet {
        /// The URL.
        url: String,
        /// Additional headers.
        headers: BTreeMap<String, String>,
    },
    /// Post a text, and get one.
    HttpPost {
        /// The URL.
        url: String,
        /// The text.
        body: String,
        /// Additional headers.
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

/// The supported commands.
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

    /// The number of its arguments.
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
    /// The capability that a script needs for this call.
    pub const fn needs(&self) -> Capability {
        match self {
            Self::Files(_) => Capability::Fs,
            Self::Processes(_) => Capability::Process,
            Self::Net(_) => Capability::Net,
            Self::Redis(_) => Capability::Redis,
        }
    }

    /// The approximate size in bytes.
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
