//! Flows, as clients of a server see them.
#![expect(clippy::unwrap_used, reason = "a test that can't go on shall say so")]

mod clock_step;
mod failures;
mod following;
mod foreign;
mod keyed;
mod killed;
mod objects;
mod order;
mod refusals;
mod rounds;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::{Client, House, Server, until};

/// A server with this number of actors.
async fn open(actors: u32) -> (House, Server, Client) {
    let house = if actors > 0 { House::open(actors).await } else { House::empty().await };
    let server = Server::of(&house).await;
    let client = server.connect().await;
    (house, server, client)
}

/// The status of each job of a flow, by its name.
fn statuses(flow: &Value) -> Vec<(&str, &str)> {
    flow["jobs"].as_array().unwrap().iter().map(|job| (job["name"].as_str().unwrap(), job["status"].as_str().unwrap())).collect()
}

/// The job of a flow that has this name.
fn job<'f>(flow: &'f Value, name: &str) -> &'f Value {
    flow["jobs"].as_array().unwrap().iter().find(|job| job["name"] == name).unwrap()
}

/// Waits until a flow has ended, however.
async fn ended(client: &Client, flow: &Value) -> Value {
    let _ = client.call("wait_flow", json!([flow])).await;
    client.ok("get_flow", json!([flow])).await
}

/// A hash, as redis-cli shows it.
async fn hash(house: &House, key: &str) -> BTreeMap<String, String> {
    let fields: Vec<String> = house.redis.run(&["HGETALL", key]).await;
    fields.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
}

/// For how many seconds a key is kept; -1: for ever, -2: there is none.
async fn ttl(house: &House, key: &str) -> i64 {
    house.redis.run(&["TTL", key]).await
}
