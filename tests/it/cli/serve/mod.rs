//! Whole processes: an operator starts, ends and kills `hero serve` and `hero actor`.

mod acl;
mod backup;
mod cgroup;
mod check;
mod confinement;
mod connections;
mod deaths;
mod drain;
mod endpoints;
mod grants;
mod memory;
mod operation;
mod private_redis;
mod readiness;
mod refusals;
mod shared_redis;

use std::collections::HashMap;
use std::path::Path;

use hero::client::{Client, Error, code};
use hero::model::{ContextId, Job, JobId, JobResult, JobSpec, Status};

use crate::support::{PATIENCE, until};

const CONTEXT: ContextId = ContextId(0);
/// The code of calls that Redis did not answer.
const STORE_UNAVAILABLE: i32 = 1009;

fn spec(script: &str) -> JobSpec {
    JobSpec { script: script.into(), ..JobSpec::default() }
}

/// A job that was started.
async fn start(client: &Client, spec: JobSpec) -> JobId {
    let id = client.create_job(&spec).await.unwrap();
    client.start_job(CONTEXT, &id).await.unwrap();
    id
}

async fn run(client: &Client, script: &str) -> Result<JobResult, Error> {
    client.run_and_wait(&spec(script), PATIENCE).await
}

/// Waits until a job has a status.
async fn is(client: &Client, id: &JobId, status: Status) -> Job {
    until(&format!("{id} is {status}"), || async { client.get_job(CONTEXT, id).await.ok().filter(|job| job.status == status) }).await
}

/// Waits for the end of a job, also while Redis is away.
async fn end(client: &Client, id: &JobId) -> JobResult {
    until(&format!("the end of {id}"), || async {
        match client.wait_job(CONTEXT, id, PATIENCE).await {
            Err(error) if error.has_code(STORE_UNAVAILABLE) => None,
            answer => Some(answer.unwrap()),
        }
    })
    .await
}

/// The error of a wait when the server ends.
fn is_still_running(answer: &Result<JobResult, Error>) -> bool {
    matches!(answer, Err(error) if error.has_code(code::WAIT_RAN_OUT))
}

/// The arguments by which another process uses a private Redis.
fn sharing(data: &Path) -> [String; 4] {
    [
        "--redis".into(),
        format!("unix://{}", data.join("redis.sock").display()),
        "--redis-password-file".into(),
        data.join("redis.secret").to_str().unwrap().into(),
    ]
}

/// Texts as arguments.
fn words<'a>(first: &[&'a str], then: &'a [String]) -> Vec<&'a str> {
    first.iter().copied().chain(then.iter().map(String::as_str)).collect()
}

/// One command to a private Redis.
pub async fn command<T: redis::FromRedisValue>(data: &Path, words: &[&str]) -> T {
    try_command(data, words).await.unwrap()
}

/// The same, which may be away.
pub async fn try_command<T: redis::FromRedisValue>(data: &Path, words: &[&str]) -> redis::RedisResult<T> {
    let client = redis::Client::open(format!("unix://{}", data.join("redis.sock").display())).unwrap();
    let (info, secret) = (client.get_connection_info().clone(), std::fs::read_to_string(data.join("redis.secret")).unwrap());
    let settings = info.redis_settings().clone().set_password(secret.trim());
    let client = redis::Client::open(info.set_redis_settings(settings)).unwrap();
    let mut connection = crate::support::connection(&client).await?;
    let mut command = redis::cmd(words[0]);
    command.arg(&words[1..]);
    command.query_async(&mut connection).await
}

/// The statuses that a job has had, in order.
async fn changes(data: &Path, id: &JobId) -> Vec<String> {
    let events: Vec<(String, HashMap<String, String>)> = command(data, &["XRANGE", "hero:events", "-", "+"]).await;
    events.into_iter().filter(|(_, event)| event["job"] == id.as_str()).map(|(_, event)| event["status"].clone()).collect()
}
