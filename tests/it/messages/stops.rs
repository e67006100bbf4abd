//! Remote stops: a job that ends here while it runs elsewhere also ends there.

use hero::coordinator::bus::{Api, Boxes, Bus};
use hero::coordinator::envelope::{Envelope, Kind};
use hero::coordinator::receipt::{Receipt, ReceiptStatus};
use hero::model::{ErrorKind, JobId, JobSpec, ScriptType, Seconds, Status};
use hero::store::{Layouts, NewStop, StopReceived};
use serde_json::{Value, json};

use super::kills::Node;
use super::trust::{boxes, deliver, envelope};
use super::*;
use crate::support::{MyceliumNode, Network, spec};

/// A script that would run far longer than a test.
const LONG: &str = "while true { sleep(0.01) }";

/// Starts such a job for a runner, and gives it with its id at the other side, where it runs.
async fn start_long(a: &Town, b: &Town, runner: RunnerId) -> (JobId, JobId) {
    let job = JobSpec { group: Some(runner.group()), timeout: Seconds::new(600.0), ..spec(LONG) };
    let here = a.house.start(job).await;
    let there = until("it runs there", || async {
        let page = b.house.dispatcher.jobs().list(CONTEXT, &Default::default(), None, 10).await.unwrap();
        page.jobs.into_iter().find(|job| job.status == Status::Started).map(|job| job.job_id)
    })
    .await;
    (here, there)
}

/// The message with jobs as its hash at the sender, once this stands in its log.
async fn logs(town: &Town, name: &str, part: &str) -> BTreeMap<String, String> {
    until(part, || async { Some(town.hash(name).await).filter(|hash| hash.get("logs").is_some_and(|logs| logs.contains(part))) }).await
}

