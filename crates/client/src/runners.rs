use super::calls::{CreateRunner, DeleteRunner, GetRunner, ListRunners, UpdateRunner};
use super::connection::Client;
use super::error::Error;
use hero_model::{ContextId, Runner, RunnerChange, RunnerId, RunnerPage};

/// The methods for runners.
impl Client {
    /// Creates a runner.
    pub async fn create_runner(&self, context_id: ContextId, change: &RunnerChange) -> Result<Runner, Error> {
        self.call(&CreateRunner { change, context_id }).await
    }

    /// Changes the given fields of a runner.
    pub async fn update_runner(&self, context_id: ContextId, runner_id: RunnerId, change: &RunnerChange) -> Result<Runner, Error> {
        self.call(&UpdateRunner { change, runner_id, context_id }).await
    }

    /// Returns a runner.
    pub async fn get_runner(&self, context_id: ContextId, runner_id: RunnerId) -> Result<Runner, Error> {
        self.call(&GetRunner { runner_id, context_id }).await
    }

    /// Returns a page of runners, in the order of their numbers.
    pub async fn list_runners(&self, context_id: ContextId, cursor: Option<&str>, limit: usize) -> Result<RunnerPage, Error> {
        self.call(&ListRunners { cursor, limit: Some(limit), context_id }).await
    }

    /// Deletes a runner.
    pub async fn delete_runner(&self, context_id: ContextId, runner_id: RunnerId) -> Result<(), Error> {
        self.call(&DeleteRunner { runner_id, context_id }).await.map(drop)
    }
}
