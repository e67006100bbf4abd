//! Invalid data from foreign programs stops nothing, and no caller waits for ever.

mod gives_way;
mod log;
mod odd_job;
mod reach;

use hero::model::JobId;
use hero::store::Store;

use super::relations::{create, ended, fetch, job, now, release};
use crate::support::Redis;

async fn house() -> (Redis, Store) {
    let redis = Redis::start().await;
    let store = redis.store().await;
    (redis, store)
}

fn key(id: &JobId) -> String {
    format!("hero:job:{id}")
}

async fn finish(store: &Store, id: &JobId) {
    assert_eq!(fetch(store, &[], 9).await, std::slice::from_ref(id));
    fetch(store, &[ended(id)], 0).await;
    release(store).await;
}

/// The log names keys, each with what to do about it, or that it gave way.
async fn names(store: &Store, keys: &[&str]) {
    let log = tempfile::NamedTempFile::new().unwrap();
    let writer = std::sync::Mutex::new(log.reopen().unwrap());
    let listening = tracing::subscriber::set_default(tracing_subscriber::fmt().with_ansi(false).with_writer(writer).finish());
    store.maintenance().name_spoilt().await.unwrap();
    drop(listening);
    let log = std::fs::read_to_string(log.path()).unwrap();
    for key in keys {
        let cures = ["delete or rename it", "it was deleted, so that all else goes on"];
        let told = log.lines().filter(|line| line.contains(key) && cures.iter().any(|cure| line.contains(cure)));
        assert_eq!(told.count(), 1, "{key}: {log}");
    }
}

async fn spoil(redis: &Redis, key: &str) {
    let _: u64 = redis.run(&["DEL", key]).await;
    let _: () = redis.run(&["SET", key, "x"]).await;
}
