//! Contexts that are created while servers run: their objects, service, deletion and limits.
#![expect(clippy::unwrap_used, reason = "a test that can't go on shall say so")]

mod deletion;
mod limits;
mod many;
mod objects;
mod served;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Client, Process, Redis, until};

/// A server with one osis actor in each context, on a Redis of its own.
struct Town {
    server: Process,
    client: Client,
    redis: Redis,
    home: TempDir,
}

/// The settings of the servers in these tests.
const POOL: [&str; 2] = ["--pool", "osis=1"];

impl Town {
    async fn open() -> Self {
        Self::with(&POOL).await
    }

    async fn with(arguments: &[&str]) -> Self {
        let (home, redis) = (tempfile::tempdir().unwrap(), Redis::start().await);
        let server = serve(&redis, &home, arguments).await;
        let client = Client::connect(&server.url()).await;
        Self { server, client, redis, home }
    }

    /// Makes a context, and gives its number.
    async fn context(&self, params: Value) -> u32 {
        u32::try_from(self.client.ok("create_context", params).await["context_id"].as_u64().unwrap()).unwrap()
    }

    async fn output(&self, context: u32, script: &str) -> String {
        run(&self.client, context, script).await
    }
}

/// A server on a Redis, with a directory of its own.
async fn serve(redis: &Redis, home: &TempDir, arguments: &[&str]) -> Process {
    let url = redis.url();
    Process::serve(home.path(), &[&["--redis", &url][..], arguments].concat()).await
}

async fn run(client: &Client, context: u32, script: &str) -> String {
    let spec = json!({ "script": script, "context_id": context });
    client.ok("run_and_wait", spec).await["output"].as_str().unwrap().to_owned()
}

/// A job that is started.
async fn start(client: &Client, context: u32, spec: Value) -> Value {
    let mut spec = spec;
    spec["context_id"] = json!(context);
    let id = client.ok("create_job", spec).await;
    client.ok("start_job", json!({ "job_id": id, "context_id": context })).await;
    id
}

async fn is(client: &Client, context: u32, id: &Value, status: &str) {
    let params = json!({ "job_id": id, "context_id": context });
    until(&format!("{id} is {status}"), || async { (client.ok("get_status", params.clone()).await == status).then_some(()) }).await;
}
