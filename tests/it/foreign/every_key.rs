//! If another program damages any key, everything else continues, and the error names the key and a fix.
//!
//! The keys are those of the table in `crates/store/src/keys.md`.

use std::collections::BTreeSet;
use std::sync::Mutex;

use hero::access::RightsWatch;
use hero::coordinator::flows::Resumer;
use hero::dispatch::{Indexer, Promoter, Pruner, Reaper, Releaser, Scheduler, Stopper, Surveyor, Sweeper, Timekeeper};
use hero::model::JobId;
use serde_json::{Value, json};

use super::table::{ID, NUMBER, table};
use super::whole::{Whole, make, until_said};
use crate::support::until;

/// What is in these nobody else knows, or another program may still want: the calls that read them name them, until somebody has seen to it.
const NEED_A_HAND: [&str; 7] =
    ["hero:access:identities", "hero:access:tokens", "hero:meta:collections", "hero:meta:flows", "hero:meta:runners", "msg_in", "msg_out"];

/// Prefixes of keys that no log names here, with the reason.
const UNNAMED: [(&str, &[&str]); 5] = [
    (
        "they hang on a job, an idempotency key, a schedule, a collection or an identity, which is named first or is not there at all: who has that meets them \
         (crates/store/src/health/spoilt.rs), which nobody does here",
        &[
            "hero:rel:",
            "hero:q:reply:",
            "hero:reply:",
            "job:",
            "hero:stop_queue:",
            "hero:idem:",
            "hero:staged:",
            "hero:schedule:",
            "hero:osis:people",
            "hero:access:tokens:of:",
        ],
    ),
    ("nobody has sorted the jobs of this queue, nor left any out", &["hero:q:fair:", "hero:q:left:"]),
    (
        "only a server reads them that serves their layout, or is that node",
        &["hero:work_queue:", "hero:job:old", "hero:job:actor_queue:", "queue:", "rhai_tasks:", "rhai_task_details:", "msg_out:sending:"],
    ),
    ("only who sends for that runner reads them", &["hero:q:sent:", "hero:q:stops:", "hero:q:awaited:"]),
    (
        "they are texts, which are written whole, whatever was there, or only asked whether they are there",
        &["hero:meta:reaped", "hero:access:nonce:", "hero:came:", "hero:bus:letter:", "hero:bus:receipt:", "hero:meta:displaced:"],
    ),
];

impl Whole {
    async fn services_work(&self) {
        let store = || self.house.store.clone();
        self.round(&mut Promoter::new(store())).await;
        self.round(&mut Scheduler::new(store())).await;
        self.round(&mut Reaper::new(store())).await;
        self.round(&mut Releaser::new(store())).await;
        self.round(&mut Indexer::new(store())).await;
        self.round(&mut Surveyor::new(store())).await;
        self.round(&mut Stopper::new(store(), Default::default())).await;
        self.round(&mut Sweeper::new(store())).await;
        self.round(&mut Timekeeper::new(store())).await;
        self.round(&mut Pruner::alone(store())).await;
        self.round(&mut Resumer::new(store())).await;
        self.round(&mut RightsWatch::new(self.authority.clone())).await;
    }

    /// Whoever looks after Redis reads in the log which keys are spoilt: each that is named by no id, unless it gave way.
    async fn the_log_names_them(&self) {
        self.house.store.maintenance().name_spoilt().await.unwrap();
        for (key, kind) in self.house.store.keys().kinds() {
            if self.spoilt.contains(&key) && !self.house.store.health().spoilt_keys().contains(&key) {
                let now: String = self.house.redis.run(&["TYPE", &key]).await;
                assert!([kind.as_str(), "none"].contains(&&*now), "nobody names {key}, which is a {now}");
            }
        }
        // Those of which functions say nothing, as if there were none.
        for key in ["hero:q:unsent", "hero:meta:nonces", "hero:q:messages", "hero:q:answers"] {
            let named = self.house.store.health().spoilt_keys().iter().any(|named| named == key);
            assert!(named || !self.spoilt.contains(key), "{key}");
        }
    }

