use std::sync::Arc;
use std::time::Duration;

use redis::{Arg, Cmd, ErrorKind, RedisError, ServerErrorKind};

/// Why the store did not do what it was asked.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// No answer in time. What was asked may have been done.
    #[error("no answer from Redis within {0:?}")]
    Deadline(Duration),
    /// The connection or Redis itself refused.
    #[error("Redis: {0}")]
    Redis(#[from] Arc<RedisError>),
    /// A function answered what its caller does not know.
    #[error("the function {function} answered {reply}")]
    Reply {
        /// The function.
        function: &'static str,
        /// What it answered.
        reply: String,
    },
    /// This Redis cannot be used.
    #[error("{0}")]
    Unsuitable(String),
    /// What a setting names cannot be used before somebody changes it or the setting.
    #[error("{0}")]
    Setting(String),
    /// Another program has made something of a key that cannot be read. It stays so until somebody does something about it.
    #[error("the key {key} of Redis {why}, because another program wrote there; delete or rename it")]
    Spoilt {
        /// The key.
        key: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// What was prepared so many times in a row to be stored in one step was gone, or used by others, before the step.
    #[error(
        "what was prepared to be stored together was gone, or others used its idempotency keys, {0} times in a row: nothing was stored, try again"
    )]
    Overtaken(usize),
    /// The task that talks to Redis has ended, because the process is about to.
    #[error("the connection to Redis is closed")]
    Closed,
}

/// Why a Redis does not let us in. An operator has to put that right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Barred {
    /// It asks for a user and a password.
    NoPassword,
    /// It does not take the user or the password.
    WrongPassword,
    /// The user may not do what is needed.
    NotAllowed,
}

/// What is wrong with a key of another type.
pub(super) const OF_ANOTHER_TYPE: &str = "is of another type than it has to be (WRONGTYPE)";

impl Error {
    /// That a key, or what is named of it, cannot be read.
    pub(super) fn spoilt(key: impl Into<String>, why: &'static str) -> Self {
        Self::Spoilt { key: key.into(), why }
    }

    /// The same error; where a key of another type is the cause, it names that: the one whose command was refused. Functions touch many keys, and say of
    /// none which it was.
    pub(super) fn of(self, command: &Cmd) -> Self {
        let is_of_key = matches!(&self, Self::Redis(error) if error.code() == Some("WRONGTYPE"));
        let mut words = command.args_iter().filter_map(|arg| if let Arg::Simple(word) = arg { Some(word) } else { None });
        match (words.next(), words.next()) {
            (Some(name), Some(key)) if is_of_key && !name.starts_with(b"FCALL") && !name.starts_with(b"EVAL") => {
                Self::spoilt(String::from_utf8_lossy(key), OF_ANOTHER_TYPE)
            }
            _ => self,
        }
    }

    /// The same for what became of a command that named this key.
    pub(super) fn of_key(error: RedisError, key: &str) -> Self {
        if error.code() == Some("WRONGTYPE") { Self::spoilt(key, OF_ANOTHER_TYPE) } else { error.into() }
    }

    /// Whether another program has made something of a key that cannot be read.
    pub fn is_spoilt(&self) -> bool {
        matches!(self, Self::Spoilt { .. })
    }

    /// Whether, and why, Redis does not let us in.
    pub fn barred(&self) -> Option<Barred> {
        let Self::Redis(error) = self else { return None };
        let text = error.to_string();
        let says = |word: &str| error.code() == Some(word) || text.contains(word);
        if says("WRONGPASS") {
            Some(Barred::WrongPassword)
        } else if says("NOAUTH") {
            Some(Barred::NoPassword)
        } else if says("NOPERM") || text.contains("no permissions") {
            Some(Barred::NotAllowed)
        } else {
            (error.kind() == ErrorKind::AuthenticationFailed).then_some(Barred::WrongPassword)
        }
    }

