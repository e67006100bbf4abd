use hero_jobs::dispatch;
use hero_model::{ContextId, MessageKey, RunnerId};
use hero_store as store;

/// The reason why an operation on objects of the coordinator was not done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The runner does not exist (any more).
    #[error("runner {id} does not exist in context {context}; list_runners gives those that do")]
    NoRunner {
        /// Its number.
        id: RunnerId,
        /// The context that was searched.
        context: ContextId,
    },
    /// The message does not exist (any more).
    #[error("{key} does not exist in context {context}; list_messages gives those that wait")]
    NoMessage {
        /// The key of the message.
        key: MessageKey,
        /// The context that was searched.
        context: ContextId,
    },
    /// The message is an outgoing one, so only the other side acknowledges it.
    #[error(
        "{key} of context {context} is to go out, so only the other side acknowledges it; get_message says what became of that, and delete_message takes it back"
    )]
    GoesOut {
        /// The key of the message.
        key: MessageKey,
        /// The context that has it.
        context: ContextId,
    },
    /// The message has a job whose result is awaited.
    #[error(
        "{key} of context {context} has a job whose result is awaited, so it is not deleted; that is possible when its status is processed or error (get_message), at the latest when its timeout_ack and timeout_result are over"
    )]
    Awaited {
        /// The key of the message.
        key: MessageKey,
        /// The context that has it.
        context: ContextId,
    },
    /// The other side does not know yet that the job of the message was stopped.
    #[error(
        "{key} of context {context} has a job that was stopped, and its stop is still to be told to the other side, where the job may run, so it is not deleted; that is possible when its logs say what became of that (get_message), at the latest when its timeout, or a day, is over"
    )]
    Untold {
        /// The key of the message.
        key: MessageKey,
        /// The context that has it.
        context: ContextId,
    },
    /// The message came with jobs whose results its sender awaits.
    #[error(
        "{key} came to context {context} with jobs whose results its sender awaits, so it is not deleted; that is possible when they have ended and its status is processed (get_message), and stop_job ends them"
    )]
    Unanswered {
        /// The key of the message.
        key: MessageKey,
        /// The context that has it.
        context: ContextId,
    },
    /// A parameter is invalid.
    #[error("{param}: {message}")]
    Invalid {
        /// The parameter.
        param: &'static str,
        /// The error in it, and what to do.
        message: String,
    },
    /// The maximum number of objects exists.
    #[error("{0}")]
    Full(String),
    /// A key of Redis has the wrong type.
    #[error("the key {key} of context {context} is no list in Redis, because another program wrote there; delete or rename it")]
    NoList {
        /// The key.
        key: &'static str,
        /// The context.
        context: ContextId,
    },
    /// The dispatcher refused the operation, or Redis failed.
    #[error(transparent)]
    Dispatch(#[from] dispatch::Error),
}

impl From<store::Error> for Error {
    fn from(source: store::Error) -> Self {
        Self::Dispatch(dispatch::Error::from(source))
    }
}
