//! The conveyor layout, from both sides. The clients here use plain Redis commands, and encode messages themselves.

mod add;
mod consume;
mod relations;

use hero::conveyor::{Closer, Consumer, ConsumerSettings};
use hero::model::{JobId, ScriptType};
use hero::service;
use hero::store::Store;
use redis::FromRedisValue;

use crate::support::{House, Redis, pool_settings, until};

/// A job as a client in another language writes it.
#[derive(Clone, Default)]
struct Message {
    uuid: String,
    kind: String,
    queue: String,
    payload: Vec<u8>,
    run_at: Option<u64>,
    parent: String,
    predecessor: String,
    max_retries: u64,
}

impl Message {
    fn new(script: &str) -> Self {
        let (kind, queue) = ("osis".to_owned(), "work".to_owned());
        Self { uuid: id(), kind, queue, payload: script.as_bytes().to_vec(), max_retries: 1, ..Self::default() }
    }

    fn child_of(mut self, parent: &str) -> Self {
        self.parent = parent.to_owned();
        self
    }

    /// Protobuf by hand: a tag of number and wire type, then a varint, or a length and so many bytes.
    fn bytes(&self) -> Vec<u8> {
        let mut message = Vec::new();
        let varint = |mut value: u64| {
            let mut bytes = Vec::new();
            while value >= 0x80 {
                bytes.push((value & 0x7f) as u8 | 0x80);
                value >>= 7;
            }
            bytes.push(value as u8);
            bytes
        };
        let mut field = |number: u8, value: &[u8]| {
            if !value.is_empty() {
                message.push(number << 3 | 2);
                message.extend(varint(value.len() as u64));
                message.extend_from_slice(value);
            }
        };
        field(1, self.uuid.as_bytes());
        field(2, self.kind.as_bytes());
        field(3, self.queue.as_bytes());
        field(4, &self.payload);
        if let Some(seconds) = self.run_at {
            field(5, &[vec![1 << 3], varint(seconds)].concat());
        }
        field(6, self.parent.as_bytes());
        field(7, self.predecessor.as_bytes());
        if self.max_retries > 0 {
            message.push(10 << 3);
            message.extend(varint(self.max_retries));
        }
        message
    }
}

/// One command whose arguments are bytes.
async fn run<T: FromRedisValue>(redis: &Redis, words: &[&str], bytes: &[u8]) -> T {
    let client = redis::Client::open(redis.url()).unwrap();
    let mut connection = crate::support::connection(&client).await.unwrap();
    redis::cmd(words[0]).arg(&words[1..]).arg(bytes).query_async(&mut connection).await.unwrap()
}

async fn push(redis: &Redis, key: &str, message: &Message) {
    let _: i64 = run(redis, &["LPUSH", key], &message.bytes()).await;
}

async fn elements(redis: &Redis, key: &str) -> Vec<Vec<u8>> {
    redis.run(&["LRANGE", key, "0", "-1"]).await
}

async fn members(redis: &Redis, key: &str) -> Vec<String> {
    redis.run(&["SMEMBERS", key]).await
}

async fn exists(redis: &Redis, key: &str) -> bool {
    redis.run(&["EXISTS", key]).await
}

async fn hget(redis: &Redis, id: &str, field: &str) -> Option<String> {
    redis.run(&["HGET", &format!("hero:job:{id}"), field]).await
}

async fn is(redis: &Redis, id: &str, status: &str) {
    until(&format!("{id} is {status}"), || async { (hget(redis, id, "status").await? == status).then_some(()) }).await;
}

async fn gone(redis: &Redis, key: &str) {
    until(&format!("{key} is gone"), || async { (!exists(redis, key).await).then_some(()) }).await;
}

/// Every key that is not ours: the keys that conveyor clients see.
async fn conveyor_keys(redis: &Redis) -> Vec<String> {
    let keys: Vec<String> = redis.run(&["KEYS", "*"]).await;
    let mut keys: Vec<String> = keys.into_iter().filter(|key| !key.starts_with("hero:") || key == "hero:q:conveyor").collect();
    keys.sort();
    keys
}

/// The events of jobs, in order: id and status.
async fn events(redis: &Redis) -> Vec<(String, String)> {
    let events: Vec<(String, std::collections::BTreeMap<String, String>)> = redis.run(&["XRANGE", "hero:events", "-", "+"]).await;
    events.into_iter().map(|(_, event)| (event["job"].clone(), event["status"].clone())).collect()
}

async fn starts(redis: &Redis, id: &str) -> usize {
    events(redis).await.into_iter().filter(|(job, status)| job == id && status == "started").count()
}

/// The number of successful runs of a job. A start may be one that its pool requeued.
async fn runs(redis: &Redis, id: &str) -> usize {
    events(redis).await.into_iter().filter(|(job, status)| job == id && status == "finished").count()
}

fn id() -> String {
    JobId::random().to_string()
}

fn settings() -> ConsumerSettings {
    ConsumerSettings {
        namespace: None,
        queues: vec![("work".parse().unwrap(), ScriptType::osis())],
        script_types: [ScriptType::osis(), ScriptType::sal()].into(),
        backlog: 100,
        longest_script: 64 * 1024,
    }
}

/// The loops of a server that consumes conveyor queues.
fn consume(house: &House, store: &Store) {
    tokio::spawn(service::run(Consumer::new(store.clone(), settings()), house.shutdown.clone()));
    tokio::spawn(service::run(Closer::new(store.clone()), house.shutdown.clone()));
}

/// A house that consumes the queue `work`.
async fn consumer() -> House {
    let house = House::open(2).await;
    consume(&house, &house.store);
    house
}

/// A house without actors on a Redis; hire them with [`hire`].
async fn hire(house: &mut House) {
    let settings = pool_settings(house.redis.directory(), 2);
    house.hire(settings).await;
}
