//! The cost of reads for Redis.

use std::collections::BTreeSet;
use std::time::Duration;

use hero::dispatch::{Dispatcher, JobFilter, Sweeper};
use hero::model::JobId;
use hero::service::Service as _;

use super::*;
use crate::support::{CONTEXT, Made, Redis, dispatcher, examples, spec};

/// A server whose loops do not run, so that all Redis sees comes from its calls.
pub(super) async fn quiet() -> (Redis, Dispatcher, Server, Client) {
    let redis = Redis::start().await;
    let dispatcher = dispatcher([redis.store().await], redis.directory());
    let server = Server::over(&dispatcher).await;
    let client = server.connect().await;
    (redis, dispatcher, server, client)
}

#[tokio::test(flavor = "multi_thread")]
async fn no_call_walks_through_the_keys() {
    let (redis, _dispatcher, _server, client) = quiet().await;
    let (mut made, mut called) = (Made::default(), BTreeSet::new());
    for example in examples() {
        // Nobody runs jobs here, so some calls end with an error, which is an answer, too.
        let (name, params) = (example.method.as_str(), example.at_once(&mut made).into());
        match &example.item {
            None => {
                if let Ok(answer) = client.call(name, params).await {
                    let _ = made.agree(name, &example.result, &answer);
                }
            }
            Some(item) => {
                let mut items = client.subscribe(name, params).await.unwrap();
                made.learn(&example.result, &items.id);
                // Without a cursor the first item is where things are.
                if item["status"].is_string() && !example.by_name(&mut made)["cursor"].is_string() {
                    items.next().await;
                }
            }
        }
        called.insert(example.method.clone());
        assert_eq!(redis.calls("scan").await + redis.calls("keys").await, 0, "{}", example.method);
    }
    assert_eq!(called, hero::rpc::table().names().map(str::to_owned).collect());
    // No actor of this type was seen, so it is looked for one.
    let _ = client.call("create_job", json!(["1", "python"])).await;
    assert_eq!(redis.calls("scan").await + redis.calls("keys").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn waits_that_run_out_together_share_what_they_read() {
    const WAITS: usize = 400;
    let (redis, _dispatcher, _server, client) = quiet().await;
    let jobs = json!({"jobs": vec![json!({"script": "x".repeat(2_000)}); WAITS]});
    let ids = client.ok("create_jobs", jobs).await.as_array().unwrap().clone();
    futures_util::future::join_all(ids.iter().map(|id| client.ok("start_job", json!([id])))).await;
    let _: () = redis.run(&["CONFIG", "RESETSTAT"]).await;
    let faults = futures_util::future::join_all(ids.iter().map(|id| client.fault("wait_job", json!([id, 2])))).await;
    assert!(faults.iter().all(|fault| fault.code == 1102 && fault.data["reason"] == "no_live_actor"), "{:?}", faults[0]);
    let (walks, wholes, places, actors) =
        (redis.calls("scan").await, redis.calls("hgetall").await, redis.calls("lpos").await, redis.calls("sscan").await);
    assert_eq!((walks, wholes, places), (0, 0, 0));
    // All of them began before the first one ran out; on a slow machine nearly all.
    assert!(actors <= WAITS as u64 / 4, "the actors were read {actors} times");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_who_list_the_actors_share_few_walks() {
    let house = House::empty().await;
    let list = || house.dispatcher.actors().list(CONTEXT);
    list().await.unwrap();
    let _: () = house.redis.run(&["CONFIG", "RESETSTAT"]).await;
    let lists = futures_util::future::join_all((0..500).map(|_| list())).await;
    assert!(lists.iter().all(Result::is_ok));
    let (walks, reads) = (house.redis.calls("scan").await, house.redis.calls("sscan").await);
    // The walks of the indexer are among them.
    assert!(walks < 100 && reads < 100, "{walks} walks, {reads} readings");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_asks_little_of_jobs_that_go_on_and_sees_those_that_ended() {
    const WAITS: usize = 300;
    let (redis, dispatcher, _server, _client) = quiet().await;
    let store = dispatcher.contexts().stores().remove(0);
    let mut waits = tokio::task::JoinSet::new();
    for _ in 0..WAITS {
        let dispatcher = dispatcher.clone();
        waits.spawn(async move { dispatcher.jobs().run_and_wait(spec("1"), crate::support::PATIENCE).await });
    }
    let old = until("old waits", || async {
        let old = store.inbox().older_than(Duration::from_secs(1));
        (old.len() == WAITS).then_some(old)
    })
    .await;
    let ended = format!("hero:job:{}", old[0]);
    let _: i64 = redis.run(&["HSET", &ended, "status", "finished", "output", "42"]).await;
    let _: i64 = redis.run(&["DEL", &format!("hero:job:{}", old[1])]).await;
    let _: () = redis.run(&["CONFIG", "RESETSTAT"]).await;
    Sweeper::new(store).tick().await.unwrap();
    let scripts = redis.calls("fcall").await;
    assert!(scripts <= 4, "{scripts} scripts");
    let result = waits.join_next().await.unwrap().unwrap();
    let gone = waits.join_next().await.unwrap().unwrap();
    let texts = [result, gone].map(|end| end.map_or_else(|error| error.to_string(), |result| result.output));
    assert!(texts.contains(&"42".to_owned()) && texts.contains(&format!("job {} does not exist", old[1])), "{texts:?}");
    waits.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filter_reads_a_job_once_for_all_who_follow() {
    const JOBS: usize = 60;
    let (house, _server, client) = open(1).await;
    let mut all = Vec::new();
    for _ in 0..10 {
        let filter = json!([{"name": "b", "labels": {"x": "1"}}]);
        all.push(client.subscribe("subscribe_events", filter).await.unwrap().begun().await);
    }
    let _: () = house.redis.run(&["CONFIG", "RESETSTAT"]).await;
    for number in 0..JOBS {
        let name = if number % 2 == 0 { "a" } else { "b" };
        client.ok("run_and_wait", json!({"script": "1", "name": name, "labels": {"x": "1"}})).await;
    }
    for items in &mut all {
        for _ in 0..3 * JOBS / 2 {
            items.next().await;
        }
    }
    // Each job has three events and ten who follow; on a slow machine one may be read again.
    let read = house.redis.calls("hgetall").await + house.redis.calls("memory|usage").await;
    assert!(read <= 3 * JOBS as u64, "jobs were read {read} times");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn following_a_log_does_not_read_the_job() {
    let (house, _server, client) = open(1).await;
    let id = start(&client, json!({"script": "for i in 0..20 { print(i); sleep(0.02) }"})).await;
    let _: () = house.redis.run(&["CONFIG", "RESETSTAT"]).await;
    let mut items = client.subscribe("subscribe_logs", json!([id])).await.unwrap();
    assert_eq!(items.rest().await.len(), 20);
    assert_eq!(house.redis.calls("hgetall").await, 0);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn indexes_and_counters_of_an_older_version_are_found() {
    let house = House::open(1).await;
    house.run("1").await.unwrap();
    let _: i64 = house.redis.run(&["DEL", "hero:meta:types"]).await;
    // And what a foreign program makes of the list gives way.
    let _: () = house.redis.run(&["SET", "hero:meta:hours", "x"]).await;
    let found = || async {
        let jobs = house.dispatcher.jobs().list(CONTEXT, &JobFilter::default(), None, 10).await.ok()?.jobs;
        let counters = house.store.queues().counters().await.ok()?;
        (jobs.len() == 1 && counters.len() == 1).then_some(())
    };
    until("what there was", found).await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn long_results_are_read_by_few_at_once() {
    const MB: usize = 1024 * 1024;
    const WAITERS: usize = 32;
    let (redis, dispatcher, _server, client) = quiet().await;
    let id = create(&client, json!(["1"])).await;
    let (id, output) = (id.as_str().unwrap(), format!("\"{}\"", "y".repeat(MB)));
    let job: JobId = id.parse().unwrap();
    let ended = ["HSET", &format!("hero:job:{id}"), "status", "finished", "output_format", "json", "output", &output];
    let _: i64 = redis.run(&ended).await;
    let looking = (0..WAITERS).map(|_| dispatcher.jobs().wait(CONTEXT, &job, Duration::from_secs(60)));
    for result in futures_util::future::join_all(looking).await {
        assert_eq!(result.unwrap().output.len(), output.len());
    }
    let info: String = redis.run(&["INFO", "clients"]).await;
    let most = info.lines().find_map(|line| line.strip_prefix("client_recent_max_output_buffer:")?.trim().parse::<usize>().ok()).unwrap();
    assert!(most < 8 * MB, "{most} bytes waited in Redis");
    assert_eq!(client.ok("get_status", json!([id])).await, "finished");
}

/// Creates this number of remote runners, as this server would have.
async fn make_runners(redis: &Redis, many: u32) {
    let script = "for number = 1, ARGV[1] do
            redis.call('HSET', 'runner:' .. number, 'id', number, 'type', 'osis', 'local', 'false', 'address', 'here', 'target_context', '0')
            redis.call('ZADD', 'hero:meta:runners', number, number)
        end
        redis.call('SET', 'hero:seq:runner', ARGV[1])
        redis.call('HINCRBY', 'hero:meta:revisions', 'runners', 1)";
    let _: Option<String> = redis.run(&["EVAL", script, "0", &many.to_string()]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_for_a_script_type_costs_as_much_with_ten_thousand_runners_as_with_one() {
    let (redis, dispatcher, _server, client) = quiet().await;
    let store = dispatcher.contexts().stores().remove(0);
    let send = async || client.ok("send_message", json!({"topic": "osis", "message": "x"})).await;
    let mut costs = Vec::new();
    for many in [1, 10_000] {
        make_runners(&redis, many).await;
        // What has changed is read once.
        send().await;
        let _: () = redis.run(&["CONFIG", "RESETSTAT"]).await;
        for _ in 0..10 {
            send().await;
            store.runners().for_topic(&"osis".parse().unwrap()).await.unwrap().unwrap();
        }
        costs.push(redis.all_calls().await);
    }
    assert!(costs[1] <= costs[0] + 50, "{costs:?} commands");
    assert!(costs[1] <= 800, "{costs:?} commands for ten messages");
}

#[tokio::test(flavor = "multi_thread")]
async fn runners_of_a_type_take_turns_whatever_goes_to_those_of_others_and_see_who_comes_and_goes() {
    let (redis, dispatcher, _server, client) = quiet().await;
    let store = dispatcher.contexts().stores().remove(0);
    for script_type in ["osis", "osis", "sal", "sal", "osis"] {
        client.ok("create_runner", json!({"script_type": script_type, "local": false, "address": "here"})).await;
    }
    let next =
        async |script_type: &str| store.runners().for_topic(&script_type.parse().unwrap()).await.unwrap().map(|runner| runner.runner_id.0);
    let mut taken = Vec::new();
    for _ in 0..4 {
        taken.push((next("osis").await, next("sal").await));
    }
    assert_eq!(taken, [(Some(1), Some(3)), (Some(2), Some(4)), (Some(5), Some(3)), (Some(1), Some(4))]);
    client.ok("delete_runner", json!([2])).await;
    client.ok("create_runner", json!({"script_type": "osis", "local": false, "address": "here"})).await;
    assert_eq!((next("osis").await, next("osis").await, next("osis").await), (Some(5), Some(6), Some(1)));
    // Another program deletes some and changes another one, and raises no revision.
    let _: i64 = redis.run(&["DEL", "runner:5", "runner:6"]).await;
    let _: i64 = redis.run(&["HSET", "runner:1", "type", "sal"]).await;
    assert_eq!((next("osis").await, next("none").await), (None, None));
}