    /// The same of those that are named with an id: whoever asks for it meets them, is answered as if there were none, and the log says why.
    async fn the_log_names_what_is_met(&self, table: &[(String, &'static str)]) {
        let (store, id, sal) = (&self.house.store, ID.parse::<JobId>().unwrap(), hero::model::ScriptType::sal());
        let queues =
            |first: &str| -> Vec<String> { table.iter().map(|(key, _)| key).filter(|key| key.starts_with(first)).cloned().collect() };
        let (work, control) = (queues("hero:q:work:"), queues("hero:q:ctl:"));
        assert!(work.len() > 1 && control.len() > 1, "{table:?}");
        let served: Vec<(String, usize)> = work.iter().map(|queue| (queue.clone(), 1)).collect();
        let actors = [hero::store::ActorRoom { actor: "sal:default:1".into(), room: 9 }];
        store.jobs().stop(&id).await.unwrap();
        store.jobs().read_lines(&id, None, 9, 999).await.unwrap();
        store.queues().control(&control).await.unwrap();
        store.queues().fetch(&hero::store::Fetch { script_type: &sal, ends: &[], actors: &actors, queues: &served }).await.unwrap();
        store.queues().list().await.unwrap();
        store.maintenance().evict("2001010101", 0, false).await.unwrap();
        store.flows().advance("900".parse().unwrap(), hero::store::FlowAction::Continue).await.unwrap();
        store.messages().get_all(&["message:7:900".parse().unwrap()]).await.unwrap();
        store.maintenance().name_spoilt().await.unwrap();
        let named: BTreeSet<String> = store.health().spoilt_keys().into_iter().collect();
        let of_id = [format!("hero:job:{ID}"), format!("hero:log:{ID}"), format!("flow:{NUMBER}"), format!("message:7:{NUMBER}")];
        let met = work.into_iter().chain(control).chain(of_id).chain(["hero:index:2001010101".to_owned()]);
        for key in met.filter(|key| self.spoilt.contains(key)) {
            let (now, right): (String, _) = (self.house.redis.run(&["TYPE", &key]).await, store.keys().kind_of(&key).unwrap().as_str());
            assert!(named.contains(&key) || [right, "none"].contains(&&*now), "nobody names {key}, which is a {now}: {named:?}");
        }
    }

    /// In the end the log has named each of them, or whoever asked for it was told, but for those of which nobody can.
    async fn all_are_named(&self, table: &[(String, &'static str)]) {
        // Who asks for a runner is told; who creates a job for a script type counts it.
        let told = self.client.call("get_runner", json!([NUMBER.parse::<u64>().unwrap()])).await.err().map(|fault| fault.message);
        let told: Vec<String> =
            self.spoilt.iter().filter(|key| told.iter().any(|message| message.contains(&format!("key {key} ")))).cloned().collect();
        self.named.lock().unwrap().extend(told);
        self.call("create_job", json!({ "script": "1", "script_type": "sal" })).await;
        self.house.store.maintenance().name_spoilt().await.unwrap();
        self.note_named();
        let told = &*self.named.lock().unwrap() | &*self.cured.lock().unwrap();
        let is_unnamed = |key: &str| UNNAMED.iter().flat_map(|(_, keys)| *keys).any(|first| key.starts_with(first));
        let mut unnamed = Vec::new();
        for key in self.spoilt.difference(&told).filter(|key| !is_unnamed(key)) {
            let now: String = self.house.redis.run(&["TYPE", key]).await;
            unnamed.push((key, table.iter().find(|(known, _)| known == key).map(|(_, right)| right), now));
        }
        assert!(unnamed.is_empty(), "nobody names these keys: {unnamed:#?}");
    }

    /// Every list can be read, whatever it leaves out.
    async fn lists_are_read(&self) {
        let document = self.client.ok("rpc.discover", Value::Null).await;
        let names = document["methods"].as_array().unwrap().iter().filter_map(|method| method["name"].as_str());
        let lists: Vec<&str> = names.filter(|name| name.starts_with("list_") || *name == "server_info").collect();
        assert!(lists.len() > 10, "{lists:?}");
        for method in lists {
            let params = if method == "list_tokens" { json!([1]) } else { Value::Null };
            self.call(method, params).await;
        }
    }

    async fn the_rest_goes_on(&self) {
        let spec = json!({ "script": "print(`x`); 7", "log_path": "x.log", "idempotency_key": "k", "caller_id": "somebody" });
        assert_eq!(self.call("run_and_wait", spec).await["output"], "7");
        let flow = json!({ "jobs": { "a": { "script": "1" }, "b": { "script": "inputs.a + 1", "depends_on": ["a"] } } });
        assert_eq!(self.call("run_flow_and_wait", flow).await["result"]["b"], "2");
        self.call("set_object", json!(["animals", { "id": "cat" }])).await;
        self.call("get_object", json!(["animals", "cat"])).await;
        self.call("find_objects", json!(["animals"])).await;
        let runner = self.call("create_runner", json!({ "script_type": "osis", "topic": "weather" })).await;
        self.call("get_runner", json!([runner["runner_id"]])).await;
        let sent = self.call("send_message", json!({ "address": "here", "message": "x", "caller_id": 5 })).await;
        let name = json!([sent["caller_id"], sent["message_id"]]);
        until("the message arrives", || async {
            let status = self.client.call("get_message", name.clone()).await.unwrap()["status"].clone();
            ["acknowledged", "processed"].contains(&status.as_str()?).then_some(())
        })
        .await;
        let schedule = self.call("create_schedule", json!({ "job": { "script": "1", "name": "of a schedule" }, "every": 1 })).await;
        until("a job of the schedule", || async {
            let found = self.client.call("list_jobs", json!({ "filter": { "name": "of a schedule", "status": "finished" } })).await;
            (!found.ok()?["jobs"].as_array()?.is_empty()).then_some(())
        })
        .await;
        self.call("delete_schedule", json!([schedule["schedule_id"]])).await;
        self.changes_are_told().await;
    }

    /// Whoever follows sees what changes, also behind what others added to the stream.
    async fn changes_are_told(&self) {
        let store = &self.house.store;
        let cursor = until("the newest change", || async { store.events().last_change().await.ok() }).await;
        let mut live = self.client.subscribe("subscribe_events", json!({})).await.unwrap();
        make(&self.house.redis, "hero:events", "stream", &[]).await;
        let id = self.house.start(crate::support::spec("1")).await;
        while !live.next().await.to_string().contains(id.as_str()) {}
        self.house.is(&id, hero::model::Status::Finished).await;
        let replayed = store.events().replay(&cursor).await.unwrap().unwrap();
        let changes: Vec<_> = futures_util::StreamExt::collect(replayed).await;
        assert!(changes.iter().any(|change| matches!(change, Ok(hero::store::Moment::Change(event)) if event.job_id == id)), "{changes:?}");
    }

    /// Whoever shows a good token is let in, or told which key is spoilt.
    async fn the_token_is_good(&self) {
        let last = Mutex::new(String::new());
        until_said(&last, || async {
            match self.authority.log_in(&self.secret).await {
                Ok(_) => Ok(()),
                Err(error) => {
                    assert!(!matches!(error, hero::access::Error::Unknown) || !self.cured.lock().unwrap().is_empty(), "{error}");
                    self.cure("log_in", &error.to_string()).await;
                    if self.cured.lock().unwrap().contains("hero:access:tokens") { Ok(()) } else { Err(error.to_string()) }
                }
            }
        })
        .await;
    }
}

async fn all_else_goes_on(kind: &'static str) {
    let table = table();
    assert!(table.len() > 90, "{table:?}");
    let mut whole = Whole::open().await;
    whole.jobs_run().await;
    whole.spoil(&table, kind).await;
    whole.the_log_names_them().await;
    whole.the_log_names_what_is_met(&table).await;
    whole.jobs_run().await;
    whole.services_work().await;
    whole.jobs_run().await;
    whole.lists_are_read().await;
    whole.the_rest_goes_on().await;
    whole.the_token_is_good().await;
    // A server that starts finds its way, too.
    let late = whole.house.redis.store().await;
    assert!(late.actors().list().await.is_ok());
    whole.jobs_run().await;
    whole.all_are_named(&table).await;
    let cured: Vec<String> = whole.cured.lock().unwrap().iter().filter(|key| !NEED_A_HAND.contains(&key.as_str())).cloned().collect();
    assert!(cured.is_empty(), "nothing goes on without a hand on {cured:?}");
    drop(whole.server);
    whole.house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_are_texts_stop_nothing_else() {
    Box::pin(all_else_goes_on("string")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_are_lists_stop_nothing_else() {
    Box::pin(all_else_goes_on("list")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_are_sets_stop_nothing_else() {
    Box::pin(all_else_goes_on("set")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_are_sorted_sets_stop_nothing_else() {
    Box::pin(all_else_goes_on("zset")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_are_hashes_stop_nothing_else() {
    Box::pin(all_else_goes_on("hash")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_are_streams_stop_nothing_else() {
    Box::pin(all_else_goes_on("stream")).await;
}
