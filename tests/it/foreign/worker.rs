use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rand::Rng as _;
use rand::rngs::StdRng;
use redis::FromRedisValue;
use redis::aio::MultiplexedConnection;
use tokio::task::JoinHandle;

use crate::support::Redis;

/// The choices of a worker that its layout leaves open.
#[derive(Clone, Default)]
pub struct Manner {
    /// The queues it takes from, in order.
    pub queues: Vec<String>,
    /// Its stop queue, if it looks at one.
    pub stops: Option<String>,
    /// Whether it pushes a reply.
    pub replies: bool,
    /// The maximum time in milliseconds between its BLPOP and its first HSET.
    pub hesitates: u64,
    /// The presence key that it refreshes, and its value.
    pub presence: Option<(String, String)>,
}

impl Manner {
    pub fn of(queues: &[&str]) -> Self {
        Self { queues: queues.iter().map(ToString::to_string).collect(), ..Self::default() }
    }
}

/// A worker of the legacy layout, step by step. Its language: `echo X`, `fail X`, `once X` (fails the first time), `die` (once, then `echo`),
/// `hang` until stopped.
pub struct LegacyWorker {
    task: JoinHandle<()>,
    ran: Arc<Mutex<Vec<String>>>,
}

impl LegacyWorker {
    pub async fn hire(redis: &Redis, manner: Manner) -> Self {
        let client = redis::Client::open(redis.url()).unwrap();
        let config = redis::AsyncConnectionConfig::new().set_response_timeout(None);
        let connection = client.get_multiplexed_async_connection_with_config(&config).await.unwrap();
        let ran = Arc::<Mutex<Vec<String>>>::default();
        let mut work = Work { connection, manner, ran: ran.clone(), met: HashSet::new(), random: crate::support::random() };
        if work.manner.presence.is_some() {
            work.show().await;
        }
        Self { task: tokio::spawn(async move { work.run().await }), ran }
    }

    /// The ids of the jobs it ran, in order.
    pub fn ran(&self) -> Vec<String> {
        self.ran.lock().unwrap().clone()
    }

    /// Whether it died.
    pub fn is_dead(&self) -> bool {
        self.task.is_finished()
    }
}

impl Drop for LegacyWorker {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Work {
    connection: MultiplexedConnection,
    manner: Manner,
    ran: Arc<Mutex<Vec<String>>>,
    met: HashSet<String>,
    random: StdRng,
}

impl Work {
    async fn say<T: FromRedisValue>(&mut self, words: &[&str]) -> T {
        let mut command = redis::cmd(words[0]);
        command.arg(&words[1..]);
        command.query_async(&mut self.connection).await.unwrap_or_else(|error| panic!("{words:?}: {error}"))
    }

    async fn show(&mut self) {
        if let Some((key, said)) = self.manner.presence.clone() {
            let _: () = self.say(&["SET", &key, &said, "EX", "15"]).await;
        }
    }

    async fn run(&mut self) {
        loop {
            self.show().await;
            let queues = self.manner.queues.clone();
            let mut words = vec!["BLPOP"];
            words.extend(queues.iter().map(String::as_str));
            words.push("1");
            let Some((_, id)) = self.say::<Option<(String, String)>>(&words).await else { continue };
            let key = format!("hero:job:{id}");
            let job: HashMap<String, String> = self.say(&["HGETALL", &key]).await;
            if self.manner.hesitates > 0 {
                tokio::time::sleep(Duration::from_millis(self.random.random_range(0..=self.manner.hesitates))).await;
            }
            let _: i64 = self.say(&["HSET", &key, "status", "started"]).await;
            if self.is_stopped_before(&id).await {
                let _: i64 = self.say(&["HSET", &key, "status", "error", "error", "stopped"]).await;
                continue;
            }
            self.ran.lock().unwrap().push(id.clone());
            let script = job.get("script").cloned().unwrap_or_default();
            let (verb, text) = script.split_once(' ').unwrap_or((&script, ""));
            let first = self.met.insert(id.clone());
            let outcome = match verb {
                // A file would do as well: what matters is that the next worker does not die of it.
                "die" if self.say::<i64>(&["INCR", &format!("died:{id}")]).await == 1 => return,
                "fail" => Err(text.to_owned()),
                "once" if first => Err(text.to_owned()),
                "hang" => Err(self.hang(&id).await),
                _ => Ok(text.to_owned()),
            };
            let (status, field, text) = match &outcome {
                Ok(output) => ("finished", "output", output),
                Err(error) => ("error", "error", error),
            };
            let _: i64 = self.say(&["HSET", &key, "status", status, field, text]).await;
            if self.manner.replies {
                let _: i64 = self.say(&["LPUSH", &format!("hero:q:reply:{id}"), text]).await;
            }
        }
    }

    async fn is_stopped_before(&mut self, id: &str) -> bool {
        let Some(stops) = self.manner.stops.clone() else { return false };
        self.say::<i64>(&["LLEN", &stops]).await > 0
            && self.say::<Option<String>>(&["LPOP", &stops]).await.is_some_and(|stopped| stopped == id)
    }

    async fn hang(&mut self, id: &str) -> String {
        let stops = self.manner.stops.clone().unwrap_or_default();
        loop {
            if self.say::<i64>(&["LLEN", &stops]).await > 0 {
                let requests: Vec<String> = self.say(&["LRANGE", &stops, "0", "-1"]).await;
                if requests.iter().any(|request| request == id) {
                    let _: i64 = self.say(&["LREM", &stops, "1", id]).await;
                    return "stopped_by_request".into();
                }
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
