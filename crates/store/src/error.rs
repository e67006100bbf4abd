use std::sync::Arc;
use std::time::Duration;

use redis::{Arg, Cmd, ErrorKind, RedisError, ServerErrorKind};

use hero_model::ContextId;

/// An error of the store.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// No answer arrived in time. The call may have been executed.
    #[error("no answer from Redis within {0:?}")]
    Deadline(Duration),
    /// The connection or Redis itself refused.
    #[error("Redis: {0}")]
    Redis(#[from] Arc<RedisError>),
    /// A function answered with a word that its caller does not know.
    #[error("the function {function} answered {reply}")]
    Reply {
        /// The function.
        function: &'static str,
        /// The answer.
        reply: String,
    },
    /// This Redis cannot be used.
    #[error("{0}")]
    Unsuitable(String),
    /// A setting names something that cannot be used until somebody changes it or the setting.
    #[error("{0}")]
    Setting(String),
    /// Another program has written something to a key that cannot be read. The error stays until somebody repairs the key.
    #[error("the key {key} of Redis {why}, because another program wrote there; delete or rename it")]
    Spoilt {
        /// The key.
        key: String,
        /// The fault.
        why: &'static str,
    },
    /// The context is being deleted, so nothing new is stored in it.
    #[error("context {0} is being deleted, and takes no calls")]
    Deleting(ContextId),
    /// A group of jobs was prepared so many times in a row to be stored in one step, and each time it was gone, or others had used its
    /// idempotency keys, before that step.
    #[error(
        "what was prepared to be stored together was gone, or others used its idempotency keys, {0} times in a row: nothing was stored, try again"
    )]
    Overtaken(usize),
    /// The task that talks to Redis has ended, because the process is about to end.
    #[error("the connection to Redis is closed")]
    Closed,
}

/// The reason why a Redis refuses hero. An operator has to fix it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Barred {
    /// It asks for a user and a password.
    NoPassword,
    /// It rejects the user or the password.
    WrongPassword,
    /// The user lacks a permission.
    NotAllowed,
}

/// The fault of a key of another type.
pub(super) const OF_ANOTHER_TYPE: &str = "is of another type than it has to be (WRONGTYPE)";

impl Error {
    /// An error for a key, or for an entry named by the text, that cannot be read.
    pub(super) fn spoilt(key: impl Into<String>, why: &'static str) -> Self {
        Self::Spoilt { key: key.into(), why }
    }

    /// Names the key of the refused command, if a key of another type is the cause. Functions touch many keys, and Redis does not
    /// say which one it was.
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

    /// Converts the error of a command that named this key.
    pub(super) fn of_key(error: RedisError, key: &str) -> Self {
        if error.code() == Some("WRONGTYPE") { Self::spoilt(key, OF_ANOTHER_TYPE) } else { error.into() }
    }

    /// Whether another program has written something to a key that cannot be read.
    pub fn is_spoilt(&self) -> bool {
        matches!(self, Self::Spoilt { .. })
    }

    /// The reason why Redis refuses hero, if it does.
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

    /// Whether no answer arrived in time.
    pub fn is_silent(&self) -> bool {
        matches!(self, Self::Deadline(_)) || matches!(self, Self::Redis(error) if error.is_timeout())
    }

    /// Whether Redis has no memory left for a write.
    pub fn out_of_memory(&self) -> bool {
        matches!(self, Self::Redis(error) if error.code() == Some("OOM"))
    }

    /// The reason why Redis takes no writes although it answers, if the cause is its disk.
    pub fn disk_fault(&self) -> Option<&'static str> {
        let Self::Redis(error) = self else { return None };
        let is_full = error.detail().is_some_and(|detail| detail.contains("No space left"));
        let why = if is_full { "no space is left on its disk" } else { "it cannot write to its disk; its own log says why" };
        (error.code() == Some("MISCONF")).then_some(why)
    }

    /// Whether Redis is busy with something else for which all wait. Its answer is then unknown.
    pub(super) fn is_busy(&self) -> bool {
        self.is_loading() || matches!(self, Self::Redis(error) if error.code() == Some("BUSY"))
    }

    /// Whether Redis is up but has not loaded its data yet.
    pub(super) fn is_loading(&self) -> bool {
        matches!(self, Self::Redis(error) if error.kind() == ErrorKind::Server(ServerErrorKind::BusyLoading))
    }

    /// Whether the same call may succeed later without a change: Redis was away, busy or full.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Deadline(_) | Self::Overtaken(_) => true,
            Self::Reply { .. } | Self::Unsuitable(_) | Self::Setting(_) | Self::Spoilt { .. } | Self::Deleting(_) | Self::Closed => false,
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

    /// Whether the call certainly did nothing. Otherwise this is unknown.
    pub fn not_done(&self) -> bool {
        match self {
            Self::Deadline(_) | Self::Reply { .. } | Self::Closed => false,
            Self::Unsuitable(_) | Self::Setting(_) | Self::Spoilt { .. } | Self::Deleting(_) | Self::Overtaken(_) => true,
            // Redis 7 gives these refusals only to the first write of a function, before anything is done. They concern disk, memory or
            // replicas.
            Self::Redis(error) if matches!(error.code(), Some("OOM" | "MISCONF" | "NOREPLICAS" | "READONLY")) => true,
            // After an error in the middle of a function, its earlier writes stay.
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
        // The word of `access.refuse_closed`.
        match error.detail().filter(|_| error.code() == Some("CLOSED")).and_then(|context| context.parse().ok()) {
            Some(context) => Self::Deleting(ContextId(context)),
            None => Self::Redis(Arc::new(error)),
        }
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

    #[test]
    fn a_function_names_the_context_that_is_being_deleted() {
        let of = |detail: &str| Error::from(redis::make_extension_error("CLOSED".to_owned(), Some(detail.to_owned())));
        assert!(matches!(of("7"), Error::Deleting(ContextId(7))));
        assert!(matches!(of("seven"), Error::Redis(_)));
    }
}
