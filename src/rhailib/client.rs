use std::collections::HashMap;
use std::time::Duration;

use redis::{Cmd, cmd};
use serde::Deserialize;

use super::{Details, Error, Status, Task};
use crate::model::{JobId, Json, Timestamp};
use crate::store::{Endpoint, Plain};

/// How long the details of a task are kept once its result has been received.
const KEPT: Duration = Duration::from_secs(24 * 3600);
/// Redis counts a wait of zero as one without end.
const SHORTEST: Duration = Duration::from_millis(1);

/// A client of rhailib's workers. Cheap to clone.
#[derive(Clone)]
pub struct Client {
    redis: Plain,
}

/// What a worker pushes on the reply queue.
#[derive(Deserialize)]
struct Reply {
    status: String,
    #[serde(default)]
    output: Option<Json>,
    #[serde(default, alias = "error_msg")]
    error: Option<Json>,
}

impl Client {
    /// Connects to the Redis, and the database of it, where the workers look.
    pub async fn connect(endpoint: &Endpoint) -> Result<Self, Error> {
        Ok(Self { redis: Plain::connect(endpoint).await? })
    }

    /// Hands a task to a circle and gives its id. [`Client::task`] tells what becomes of it.
    ///
    /// After an error it may have been handed over.
    pub async fn submit(&self, task: &Task) -> Result<String, Error> {
        self.submit_for(task, None).await
    }

    /// Hands a task to a circle and waits for its output, on a reply queue of its own; nothing is polled.
    ///
    /// When it has not ended in time it goes on, but pushes no reply any more.
    pub async fn submit_and_wait(&self, task: &Task, timeout: Duration) -> Result<String, Error> {
        let reply_queue = format!("rhai_reply:{}", JobId::random());
        let task_id = self.submit_for(task, Some(&reply_queue)).await?;
        let timeout = timeout.max(SHORTEST);
        let answer: Result<Option<(String, String)>, _> =
            self.redis.blocking(cmd("BLPOP").arg(&reply_queue).arg(timeout.as_secs_f64()), timeout).await;
        if !matches!(answer, Ok(Some(_))) {
            // Nobody shall fill a queue that nobody reads.
            self.tell(cmd("HDEL").arg(details_key(&task_id)).arg("reply_to_queue")).await;
        }
        self.tell(cmd("DEL").arg(&reply_queue)).await;
        let (_, reply) = answer?.ok_or_else(|| Error::TimedOut { task_id: task_id.clone(), waited: timeout })?;
        self.tell(cmd("EXPIRE").arg(details_key(&task_id)).arg(KEPT.as_secs())).await;
        read(task_id, reply)
    }

    /// Where a task is in its life.
    pub async fn status(&self, task_id: &str) -> Result<Status, Error> {
        Ok(self.task(task_id).await?.status)
    }

    /// What is known of a task.
    pub async fn task(&self, task_id: &str) -> Result<Details, Error> {
        let fields: HashMap<String, String> = self.redis.call(cmd("HGETALL").arg(details_key(task_id))).await?;
        if fields.is_empty() {
            return Err(Error::NotFound(task_id.to_owned()));
        }
        Details::read(fields).map_err(|found| Error::Odd { task_id: task_id.to_owned(), what: "status", found })
    }

    async fn submit_for(&self, task: &Task, reply_queue: Option<&str>) -> Result<String, Error> {
        let (task_id, now) = (JobId::random().to_string(), Timestamp::local().to_string());
        let mut details = cmd("HSET");
        details.arg(details_key(&task_id)).arg("script").arg(&task.script).arg("status").arg(Status::Pending.as_str());
        details.arg("created_at").arg(&now).arg("updated_at").arg(&now);
        for (field, value) in [("client_rpc_id", task.client_rpc_id.as_deref()), ("reply_to_queue", reply_queue)] {
            if let Some(value) = value {
                details.arg(field).arg(value);
            }
        }
        // The details first: a worker may take the id as soon as it is there.
        self.redis.call::<u32>(&details).await?;
        self.redis.call::<u64>(cmd("LPUSH").arg(format!("rhai_tasks:{}", task.circle)).arg(&task_id)).await?;
        Ok(task_id)
    }

    /// Tidies up. What fails is left to its time to live, or to the next who tidies.
    async fn tell(&self, command: &Cmd) {
        if let Err(error) = self.redis.call::<u64>(command).await {
            tracing::debug!(%error, "tidying up after a rhailib task failed");
        }
    }
}

fn details_key(task_id: &str) -> String {
    format!("rhai_task_details:{task_id}")
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
