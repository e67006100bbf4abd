use std::time::Duration;

use hero_store as store;

/// The reason why a task has no result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Its script failed, or was stopped.
    #[error("task {task_id} failed: {message}")]
    Script {
        /// The task.
        task_id: String,
        /// The worker's message.
        message: String,
    },
    /// The task has not ended in time, and continues. [`super::Client::task`] returns its state.
    #[error("task {task_id} has not ended within {} s; it goes on", waited.as_secs_f64())]
    TimedOut {
        /// The task.
        task_id: String,
        /// The timeout of the client.
        waited: Duration,
    },
    /// The task does not exist (any more).
    #[error("there is no task {0}")]
    NotFound(String),
    /// A worker wrote a value that is unknown in the layout.
    #[error("task {task_id}: {what} is not of rhailib: {found:?}")]
    Odd {
        /// The task.
        task_id: String,
        /// The part that was read.
        what: &'static str,
        /// The unknown value.
        found: String,
    },
    /// Redis failed or gave a wrong answer. A task that was being submitted may have been submitted.
    #[error("Redis: {0}")]
    Store(#[from] store::Error),
}
