//! A house with all that serves a context, whose keys are spoilt.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use hero::access::{Authority, IdentityChange, TokenKey};
use hero::coordinator::{MessageLoopSettings, MessageLoops, NodeKey, Wakes};
use hero::model::JobId;
use hero::service::Service;
use serde_json::{Value, json};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::table::{ID, NUMBER};
use crate::support::{CONTEXT, Client, House, PATIENCE, Redis, Server, until};

/// Makes a key of this type with all of these members, and one that is no text. What is of that type already keeps its own.
pub(super) async fn make(redis: &Redis, key: &str, kind: &str, members: &[String]) {
    let script = "local kind = table.remove(ARGV, 1)
        if redis.call('TYPE', KEYS[1]).ok ~= kind then redis.call('DEL', KEYS[1]) end
        table.insert(ARGV, '\\255\\254')
        if kind == 'string' then redis.call('SET', KEYS[1], '\\255\\254') end
        for at, member in ipairs(ARGV) do
            if kind == 'list' then redis.call('RPUSH', KEYS[1], member)
            elseif kind == 'set' then redis.call('SADD', KEYS[1], member)
            elseif kind == 'zset' then redis.call('ZADD', KEYS[1], at - 1, member)
            elseif kind == 'hash' then redis.call('HSET', KEYS[1], member, '\\255\\254')
            elseif kind == 'stream' then redis.call('XADD', KEYS[1], '*', member, '\\255\\254') end
        end";
    let words = ["EVAL", script, "1", key, kind].into_iter().chain(members.iter().map(String::as_str));
    redis.run::<redis::Value>(&words.collect::<Vec<&str>>()).await;
}

/// A house with all that serves a context.
pub(super) struct Whole {
    pub(super) house: House,
    pub(super) server: Server,
    pub(super) client: Client,
    pub(super) authority: Authority,
    /// That of a token of an identity.
    pub(super) secret: String,
    /// The keys that are spoilt, and those of them that were named and deleted.
    pub(super) spoilt: BTreeSet<String>,
    pub(super) cured: Mutex<BTreeSet<String>>,
    /// Those that the log has named.
    pub(super) named: Mutex<BTreeSet<String>>,
    _shutdown: DropGuard,
}

impl Whole {
    pub(super) async fn open() -> Self {
        let house = House::open(1).await;
        let (wakes, shutdown) = (Wakes::default(), CancellationToken::new());
        let settings = MessageLoopSettings {
            key: NodeKey::random(),
            nodes: Vec::new(),
            mycelium: None,
            authority: None,
            ack: Duration::from_secs(60),
            result: Duration::from_secs(60),
            kept: hero::coordinator::IDLE_CONNECTION_TIMEOUT,
        };
        MessageLoops::start(house.dispatcher.clone(), settings, wakes, shutdown.clone()).serve(CONTEXT, &shutdown);
        let server = Server::of(&house).await;
        let client = server.connect().await;
        let authority = Authority::new(house.dispatcher.contexts().stores(), TokenKey::random());
        let identity = authority.create_identity(&IdentityChange::default()).await.unwrap().identity_id;
        let secret = authority.create_token(identity, None, None, None).await.unwrap().secret.reveal().to_owned();
        let (spoilt, cured, named) = Default::default();
        Self { house, server, client, authority, secret, spoilt, cured, named, _shutdown: shutdown.drop_guard() }
    }

    /// Gives each key this type, which is wrong for most. Of what is right, all that is a list of something has all sample keys and ids in it.
    pub(super) async fn spoil(&mut self, table: &[(String, &'static str)], kind: &'static str) {
        let mut members: Vec<String> = [ID, NUMBER, "message:7:900", "sal"].map(ToOwned::to_owned).into();
        members.extend(table.iter().map(|(key, _)| key.clone()));
        for (key, right) in table {
            // That says that the context is being deleted.
            if (key, kind) == (&"hero:meta:closed".to_owned(), "string") {
                continue;
            }
            make(&self.house.redis, key, kind, &members).await;
            if *right != kind {
                self.spoilt.insert(key.clone());
            }
        }
    }

    /// Checks what must always work: a job of a client, and one of another program.
    pub(super) async fn jobs_run(&self) {
        let output = self.client.ok("run_and_wait", json!({ "script": "40 + 2" })).await;
        assert_eq!(output["output"], "42");
        let id = JobId::random();
        super::hset(&self.house.redis, &id, "40 + 2", &[("script", "40 + 2")]).await;
        super::lpush(&self.house.redis, "hero:q:work:type:osis", &id).await;
        super::has(&self.house.redis, &id, "output", "42").await;
    }

    /// Deletes the key that an error names, if it names one, and says what to do about it.
    pub(super) async fn cure(&self, what: &str, error: &str) -> bool {
        let named = self.spoilt.iter().filter(|key| error.contains(key.as_str())).max_by_key(|key| key.len());
        let Some(named) = named.filter(|_| error.contains("delete or rename it")) else { return false };
        let _: u64 = self.house.redis.run(&["DEL", named]).await;
        let is_news = self.cured.lock().unwrap().insert(named.clone());
        assert!(is_news, "{what} still names {named} when it is gone: {error}");
        true
    }

    /// Notes what the log has named: what gave way is forgotten there after a while.
    pub(super) fn note_named(&self) {
        self.named.lock().unwrap().extend(self.house.store.health().spoilt_keys());
    }

    /// A call that succeeds in time. It may name keys that are spoilt before: then what it says is done.
    pub(super) async fn call(&self, method: &str, params: Value) -> Value {
        let last = Mutex::new(String::new());
        let asking = until_said(&last, || async {
            match self.client.call(method, params.clone()).await {
                Ok(answer) => Ok(answer),
                Err(fault) => {
                    self.cure(method, &fault.message).await;
                    Err(format!("{method} {params}: {fault:?}"))
                }
            }
        });
        let answer = asking.await;
        self.note_named();
        answer
    }

    /// A round of a service that succeeds in time, in the same way.
    pub(super) async fn round(&self, service: &mut impl Service) {
        let name = name_of(service);
        let last = Mutex::new(String::new());
        let service = tokio::sync::Mutex::new(service);
        until_said(&last, || async {
            match service.lock().await.tick().await {
                Ok(_) => Ok(()),
                Err(error) => {
                    self.cure(name, &error.to_string()).await;
                    Err(format!("{name}: {error}"))
                }
            }
        })
        .await;
        self.note_named();
    }
}

fn name_of<S: Service>(_: &S) -> &'static str {
    S::NAME
}

/// Asks repeatedly until there is an answer, and reports the last error if there is none.
pub(super) async fn until_said<T, F: Future<Output = Result<T, String>>>(last: &Mutex<String>, mut ask: impl FnMut() -> F) -> T {
    let asking = until("an answer", || {
        let asked = ask();
        async {
            match asked.await {
                Ok(answer) => Some(answer),
                Err(said) => {
                    *last.lock().unwrap() = said;
                    None
                }
            }
        }
    });
    tokio::time::timeout(PATIENCE / 2, asking).await.unwrap_or_else(|_| panic!("never: {}", last.lock().unwrap()))
}
