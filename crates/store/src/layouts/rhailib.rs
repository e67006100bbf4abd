use std::collections::HashMap;
use std::time::Duration;

use redis::cmd;

use crate::keys::Keys;
use crate::network::plain_connection::PlainConnection;
use crate::value::{Fields, Text};
use crate::{Endpoint, Error};
use hero_model::{ContextId, JobId, Name};

/// The tasks of rhailib's workers in their Redis, as their clients use them. Cheap to clone.
#[derive(Clone)]
pub struct RhailibTasks {
    redis: PlainConnection,
    keys: Keys,
}

/// The list to which the worker of one task pushes its reply.
pub struct ReplyQueue(String);

impl ReplyQueue {
    /// Its key.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Redis treats a wait of zero as endless.
const MIN_WAIT: Duration = Duration::from_millis(1);

impl RhailibTasks {
    /// Connects to the Redis and database of the workers.
    pub async fn connect(endpoint: &Endpoint) -> Result<Self, Error> {
        Ok(Self { redis: PlainConnection::connect(endpoint).await?, keys: Keys::standalone(ContextId(0)) })
    }

    /// Returns a reply queue for one task.
    pub fn reply_queue(&self) -> ReplyQueue {
        ReplyQueue(self.keys.rhai_reply(&JobId::random()))
    }

    /// Stores a task with these details and puts it into the queue of a circle.
    pub async fn submit(&self, circle: &Name, task_id: &str, details: &[(&str, &str)]) -> Result<(), Error> {
        // The details come first, because a worker may take the id at once.
        self.redis.call::<u32>(cmd("HSET").arg(self.keys.rhai_task(task_id)).arg(details)).await?;
        let pushed = self.redis.call(cmd("LPUSH").arg(self.keys.rhai_tasks(circle)).arg(task_id)).await;
        if pushed.as_ref().is_err_and(Error::not_done) {
            // No worker takes it, so nothing of it must remain.
            self.tidy(cmd("DEL").arg(self.keys.rhai_task(task_id))).await;
        }
        pushed
    }

    /// Waits for the reply to a task. After the timeout the reply is no longer accepted.
    pub async fn reply(&self, task_id: &str, queue: &ReplyQueue, timeout: Duration) -> Result<Option<String>, Error> {
        let timeout = timeout.max(MIN_WAIT);
        // A worker may push any bytes.
        let answer: Result<Option<(Text, Text)>, _> =
            self.redis.blocking(cmd("BLPOP").arg(&queue.0).arg(timeout.as_secs_f64()), timeout).await;
        if !matches!(answer, Ok(Some(_))) {
            // A worker must not fill a queue that has no reader.
            self.tidy(cmd("HDEL").arg(self.keys.rhai_task(task_id)).arg("reply_to_queue")).await;
        }
        self.tidy(cmd("DEL").arg(&queue.0)).await;
        Ok(answer?.map(|(_, reply)| reply.0.unwrap_or_default()))
    }

    /// Limits the lifetime of a task.
    pub async fn expire(&self, task_id: &str, kept: Duration) {
        self.tidy(cmd("EXPIRE").arg(self.keys.rhai_task(task_id)).arg(kept.as_secs())).await;
    }

    /// Returns the details of a task; empty if there is no such task.
    pub async fn details(&self, task_id: &str) -> Result<HashMap<String, String>, Error> {
        let Fields(fields) = self.redis.call(cmd("HGETALL").arg(self.keys.rhai_task(task_id))).await?;
        Ok(fields.into_iter().filter_map(|(name, text)| Some((name, text.0?))).collect())
    }

    /// Cleans up. After a failure the key expires by itself, or the next cleanup removes it.
    async fn tidy(&self, command: &redis::Cmd) {
        if let Err(error) = self.redis.call::<u64>(command).await {
            tracing::debug!(%error, "tidying up after a rhailib task failed");
        }
    }
}
