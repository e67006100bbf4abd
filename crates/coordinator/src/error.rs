use hero_jobs::dispatch;
use hero_model::{ContextId, MessageKey, RunnerId};
use hero_store as store;

/// Why something about the objects of the coordinator was not done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such runner (any more).
    #[error("runner {id} does not exist in context {context}; list_runners gives those that do")]
    NoRunner {
        /// Its number.
        id: RunnerId,
        /// Where it was looked for.
        context: ContextId,
    },
    /// There is no such message (any more).
    #[error("{key} does not exist in context {context}; list_messages gives those that wait")]
    NoMessage {
        /// Its name.
        key: MessageKey,
        /// Where it was looked for.
        context: ContextId,
    },
    /// The message goes out, so that nobody here acknowledges it.
    #[error(
        "{key} of context {context} is to go out, so only the other side acknowledges it; get_message says what became of that, and delete_message takes it back"
    )]
    GoesOut {
        /// Its name.
        key: MessageKey,
        /// The context that has it.
        context: ContextId,
    },
    /// The message has a job whose result is awaited.
    #[error(
        "{key} of context {context} has a job whose result is awaited, so it is not deleted; that is possible when its status is processed or error (get_message), at the latest when its timeout_ack and timeout_result are over"
    )]
    Awaited {
        /// Its name.
        key: MessageKey,
        /// The context that has it.
        context: ContextId,
    },
    /// The other side has not been told yet that the job of the message was stopped.
    #[error(
        "{key} of context {context} has a job that was stopped, and its stop is still to be told to the other side, where the job may run, so it is not deleted; that is possible when its logs say what became of that (get_message), at the latest when its timeout, or a day, is over"
    )]
    Untold {
        /// Its name.
        key: MessageKey,
        /// The context that has it.
        context: ContextId,
    },
    /// The message came with jobs for whose results its sender waits.
    #[error(
        "{key} came to context {context} with jobs whose results its sender awaits, so it is not deleted; that is possible when they have ended and its status is processed (get_message), and stop_job ends them"
    )]
    Unanswered {
        /// Its name.
        key: MessageKey,
        /// The context that has it.
        context: ContextId,
    },
    /// A parameter that cannot be meant.
    #[error("{param}: {message}")]
    Invalid {
        /// The parameter.
        param: &'static str,
        /// What is wrong with it and what to do.
        message: String,
    },
    /// There are as many as may be.
    #[error("there are {0}, and no more may be")]
    Full(&'static str),
    /// A key of Redis is of another type than it has to be.
    #[error("the key {key} of context {context} is no list in Redis, because another program wrote there; delete or rename it")]
    NoList {
        /// The key.
        key: &'static str,
        /// The context.
        context: ContextId,
    },
    /// What the dispatcher refused, or Redis did not do.
    #[error(transparent)]
    Dispatch(#[from] dispatch::Error),
}

impl From<store::Error> for Error {
    fn from(source: store::Error) -> Self {
        Self::Dispatch(dispatch::Error::of_store(source))
    }
}
