use serde_json::{Value, json};

use super::connection::Client;
use super::error::Error;
use hero_model::{ContextId, Runner, RunnerChange, RunnerId, RunnerPage};

/// The methods for runners.
impl Client {
    /// Creates a runner.
    pub async fn create_runner(&self, context_id: ContextId, change: &RunnerChange) -> Result<Runner, Error> {
        self.call("create_runner", fields(change, json!({ "context_id": context_id }))).await
    }

    /// Changes the given fields of a runner.
    pub async fn update_runner(&self, context_id: ContextId, runner_id: RunnerId, change: &RunnerChange) -> Result<Runner, Error> {
        self.call("update_runner", fields(change, json!({ "runner_id": runner_id, "context_id": context_id }))).await
    }

    /// Returns a runner.
    pub async fn get_runner(&self, context_id: ContextId, runner_id: RunnerId) -> Result<Runner, Error> {
        self.call("get_runner", json!({ "runner_id": runner_id, "context_id": context_id })).await
    }

    /// Returns a page of runners, in the order of their numbers.
    pub async fn list_runners(&self, context_id: ContextId, cursor: Option<&str>, limit: usize) -> Result<RunnerPage, Error> {
        self.call("list_runners", json!({ "cursor": cursor, "limit": limit, "context_id": context_id })).await
    }

    /// Deletes a runner.
    pub async fn delete_runner(&self, context_id: ContextId, runner_id: RunnerId) -> Result<(), Error> {
        self.call::<bool>("delete_runner", json!({ "runner_id": runner_id, "context_id": context_id })).await.map(drop)
    }
}

/// Returns the parameters for the given fields of a runner; `null` means not given.
fn fields(change: &RunnerChange, mut params: Value) -> Value {
    params["script_type"] = json!(change.script_type);
    params["local"] = json!(change.local);
    params["topic"] = json!(change.topic);
    params["address"] = json!(change.address);
    params["pubkey"] = json!(change.pubkey);
    params["target_context"] = json!(change.target_context);
    params["name"] = json!(change.name);
    params
}