async fn assert_stopped(town: &Town, id: &JobId) {
    town.house.is(id, Status::Error).await;
    let hash = town.hash(&format!("hero:job:{id}")).await;
    assert_eq!(hash["error_kind"], "stopped", "{hash:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_elsewhere_ends_when_its_job_is_stopped_here() {
    let (one, two) = (NodeKey::random(), NodeKey::random());
    let b = Town::open(&two, Plan::new(1).trusting(&one)).await;
    let a = Town::open(&one, Plan::new(0)).await;
    let runner = a.runner_in(&b).await;
    let (here, there) = start_long(&a, &b, runner).await;
    a.house.dispatcher.jobs().stop(CONTEXT, &here).await.unwrap();
    assert_stopped(&a, &here).await;
    assert_stopped(&b, &there).await;
    logs(&a, "message:0:1", "the other side knows that its job was stopped").await;
    let left: i64 = a.redis().run(&["EXISTS", "hero:q:stops"]).await;
    assert_eq!(left, 0);
    // Nobody waits for its result, so there is none on its way.
    let message = b.hash("message:0:1").await;
    assert_eq!((message["status"].as_str(), message["error"].as_str()), ("error", "its sender has stopped it"));
    let left: i64 = b.redis().run(&["EXISTS", "hero:q:answers", "message:0:2"]).await;
    assert_eq!(left, 0);
    // The actor there is free for what comes next.
    let next =
        a.house.dispatcher.jobs().run_and_wait(JobSpec { group: Some(runner.group()), ..spec("40 + 2") }, crate::support::PATIENCE).await;
    assert_eq!(next.unwrap().output, "42");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_goes_over_mycelium_by_either_of_its_interfaces() {
    for api in [Api::Rest, Api::JsonRpc] {
        let (one, two) = (NodeKey::random(), NodeKey::random());
        let network = Network::default();
        let (here, there) = (network.node().await, network.node().await);
        let bus = |node: &MyceliumNode| Some(Mycelium::new(&node.url(), api, "hero").unwrap());
        let b = Town::open(&two, Plan { mycelium: bus(&there), ..Plan::new(1).trusting(&one) }).await;
        let a = Town::open(&one, Plan { mycelium: bus(&here), ..Plan::new(0) }).await;
        let runner = a.runner_at(&there.key, &two).await;
        let (job, its) = start_long(&a, &b, runner).await;
        // Receipts that get lost, and stops that come twice, change nothing.
        network.disturb(true);
        a.house.dispatcher.jobs().stop(CONTEXT, &job).await.unwrap();
        assert_stopped(&b, &its).await;
        logs(&a, "message:0:1", "the other side knows").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_elsewhere_ends_when_the_time_for_its_result_is_over_here() {
    let (one, two) = (NodeKey::random(), NodeKey::random());
    let b = Town::open(&two, Plan::new(1).trusting(&one)).await;
    let a = Town::open(&one, Plan { result: Duration::from_secs(5), ..Plan::new(0) }).await;
    let runner = a.runner_in(&b).await;
    let (here, there) = start_long(&a, &b, runner).await;
    a.house.is(&here, Status::Error).await;
    assert_eq!(a.hash(&format!("hero:job:{here}")).await["error_kind"], ErrorKind::Timeout.as_str());
    assert_stopped(&b, &there).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_waits_elsewhere_ends_at_once_when_it_is_stopped_here() {
    let (one, two) = (NodeKey::random(), NodeKey::random());
    // Nobody runs jobs there.
    let b = Town::open(&two, Plan::new(0).trusting(&one)).await;
    let a = Town::open(&one, Plan::new(0)).await;
    // Another message has its number there.
    let _: i64 = b.redis().run(&["HSET", "message:0:1", "message", "x"]).await;
    let runner = a.runner_in(&b).await;
    let job = a.house.start(JobSpec { group: Some(runner.group()), ..spec("1") }).await;
    let name = until("the job", || async { b.redis().run::<Option<String>>(&["LINDEX", "queue:osis", "0"]).await }).await;
    a.house.dispatcher.jobs().stop(CONTEXT, &job).await.unwrap();
    logs(&a, "message:0:1", "the other side knows").await;
    let ended = b.hash(&name).await;
    assert_eq!((ended["status"].as_str(), ended["result"].as_str()), ("error", r#"{"error":"stopped"}"#));
    let left: i64 = b.redis().run(&["EXISTS", "queue:osis", "hero:q:answers"]).await;
    assert_eq!(left, 0);
}

/// The stop of a message with this nonce and number, by a node.
fn stop(key: &NodeKey, of: &Envelope) -> Envelope {
    let nonce = format!("stop{}", of.nonce);
    let mut stop = Envelope {
        kind: Kind::Stop,
        message_type: MessageType::Job,
        message: String::new(),
        in_reply_to: of.nonce.to_string(),
        answers: of.message_id,
        to: of.to.clone(),
        ..envelope(key, key, &nonce)
    };
    key.sign(&mut stop);
    stop
}

fn with_a_job(key: &NodeKey, to: &NodeKey, nonce: &str, script: &str) -> Envelope {
    let job = json!([{"id": 2001, "script": script, "script_type": "osis"}]).to_string();
    let mut envelope = Envelope { message_type: MessageType::Job, job, ..envelope(key, to, nonce) };
    key.sign(&mut envelope);
    envelope
}

/// The job that runs in a town.
async fn running(town: &Town) -> JobId {
    until("it runs", || async {
        let page = town.house.dispatcher.jobs().list(CONTEXT, &Default::default(), None, 10).await.unwrap();
        page.jobs.into_iter().find(|job| job.status == Status::Started).map(|job| job.job_id)
    })
    .await
}

/// Waits until a job that came by a message has been answered.
async fn is_answered(town: &Town, name: &str) {
    until("it is answered", || async { (!town.hash(name).await.contains_key("message")).then_some(()) }).await;
}

/// Nobody has asked for a stop of the job that runs.
async fn assert_untouched(town: &Town, id: &JobId) {
    let hash = town.hash(&format!("hero:job:{id}")).await;
    assert!(hash["status"] == "started" && !hash.contains_key("stop_requested_at"), "{hash:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_leaves_the_job_of_another_node_alone_that_has_the_name_of_its_own_by_now() {
    let (one, two, three) = (NodeKey::random(), NodeKey::random(), NodeKey::random());
    let town = Town::open(&two, Plan { trusts: vec![one.clone(), three.clone()], ..Plan::new(1) }).await;
    let bus = boxes(&town, &one).await;
    let (ended, other) = (with_a_job(&one, &two, "a", "1"), with_a_job(&three, &two, "b", LONG));
    assert!(deliver(&bus, &ended).await.is_stored());
    is_answered(&town, "job:12:2001").await;
    // As if its time were over.
    let _: i64 = town.redis().run(&["DEL", "job:12:2001"]).await;
    assert!(deliver(&bus, &other).await.is_stored());
    let job = running(&town).await;
    assert_eq!(town.hash("job:12:2001").await["status"], "started");
    assert!(deliver(&bus, &stop(&one, &ended)).await.is_stored());
    assert_untouched(&town, &job).await;
    assert!(deliver(&bus, &stop(&three, &other)).await.is_stored());
    assert_stopped(&town, &job).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_leaves_a_job_alone_that_was_answered_and_that_somebody_runs_again() {
    let (one, two) = (NodeKey::random(), NodeKey::random());
    let town = Town::open(&two, Plan::new(1).trusting(&one)).await;
    let (bus, sent) = (boxes(&town, &one).await, with_a_job(&one, &two, "a", LONG));
    assert!(deliver(&bus, &sent).await.is_stored());
    let job = running(&town).await;
    town.house.dispatcher.jobs().stop(CONTEXT, &job).await.unwrap();
    assert_stopped(&town, &job).await;
    is_answered(&town, "job:12:2001").await;
    town.house.dispatcher.jobs().retry(CONTEXT, &job).await.unwrap();
    assert_eq!(running(&town).await, job);
    assert!(deliver(&bus, &stop(&one, &sent)).await.is_stored());
    assert_untouched(&town, &job).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_that_comes_again_stops_what_has_not_ended_and_not_what_runs_again() {
    let (one, two) = (NodeKey::random(), NodeKey::random());
    let town = Town::open(&two, Plan::new(1).trusting(&one)).await;
    assert!(deliver(&boxes(&town, &one).await, &with_a_job(&one, &two, "a", LONG)).await.is_stored());
    let job = running(&town).await;
    let again = hero::model::Timestamp::local().plus(Duration::from_secs(600));
    let stop = NewStop { signer: one.public(), nonce: "a".to_owned(), caller: 12, number: 101, again };
    // Whoever takes it does not come to stop the job.
    for is_news in [true, false] {
        let taken = town.house.store.messages().receive_stop(&stop).await.unwrap();
        assert_eq!(taken, StopReceived::Taken { is_news, jobs: vec![(job.clone(), true)] });
    }
    town.house.store.jobs().stop(&job).await.unwrap();
    assert_stopped(&town, &job).await;
    town.house.dispatcher.jobs().retry(CONTEXT, &job).await.unwrap();
    let taken = town.house.store.messages().receive_stop(&stop).await.unwrap();
    assert_eq!(taken, StopReceived::Taken { is_news: false, jobs: Vec::new() });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_far_from_either_end_of_its_queue_is_not_looked_for_and_does_not_run_when_it_is_stopped() {
    let (one, two) = (NodeKey::random(), NodeKey::random());
    let town = Town::open(&two, Plan::new(0).trusting(&one)).await;
    let (bus, sent) = (boxes(&town, &one).await, with_a_job(&one, &two, "a", "1"));
    let others: Vec<String> = (0..300).map(|n| format!("job:9:{n}")).collect();
    let fill = async || {
        let words: Vec<&str> = ["LPUSH", "queue:osis"].into_iter().chain(others.iter().map(String::as_str)).collect();
        let _: i64 = town.redis().run(&words).await;
    };
    fill().await;
    assert!(deliver(&bus, &sent).await.is_stored());
    fill().await;
    assert!(deliver(&bus, &stop(&one, &sent)).await.is_stored());
    assert_eq!(town.hash("job:12:2001").await["status"], "error");
    let place: Option<i64> = town.redis().run(&["LPOS", "queue:osis", "job:12:2001"]).await;
    assert_eq!(place, Some(300));
    let _: String = town.redis().run(&["LTRIM", "queue:osis", "300", "300"]).await;
    let osis = ScriptType::osis();
    let queues = town.house.store.queues().of_layouts(&osis, &Layouts::all(&osis));
    assert!(town.house.store.queues().import(&osis, &queues, 20).await.unwrap());
    let left: i64 = town.redis().run(&["EXISTS", "queue:osis", "hero:q:watched"]).await;
    assert_eq!(left, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_waits_elsewhere_ends_although_one_that_has_ended_had_its_name() {
    let (one, two) = (NodeKey::random(), NodeKey::random());
    let town = Town::open(&two, Plan::new(0).trusting(&one)).await;
    let (bus, sent) = (boxes(&town, &one).await, with_a_job(&one, &two, "a", "1"));
    assert!(deliver(&bus, &sent).await.is_stored());
    let again = hero::model::Timestamp::local().plus(Duration::from_secs(600));
    let its = NewStop { signer: one.public(), nonce: "a".to_owned(), caller: 12, number: 101, again };
    let StopReceived::Taken { jobs, .. } = town.house.store.messages().receive_stop(&its).await.unwrap() else { panic!("it is not taken") };
    let [(id, false)] = jobs.as_slice() else { panic!("{jobs:?}") };
    let _: i64 = town.redis().run(&["DEL", "job:12:2001"]).await;
    // The one before ran here.
    let _: i64 = town.redis().run(&["HSET", &format!("hero:job:{id}"), "status", "finished"]).await;
    let other = with_a_job(&one, &two, "b", "1");
    assert!(deliver(&bus, &other).await.is_stored());
    // It waits for another one, as whoever takes jobs out of the queue has found.
    let _: i64 = town.redis().run(&["HSET", "job:12:2001", "status", "waiting_for_prerequisites"]).await;
    assert!(deliver(&bus, &stop(&one, &other)).await.is_stored());
    assert_eq!(town.hash("job:12:2001").await["status"], "error");
}

async fn jobs_of(town: &Town) -> Vec<String> {
    town.redis().run(&["LRANGE", "queue:osis", "0", "-1"]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_that_overtakes_its_message_keeps_the_jobs_of_that_from_running() {
    let (one, two) = (NodeKey::random(), NodeKey::random());
    let town = Town::open(&two, Plan::new(0).trusting(&one)).await;
    let bus = boxes(&town, &one).await;
    let (stopped, other) = (with_a_job(&one, &two, "stopped", "1"), with_a_job(&one, &two, "other", "1"));
    for _ in 0..2 {
        assert!(deliver(&bus, &stop(&one, &stopped)).await.is_stored());
    }
    assert!(deliver(&bus, &stopped).await.is_stored(), "nobody need send it again");
    assert_eq!(jobs_of(&town).await, Vec::<String>::new());
    assert!(deliver(&bus, &other).await.is_stored());
    assert_eq!(jobs_of(&town).await, ["job:12:2001"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_node_that_has_sent_a_job_stops_it() {
    let (one, two, three) = (NodeKey::random(), NodeKey::random(), NodeKey::random());
    let town = Town::open(&two, Plan { trusts: vec![one.clone(), three.clone()], ..Plan::new(0) }).await;
    let sent = with_a_job(&one, &two, "sent", "1");
    assert!(deliver(&boxes(&town, &one).await, &sent).await.is_stored());
    let by = async |key: &NodeKey, bus: &Boxes| deliver(bus, &stop(key, &sent)).await;
    let bus = boxes(&town, &three).await;
    for (key, part) in [(&three, "another node sent that message"), (&NodeKey::random(), "is not trusted here")] {
        let refused = by(key, &bus).await;
        assert!(refused.outcome == ReceiptStatus::Refused && refused.text.contains(part), "{refused:?}");
    }
    // What one has signed as something else is no stop, nor is what was changed.
    let forged = [Envelope { kind: Kind::Stop, ..envelope(&one, &two, "a") }, Envelope { answers: 7, ..stop(&one, &sent) }];
    for envelope in forged {
        assert!(deliver(&bus, &envelope).await.text.contains("the signature is not that of"));
    }
    assert_eq!(jobs_of(&town).await, ["job:12:2001"]);
    assert!(by(&one, &bus).await.is_stored());
    assert_eq!(jobs_of(&town).await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_is_told_although_the_server_is_killed_that_has_to_tell_it() {
    let mut a = Node::start("sal=1", &[]).await;
    let b = Node::start("osis=1", &["--nodes".to_owned(), format!("a={}", a.key().await)]).await;
    let runner = json!({"script_type": "osis", "local": false, "address": b.redis.url(), "pubkey": b.key().await});
    let client = a.client().await;
    let made: Value = client.call_named("create_runner", runner).await.unwrap();
    let job = json!({"script": LONG, "group": format!("runner{}", made["runner_id"]), "timeout": 600});
    let id: String = client.call_named("create_job", job).await.unwrap();
    let _: Value = client.call_named("start_job", json!([id])).await.unwrap();
    let there = b.client().await;
    let its = until("it runs there", || async {
        let page: Value = there.call_named("list_jobs", json!({})).await.unwrap();
        page["jobs"].as_array().unwrap().iter().find(|job| job["status"] == "started").map(|job| job["job_id"].as_str().unwrap().to_owned())
    })
    .await;
    // The Redis of the other side does not answer while it is stopped here.
    b.redis.halt(true);
    let _: Value = client.call_named("stop_job", json!([id])).await.unwrap();
    a.restart().await;
    let waits: i64 = a.redis.run(&["ZCARD", "hero:q:stops"]).await;
    assert_eq!(waits, 1);
    b.redis.halt(false);
    until("it has ended there", || async {
        let kind: Option<String> = b.redis.run(&["HGET", &format!("hero:job:{its}"), "error_kind"]).await;
        kind.filter(|kind| kind == "stopped")
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_elsewhere_ends_when_the_context_of_its_job_is_deleted_here() {
    let a = Node::start("sal=1", &[]).await;
    let b = Node::start("osis=1", &["--nodes".to_owned(), format!("a={}", a.key().await)]).await;
    let (client, there) = (a.client().await, b.client().await);
    let made: Value = client.call_named("create_context", json!({})).await.unwrap();
    let context = &made["context_id"];
    let runner = json!({"context_id": context, "script_type": "osis", "local": false, "address": b.redis.url(), "pubkey": b.key().await,
        "target_context": 0});
    let made: Value = client.call_named("create_runner", runner).await.unwrap();
    let group = format!("runner{}", made["runner_id"]);
    let job = json!({"context_id": context, "script": LONG, "group": group, "timeout": 600});
    let id: String = client.call_named("create_job", job).await.unwrap();
    let _: Value = client.call_named("start_job", json!({"context_id": context, "job_id": id})).await.unwrap();
    let its = until("it runs there", || async {
        let page: Value = there.call_named("list_jobs", json!({})).await.unwrap();
        page["jobs"].as_array().unwrap().iter().find(|job| job["status"] == "started").map(|job| job["job_id"].as_str().unwrap().to_owned())
    })
    .await;
    let _: Value = client.call_named("delete_context", json!({"context_id": context, "stop_jobs": true})).await.unwrap();
    until("it has ended there", || async {
        let kind: Option<String> = b.redis.run(&["HGET", &format!("hero:job:{its}"), "error_kind"]).await;
        kind.filter(|kind| kind == "stopped")
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_is_refused_after_it_may_have_arrived_is_stopped_there() {
    let (one, two, other) = (NodeKey::random(), NodeKey::random(), Redis::start().await);
    let a = Town::open(&one, Plan::new(0)).await;
    let there = Boxes::new(other.store().await.mailboxes(), Boxes::IN.to_owned());
    let runner = a.runner_at(&other.url(), &two).await;
    let job = a.house.start(JobSpec { group: Some(runner.group()), ..spec("1") }).await;
    // What it said at first got lost, and by the second time the message came after its time.
    for (kind, outcome) in
        [(Kind::Message, ReceiptStatus::Full), (Kind::Message, ReceiptStatus::Refused), (Kind::Stop, ReceiptStatus::Stored)]
    {
        let received = until("an envelope", || async { there.receive(Duration::ZERO).await.unwrap().pop() }).await;
        let envelope: Envelope = serde_json::from_str(received.envelope.as_deref().unwrap()).unwrap();
        assert_eq!(envelope.kind, kind);
        there.answer(&received, &Receipt::new(&envelope, outcome, "no".into(), &two)).await.unwrap();
    }
    a.house.is(&job, Status::Error).await;
    logs(&a, "message:0:1", "the other side knows").await;
}