    /// Whether there was no answer in time.
    pub fn is_silent(&self) -> bool {
        matches!(self, Self::Deadline(_)) || matches!(self, Self::Redis(error) if error.is_timeout())
    }

    /// Whether Redis has no memory left for a write.
    pub fn out_of_memory(&self) -> bool {
        matches!(self, Self::Redis(error) if error.code() == Some("OOM"))
    }

    /// Why Redis takes no writes although it answers, if that is its disk.
    pub fn disk_fault(&self) -> Option<&'static str> {
        let Self::Redis(error) = self else { return None };
        let is_full = error.detail().is_some_and(|detail| detail.contains("No space left"));
        let why = if is_full { "no space is left on its disk" } else { "it cannot write to its disk; its own log says why" };
        (error.code() == Some("MISCONF")).then_some(why)
    }

    /// Whether Redis does something else now, for which others wait: what it would answer is not known.
    pub(super) fn is_busy(&self) -> bool {
        self.is_loading() || matches!(self, Self::Redis(error) if error.code() == Some("BUSY"))
    }

    /// Whether Redis is there, but has not read its data yet.
    pub(super) fn is_loading(&self) -> bool {
        matches!(self, Self::Redis(error) if error.kind() == ErrorKind::Server(ServerErrorKind::BusyLoading))
    }

    /// Whether the same call may succeed later by itself: Redis was away, busy or full.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Deadline(_) | Self::Overtaken(_) => true,
            Self::Reply { .. } | Self::Unsuitable(_) | Self::Setting(_) | Self::Spoilt { .. } | Self::Closed => false,
            Self::Redis(error) => {
                let busy =
                    ["OOM", "LOADING", "BUSY", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "MISCONF", "NOREPLICAS", "UNBLOCKED"];
                error.is_io_error()
                    || error.is_timeout()
                    || error.is_connection_dropped()
                    || error.is_connection_refusal()
                    || error.code().is_some_and(|code| busy.contains(&code))
            }
        }
    }

    /// Whether it is certain that nothing was done. Otherwise it is unknown whether it was.
    pub fn not_done(&self) -> bool {
        match self {
            Self::Deadline(_) | Self::Reply { .. } | Self::Closed => false,
            Self::Unsuitable(_) | Self::Setting(_) | Self::Spoilt { .. } | Self::Overtaken(_) => true,
            // Redis 7 refuses so only the first write of a function, before anything is done: the disk, the memory or the replicas.
            Self::Redis(error) if matches!(error.code(), Some("OOM" | "MISCONF" | "NOREPLICAS" | "READONLY")) => true,
            // An error in the middle of a function leaves what it did before.
            Self::Redis(error) if error.detail().is_some_and(|detail| detail.contains("script:")) => false,
            Self::Redis(error) => {
                error.is_connection_refusal()
                    || match error.kind() {
                        ErrorKind::AuthenticationFailed | ErrorKind::InvalidClientConfig | ErrorKind::RESP3NotSupported => true,
                        ErrorKind::Server(kind) => kind != ServerErrorKind::ResponseError,
                        ErrorKind::Extension => matches!(error.code(), Some("NOAUTH" | "WRONGPASS")),
                        _ => false,
                    }
            }
        }
    }
}

impl From<RedisError> for Error {
    fn from(error: RedisError) -> Self {
        Self::Redis(Arc::new(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_from_a_redis_that_is_away() {
        let of = |code: &str, detail: &str| Error::from(redis::make_extension_error(code.to_owned(), Some(detail.to_owned())));
        let full = of("MISCONF", "Errors writing to the AOF file: No space left on device");
        assert_eq!((full.disk_fault(), full.not_done()), (Some("no space is left on its disk"), true));
        assert!(of("MISCONF", "unable to persist to disk").disk_fault().is_some_and(|why| why.contains("its own log")));
        assert_eq!(of("LOADING", "Redis is loading the dataset in memory").disk_fault(), None);
    }
}
