use std::time::Duration;

use hero_store as store;

/// Why a task has no result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Its script failed, or was stopped.
    #[error("task {task_id} failed: {message}")]
    Script {
        /// The task.
        task_id: String,
        /// What the worker says of it.
        message: String,
    },
    /// The task has not ended in time, and goes on. [`super::Client::task`] tells more of it.
    #[error("task {task_id} has not ended within {} s; it goes on", waited.as_secs_f64())]
    TimedOut {
        /// The task.
        task_id: String,
        /// How long the client waited.
        waited: Duration,
    },
    /// There is no such task (any more).
    #[error("there is no task {0}")]
    NotFound(String),
    /// A worker wrote something that the layout does not know.
    #[error("task {task_id}: {what} is not of rhailib: {found:?}")]
    Odd {
        /// The task.
        task_id: String,
        /// What was read.
        what: &'static str,
        /// What was found there.
        found: String,
    },
    /// Redis did not answer as it should. A task that was being submitted may have been.
    #[error("Redis: {0}")]
    Store(#[from] store::Error),
}
