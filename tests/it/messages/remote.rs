//! Remote runners.

use hero::coordinator::bus::Api;
use hero::coordinator::receipt::ReceiptStatus;
use hero::dispatch::Error;
use hero::model::{ErrorKind, JobSpec, Seconds};

use super::known::result;
use super::trust::{boxes, deliver};
use super::*;
use crate::support::{Network, PATIENCE, spec};

/// A job for a runner.
fn to(runner: RunnerId, script: &str) -> JobSpec {
    JobSpec { group: Some(runner.group()), ..spec(script) }
}

async fn run(town: &Town, job: JobSpec) -> Result<String, Error> {
    town.house.dispatcher.jobs().run_and_wait(job, PATIENCE).await.map(|result| result.output)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_of_a_runner_elsewhere_runs_there_and_ends_here() {
    let (one, two) = (NodeKey::random(), NodeKey::random());
    let b = Town::open(&two, Plan::new(1).trusting(&one)).await;
    let a = Town::open(&one, Plan::new(0)).await;
    let runner = a.runner_in(&b).await;
    let job = JobSpec {
        args: Some(serde_json::json!({"n": 41}).into()),
        env_vars: [("WHO".to_owned(), "me".to_owned())].into(),
        ..to(runner, "`${env.WHO} ${args.n + 1}`")
    };
    assert_eq!(run(&a, job).await.unwrap(), "me 42");
    let value = a.house.dispatcher.jobs().run_and_wait(to(runner, "#{a: [1, 2]}"), PATIENCE).await.unwrap();
    assert_eq!(value.value.unwrap().as_str(), r#"{"a":[1,2]}"#);
    let failed = run(&a, to(runner, "\n throw \"no\"")).await.unwrap_err();
    let Error::Failed { error, attempt, .. } = failed else { panic!("{failed}") };
    assert_eq!((error.kind, error.message.as_str(), error.line, attempt), (ErrorKind::Script, "no", Some(2), 1));
    // Nobody runs here, and each ran there once.
    let there = b.house.dispatcher.jobs().list(CONTEXT, &Default::default(), None, 10).await.unwrap().jobs;
    assert_eq!(there.len(), 3);
    assert!(there.iter().all(|job| job.attempt == 1));
    let left: Vec<String> = a.redis().run(&["ZRANGE", "hero:q:leases", "0", "-1"]).await;
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn retries_are_those_of_the_context_that_the_job_belongs_to() {
    let (one, two) = (NodeKey::random(), NodeKey::random());
    let b = Town::open(&two, Plan::new(1).trusting(&one)).await;
    let a = Town::open(&one, Plan::new(0)).await;
    let runner = a.runner_in(&b).await;
    let job = JobSpec { retries: 2, retry_backoff: Seconds::new(0.01), ..to(runner, "throw `no`") };
    let failed = run(&a, job).await.unwrap_err();
    let Error::Failed { attempt, .. } = failed else { panic!("{failed}") };
    assert_eq!(attempt, 3);
    let there = b.house.dispatcher.jobs().list(CONTEXT, &Default::default(), None, 10).await.unwrap().jobs;
    assert_eq!(there.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_prerequisites_gave_is_seen_at_the_other_side() {
    let (one, two) = (NodeKey::random(), NodeKey::random());
    let b = Town::open(&two, Plan::new(1).trusting(&one)).await;
    let a = Town::open(&one, Plan::new(1)).await;
    let runner = a.runner_in(&b).await;
    let first = a.house.start(JobSpec { name: Some("first".into()), ..spec("#{n: 6}") }).await;
    let second = a.house.start(JobSpec { name: Some("second".into()), ..to(runner, "7") }).await;
    let job = JobSpec { prerequisites: vec![first, second], ..to(runner, "inputs.first.n * inputs.second") };
    assert_eq!(run(&a, job).await.unwrap(), "42");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_goes_over_mycelium_by_either_of_its_interfaces() {
    for api in [Api::Rest, Api::JsonRpc] {
        let (one, two) = (NodeKey::random(), NodeKey::random());
        let network = Network::default();
        let (here, there) = (network.node().await, network.node().await);
        let bus = |node: &crate::support::MyceliumNode| Some(Mycelium::new(&node.url(), api, "hero").unwrap());
        let b = Town::open(&two, Plan { mycelium: bus(&there), ..Plan::new(1).trusting(&one) }).await;
        let a = Town::open(&one, Plan { mycelium: bus(&here), ..Plan::new(0) }).await;
        let runner = a.runner_at(&there.key, &two).await;
        assert_eq!(run(&a, to(runner, "40 + 2")).await.unwrap(), "42");
        // Receipts that get lost, and messages that come twice, change nothing.
        network.disturb(true);
        for n in 0..5 {
            assert_eq!(run(&a, to(runner, &format!("{n} + 1"))).await.unwrap(), (n + 1).to_string());
        }
        let jobs = b.house.dispatcher.jobs().list(CONTEXT, &Default::default(), None, 100).await.unwrap().jobs;
        assert_eq!(jobs.len(), 6, "each ran once");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_whose_node_is_not_there_ends_in_time_and_no_death_is_counted() {
    let one = NodeKey::random();
    let a = Town::open(&one, Plan { ack: Duration::from_secs(1), ..Plan::new(0) }).await;
    let runner = a.runner_at("redis://127.0.0.1:1", &NodeKey::random()).await;
    let failed = run(&a, to(runner, "1")).await.unwrap_err();
    let Error::Failed { error, .. } = failed else { panic!("{failed}") };
    assert_eq!(error.kind, ErrorKind::Unavailable);
    assert!(error.message.contains("within 1 s (timeout_ack)"), "{}", error.message);
    let crashed: i64 = a.redis().run(&["HEXISTS", "hero:meta:queue:stats:osis", "crashed"]).await;
    assert_eq!(crashed, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_why_a_job_has_not_ended_is_told_where_it_is_and_what_keeps_it() {
    let (one, two) = (NodeKey::random(), NodeKey::random());
    let b = Town::open(&two, Plan::new(0).trusting(&one)).await;
    let a = Town::open(&one, Plan::new(0)).await;
    let told = async |job: &hero::model::JobId, what: &str| {
        until("it is told", || async {
            let told = a.house.dispatcher.jobs().explain(CONTEXT, job).await.unwrap().message;
            told.contains(what).then_some(told)
        })
        .await
    };
    let nowhere = a.runner_at("redis://127.0.0.1:1", &two).await;
    let lost = a.house.start(to(nowhere, "1")).await;
    let why = told(&lost, "it has not arrived yet").await;
    assert!(why.contains("redis://127.0.0.1:1 as message:0:1") && why.contains("refused"), "{why}");
    let there = a.runner_in(&b).await;
    let taken = a.house.start(to(there, "1")).await;
    told(&taken, "what it does is seen there").await;
}

/// The result of the job of the first message of nobody is refused, because that job has ended.
async fn is_late(a: &Town, by: &NodeKey) {
    let asked = MessageKey { caller_id: 0, message_id: 1 };
    let awaited = a.hash(&asked.to_string()).await["nonce"].clone();
    let late = result(by, &a.key, asked, &awaited, "late", r#"{"status":"finished","output":"late"}"#);
    let refused = deliver(&boxes(a, by).await, &late).await;
    assert!(refused.outcome == ReceiptStatus::Refused && refused.text.contains("no result is awaited for that message"), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_without_a_result_in_time_has_timed_out_and_a_late_result_changes_nothing() {
    let (one, two) = (NodeKey::random(), NodeKey::random());
    // Nobody runs jobs there.
    let b = Town::open(&two, Plan::new(0).trusting(&one)).await;
    let a = Town::open(&one, Plan { result: Duration::from_secs(1), ..Plan::new(0) }).await;
    let runner = a.runner_in(&b).await;
    let failed = run(&a, to(runner, "1")).await.unwrap_err();
    let Error::Failed { error, job_id, .. } = failed else { panic!("{failed}") };
    assert_eq!((error.kind, error.message.contains("timeout_result")), (ErrorKind::Timeout, true), "{error:?}");
    is_late(&a, &two).await;
    assert_eq!(a.house.dispatcher.jobs().status(CONTEXT, &job_id).await.unwrap(), hero::model::Status::Error);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_is_stopped_while_it_is_away_ends_at_once_and_a_late_result_changes_nothing() {
    let (one, two) = (NodeKey::random(), NodeKey::random());
    // Nobody runs jobs there.
    let b = Town::open(&two, Plan::new(0).trusting(&one)).await;
    let a = Town::open(&one, Plan::new(0)).await;
    let runner = a.runner_in(&b).await;
    let job = a.house.start(JobSpec { retries: 3, ..to(runner, "1") }).await;
    let key = MessageKey { caller_id: 0, message_id: 1 };
    until("it is away", || async { a.hash(&key.to_string()).await.get("receiver_key").map(drop) }).await;
    assert_eq!(a.house.dispatcher.jobs().stop(CONTEXT, &job).await.unwrap(), hero::model::Status::Error);
    let ended = a.house.dispatcher.jobs().wait(CONTEXT, &job, PATIENCE).await.unwrap_err();
    let Error::Failed { error, .. } = ended else { panic!("{ended}") };
    assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Stopped, "stopped_by_request"));
    let left: i64 = a.redis().run(&["EXISTS", "hero:q:leases", "hero:q:messages"]).await;
    assert_eq!(left, 0);
    assert_eq!(a.messages.get(CONTEXT, key).await.unwrap().error.as_deref(), Some("its job was stopped"));
    is_late(&a, &two).await;
    let events: Vec<(String, BTreeMap<String, String>)> = a.redis().run(&["XRANGE", "hero:events", "-", "+"]).await;
    let ends = events.iter().filter(|(_, event)| event.get("status").is_some_and(|status| status == "error" || status == "finished"));
    assert_eq!(ends.count(), 1);
    // What a foreign program asks for does the same.
    let other = a.house.start(to(runner, "1")).await;
    a.house.is(&other, hero::model::Status::Started).await;
    let _: i64 = a.redis().run(&["LPUSH", "hero:q:ctl:type:osis", other.as_str()]).await;
    a.house.is(&other, hero::model::Status::Error).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_for_another_node_is_not_taken() {
    let (one, two, other) = (NodeKey::random(), NodeKey::random(), NodeKey::random());
    let b = Town::open(&two, Plan::new(1).trusting(&one)).await;
    let a = Town::open(&one, Plan { ack: Duration::from_secs(1), ..Plan::new(0) }).await;
    let runner = a.runner_at(&b.redis().url(), &other).await;
    let failed = run(&a, to(runner, "40 + 2")).await.unwrap_err();
    let Error::Failed { error, .. } = failed else { panic!("{failed}") };
    assert_eq!(error.kind, ErrorKind::Unavailable, "{error:?}");
    let told = format!("it is for the node {}, and this one is {}", other.public(), two.public());
    assert!(error.message.contains(&told), "{}", error.message);
    let came: i64 = b.redis().run(&["EXISTS", "queue:osis", "message:0:1"]).await;
    assert_eq!(came, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_may_be_a_context_of_the_same_server() {
    let key = NodeKey::random();
    let town = Town::open(&key, Plan::new(1)).await;
    let runner = town.runner_at("here", &key).await;
    assert_eq!(run(&town, to(runner, "40 + 2")).await.unwrap(), "42");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_whose_result_is_too_large_for_a_message_ends_and_says_so() {
    let (one, two) = (NodeKey::random(), NodeKey::random());
    let b = Town::open(&two, Plan::new(0).trusting(&one)).await;
    let a = Town::open(&one, Plan::new(0)).await;
    let runner = a.runner_in(&b).await;
    // Each of these is written as seven bytes in an envelope.
    let result = serde_json::json!({ "output": "\u{1}".repeat(700_000) }).to_string();
    let there = async {
        let first = || async { b.redis().run::<Option<String>>(&["LINDEX", "queue:osis", "0"]).await };
        let name = until("the job", first).await;
        let _: i64 = b.redis().run(&["HSET", &name, "status", "finished", "result", &result]).await;
    };
    let (ended, ()) = tokio::join!(run(&a, to(runner, "1")), there);
    let Error::Failed { error, .. } = ended.unwrap_err() else { panic!("it failed") };
    assert_eq!(error.kind, ErrorKind::Limit, "{error:?}");
    assert!(error.message.contains("bytes on its way as a message, the limit is 4194304"), "{}", error.message);
}

#[tokio::test]
async fn a_runner_that_takes_nothing_leaves_room_for_the_jobs_of_others() {
    let house = House::empty().await;
    let runners = Runners::new(house.dispatcher.clone());
    let runner = runners.create(CONTEXT, &elsewhere("redis://127.0.0.1:1", CONTEXT)).await.unwrap();
    for _ in 0..320 {
        house.start(to(runner.runner_id, "1")).await;
    }
    let send = async || house.store.messages().send_jobs(&runner, 32, PATIENCE, PATIENCE).await.unwrap();
    let mut sent = 0;
    while sent < 256 {
        sent += send().await;
    }
    assert_eq!((sent, send().await, send().await), (256, 0, 0));
    // The oldest ones arrive.
    for number in 1..=40 {
        let _: i64 = house.redis.run(&["HSET", &format!("message:0:{number}"), "status", "acknowledged"]).await;
    }
    let more = until("more", || async { Some(send().await).filter(|more| *more > 0) }).await;
    assert_eq!(more + send().await, 40);
    let life: i64 = house.redis.run(&["TTL", &format!("hero:q:sent:runner{}", runner.runner_id)]).await;
    assert!(life > 0, "{life}");
}

#[tokio::test(flavor = "multi_thread")]
async fn runners_that_have_no_jobs_cost_next_to_nothing_however_many_they_are_and_each_is_found_that_has_one() {
    const RUNNERS: u32 = 1000;
    let key = NodeKey::random();
    let town = Town::open(&key, Plan::new(1)).await;
    let redis = town.redis();
    let script = "for number = 1, ARGV[1] do
            redis.call('HSET', 'runner:' .. number, 'id', number, 'type', 'osis', 'local', 'false', 'address', 'here', 'pubkey', ARGV[2])
            redis.call('ZADD', 'hero:meta:runners', number, number)
        end
        redis.call('HINCRBY', 'hero:meta:revisions', 'runners', 1)";
    let _: Option<String> = redis.run(&["EVAL", script, "0", &RUNNERS.to_string(), key.public().as_str()]).await;
    assert_eq!(run(&town, to(RunnerId(RUNNERS), "40 + 2")).await.unwrap(), "42");
    let _: () = redis.run(&["CONFIG", "RESETSTAT"]).await;
    let began = tokio::time::Instant::now();
    until("three seconds are over", || async { (began.elapsed() > Duration::from_secs(3)).then_some(()) }).await;
    let (calls, looks) = (redis.calls("fcall").await, redis.calls("exists").await);
    println!("{calls} calls of functions and {looks} looks in 3 s");
    assert!(calls < 500 && looks < u64::from(RUNNERS), "{calls} calls of functions, {looks} looks");
    for runner in [1, 128, 129, RUNNERS] {
        assert_eq!(run(&town, to(RunnerId(runner), "40 + 2")).await.unwrap(), "42", "{runner}");
    }
    // What another program pushes is found, too, by the second name of the queue as well.
    let job = town.house.dispatcher.jobs().create(to(RunnerId(7), "1")).await.unwrap();
    let _: i64 = redis.run(&["HSET", &format!("hero:job:{job}"), "status", "dispatched"]).await;
    let _: i64 = redis.run(&["LPUSH", "hero:q:work:type:osis:group:runner7:prio:1", job.as_str()]).await;
    town.house.is(&job, hero::model::Status::Finished).await;
}
