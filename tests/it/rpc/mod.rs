//! The promises of the wire protocol, checked with raw frames on a real server.

mod cost;
mod docs;
mod errors;
mod events;
mod faults;
mod followers;
mod gzip;
mod http;
mod jobs;
mod json;
mod life;
mod list;
mod log_files;
mod logs;
mod memory;
mod openrpc;
mod operations;
mod reading;
mod repeated;
mod streams;
mod subscriptions;
mod tls;
mod unread;
mod waits;
mod wire;

use serde_json::{Value, json};

use crate::support::{Client, House, Server, until};

/// An id that no job has.
const NOBODY: &str = "00000000-0000-4000-8000-000000000000";

/// A house with this number of osis actors, its server, and a connection to it.
async fn open(actors: u32) -> (House, Server, Client) {
    let house = if actors == 0 { House::empty().await } else { House::open(actors).await };
    let server = Server::of(&house).await;
    let client = server.connect().await;
    (house, server, client)
}

/// Creates a job: its id.
async fn create(client: &Client, spec: Value) -> Value {
    client.ok("create_job", spec).await
}

/// Creates and starts a job: its id.
async fn start(client: &Client, spec: Value) -> Value {
    let id = create(client, spec).await;
    client.ok("start_job", json!([id])).await;
    id
}

/// Waits until a job has a status.
async fn is(client: &Client, id: &Value, status: &str) {
    until(&format!("{id} is {status}"), || async { (client.ok("get_status", json!([id])).await == status).then_some(()) }).await;
}
