//! Test support: a redis-server for each test, with stores and pools on it.

mod authority;
mod cluster;
mod hole;
mod house;
mod mycelium;
mod plan;
mod pool;
mod process;
mod redis;
mod round;
mod seed;
mod server;
mod story;
mod stream;
mod tree;
mod web;

pub use authority::Authority;
pub use cluster::{Cluster, MASTERS, Node, ask, free_ports};
pub use hole::Hole;
pub use house::{CONTEXT, House, spec, texts_in_each_other};
pub use mycelium::{MyceliumNode, Network};
pub use plan::{Plan, dispatcher};
pub use pool::{DEADLY, DEADLY_LEVELS, hero, objects, pool_settings};
pub use process::{Kin, Process, faketime};
pub use redis::Redis;
pub use round::round;
pub use seed::{random, seed};
pub use server::{CallError, Client, Items, Server, get, request};
pub use story::{Example, Made, examples};
pub use stream::{Event, Stream};
pub use tree::{crates, files_below, path_from, paths_below, root};
pub use web::Web;

use std::future::Future;
use std::time::Duration;

/// The maximum time that a test waits for anything.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A connection to Redis with the timeout of a test. The default timeout is half a second, which a busy machine may
/// exceed.
pub async fn connection(client: &::redis::Client) -> ::redis::RedisResult<::redis::aio::MultiplexedConnection> {
    let config = ::redis::AsyncConnectionConfig::new().set_connection_timeout(Some(PATIENCE)).set_response_timeout(Some(PATIENCE));
    client.get_multiplexed_async_connection_with_config(&config).await
}

/// Asks repeatedly until there is an answer.
pub async fn until<T, F: Future<Output = Option<T>>>(what: &str, mut ask: impl FnMut() -> F) -> T {
    let asking = async {
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            tokio::task::yield_now().await;
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(PATIENCE, asking).await.unwrap_or_else(|_| panic!("never came: {what}"))
}
