use std::time::Duration;

use serde::Deserialize;

use super::{Details, Error, Status, Task};
use hero_model::{JobId, Json, Timestamp};
use hero_store::{Endpoint, RhailibTasks};

/// Time that the details of a task are kept after its result was received.
const TASK_RETENTION: Duration = Duration::from_secs(24 * 3600);

/// A client of rhailib's workers. Cheap to clone.
#[derive(Clone)]
pub struct Client {
    tasks: RhailibTasks,
}

/// A worker's message on the reply queue.
#[derive(Deserialize)]
struct Reply {
    status: String,
    #[serde(default)]
    output: Option<Json>,
    #[serde(default, alias = "error_msg")]
    error: Option<Json>,
}

impl Client {
    /// Connects to the Redis, and its database, that the workers use.
    pub async fn connect(endpoint: &Endpoint) -> Result<Self, Error> {
        Ok(Self { tasks: RhailibTasks::connect(endpoint).await? })
    }

    /// Submits a task to a circle and returns its id. [`Client::task`] returns its state.
    ///
    /// After an error the task may have been submitted nevertheless.
    pub async fn submit(&self, task: &Task) -> Result<String, Error> {
        self.submit_for(task, None).await
    }

    /// Submits a task to a circle and waits for its output on a reply queue of this call, without polling.
    ///
    /// A task that has not ended in time continues, but pushes no reply any more.
    pub async fn submit_and_wait(&self, task: &Task, timeout: Duration) -> Result<String, Error> {
        let queue = self.tasks.reply_queue();
        let task_id = self.submit_for(task, Some(queue.as_str())).await?;
        let reply = self.tasks.reply(&task_id, &queue, timeout).await?;
        let reply = reply.ok_or_else(|| Error::TimedOut { task_id: task_id.clone(), waited: timeout })?;
        self.tasks.expire(&task_id, TASK_RETENTION).await;
        read(task_id, reply)
    }

    /// Returns the status of a task.
    pub async fn status(&self, task_id: &str) -> Result<Status, Error> {
        Ok(self.task(task_id).await?.status)
    }

    /// Returns the details of a task.
    pub async fn task(&self, task_id: &str) -> Result<Details, Error> {
        let fields = self.tasks.details(task_id).await?;
        if fields.is_empty() {
            return Err(Error::NotFound(task_id.to_owned()));
        }
        Details::read(fields).map_err(|found| Error::Odd { task_id: task_id.to_owned(), what: "status", found })
    }

    async fn submit_for(&self, task: &Task, reply_queue: Option<&str>) -> Result<String, Error> {
        let (task_id, now) = (JobId::random().to_string(), Timestamp::local().to_string());
        let mut details = vec![("script", &*task.script), ("status", Status::Pending.as_str()), ("created_at", &now), ("updated_at", &now)];
        details.extend(task.client_rpc_id.as_deref().map(|id| ("client_rpc_id", id)));
        details.extend(reply_queue.map(|queue| ("reply_to_queue", queue)));
        self.tasks.submit(&task.circle, &task_id, &details).await?;
        Ok(task_id)
    }
}

fn read(task_id: String, reply: String) -> Result<String, Error> {
    let text = |value: Option<Json>| {
        let json = value.as_ref().map_or("", Json::as_str);
        serde_json::from_str(json).unwrap_or_else(|_| json.to_owned())
    };
    let Ok(read) = serde_json::from_str::<Reply>(&reply) else { return Err(Error::Odd { task_id, what: "the reply", found: reply }) };
    match read.status.parse() {
        Ok(Status::Completed) => Ok(text(read.output)),
        Ok(Status::Error) => Err(Error::Script { task_id, message: text(read.error) }),
        _ => Err(Error::Odd { task_id, what: "the status of the reply", found: reply }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_an_output_an_error_or_neither() {
        let of = |reply: &str| read("t".into(), reply.into());
        assert_eq!(of(r#"{"task_id":"t","status":"completed","output":"42"}"#).unwrap(), "42");
        assert_eq!(of(r#"{"status":"completed","output":{"a":1}}"#).unwrap(), r#"{"a":1}"#);
        let marked = r#"{"$serde_json::private::RawValue":"[1]"}"#;
        assert_eq!(of(&format!(r#"{{"status":"completed","output":{marked}}}"#)).unwrap(), marked);
        for reply in [r#"{"status":"error","error":"broken"}"#, r#"{"status":"error","error_msg":"broken"}"#] {
            assert!(matches!(of(reply), Err(Error::Script { message, .. }) if message == "broken"));
        }
        for reply in ["", "42", r#"{"status":"pending"}"#, r#"{"output":"42"}"#] {
            assert!(matches!(of(reply), Err(Error::Odd { .. })), "{reply}");
        }
    }
}
