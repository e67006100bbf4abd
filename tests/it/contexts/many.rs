//! Many idle contexts cost little, and their due work is done.

use hero::model::ContextId;

use super::*;

/// The number of contexts.
const MANY: u32 = 1000;

/// Lists contexts as if another server had made them.
async fn made(redis: &Redis, many: u32) {
    let client = redis::Client::open(redis.url()).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let mut pipeline = redis::pipe();
    for context in 1..=many {
        pipeline.cmd("ZADD").arg("hero:access:contexts").arg(context).arg(context).ignore();
    }
    pipeline.cmd("SET").arg("hero:seq:context").arg(many).ignore();
    pipeline.cmd("HINCRBY").arg("hero:meta:access").arg("revision").arg(many).ignore();
    pipeline.query_async::<()>(&mut connection).await.unwrap();
}

/// Resident kilobytes of a process.
fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_contexts_at_rest_are_known_and_what_is_due_in_them_is_done() {
    let (home, redis) = (tempfile::tempdir().unwrap(), Redis::start().await);
    made(&redis, MANY).await;
    let began = std::time::Instant::now();
    let server = serve(&redis, &home, &POOL).await;
    println!("started after {:?}, {} kB", began.elapsed(), resident(server.pid()));
    let client = Client::connect(&server.url()).await;
    let page = client.ok("list_contexts", json!({ "limit": 1000 })).await;
    assert_eq!(page["contexts"].as_array().unwrap().len(), 1000);
    let connections: String = redis.run(&["INFO", "clients"]).await;
    let connections: u32 = connections.lines().find_map(|line| line.strip_prefix("connected_clients:")).unwrap().trim().parse().unwrap();
    assert!(connections < 30, "{connections} connections at rest");
    assert_eq!(server.engines().len(), 1, "no engine but that of context 0");

    // Nobody opens these contexts any more: a delayed job, a schedule and a push of another program wake them.
    let (delayed, scheduled, pushed) = (7, 500, 999);
    let soon = hero::model::Timestamp::local().plus(std::time::Duration::from_secs(8));
    let later = json!({ "script": "CONTEXT_ID", "run_at": soon.to_string() });
    let id = start(&client, delayed, later).await;
    client.ok("create_schedule", json!({ "job": { "script": "CONTEXT_ID", "context_id": scheduled }, "every": 5 })).await;
    let foreign = "6f1c4d1e-8f5b-4c7e-9d0a-2b3c4d5e6f71";
    let fields = ["id", foreign, "script", "CONTEXT_ID", "script_type", "osis", "status", "dispatched"];
    let _: i64 = redis.run_in(pushed, &[&["HSET", &format!("hero:job:{foreign}")][..], &fields].concat()).await;
    let _: i64 = redis.run_in(pushed, &["LPUSH", "hero:q:work:type:osis", foreign]).await;
    is(&client, delayed, &id, "finished").await;
    let hash = format!("hero:job:{foreign}");
    until("the foreign job has run", || async {
        (redis.run_in::<Option<String>>(pushed, &["HGET", &hash, "output"]).await.as_deref() == Some("999")).then_some(())
    })
    .await;
    until("an occurrence was fired", || async {
        let jobs = client.ok("list_jobs", json!({ "context_id": scheduled, "filter": { "status": "finished" } })).await;
        (!jobs["jobs"].as_array().unwrap().is_empty()).then_some(())
    })
    .await;
    server.stop().await;
}

#[tokio::test]
async fn one_command_tells_the_number_of_keys_of_every_context() {
    let redis = Redis::start().await;
    let databases = redis.store().await.contexts().databases().unwrap().unwrap();
    for key in ["a", "b"] {
        let _: String = redis.run_in(7, &["SET", key, "1"]).await;
    }
    let sizes = databases.sizes().await.unwrap();
    assert_eq!((sizes.get(&ContextId(7)), sizes.get(&ContextId(8))), (Some(&2), None));
    let pending = databases.pending(&[ContextId(7)], &[]).await.unwrap().remove(0).1.unwrap();
    assert_eq!(pending.keys, 2, "a look counts the same");
}

#[tokio::test(flavor = "multi_thread")]
async fn more_contexts_than_have_places_take_turns_and_no_running_job_begins_anew_for_that() {
    let town = Town::with(&["--contexts-running", "2", "--pool", "osis=2", "--grace", "1s"]).await;
    let mut contexts = Vec::new();
    for _ in 0..12 {
        contexts.push(town.context(json!({})).await);
    }
    // Two that run for longer than a turn, and have more to do after that, do not keep the others out.
    let mut long = Vec::new();
    for busy in &contexts[..2] {
        let id = start(&town.client, *busy, json!({ "script": "print(`began`); sleep(13); 1", "timeout": 60 })).await;
        is(&town.client, *busy, &id, "started").await;
        long.push((*busy, id));
    }
    let many = contexts[..2].iter().map(|busy| {
        let client = &town.client;
        async move { futures_util::future::join_all((0..40).map(|_| start(client, *busy, json!({ "script": "sleep(1); 1" })))).await }
    });
    let many = futures_util::future::join_all(many).await;
    let outputs = futures_util::future::join_all(contexts[2..].iter().map(|context| town.output(*context, "CONTEXT_ID"))).await;
    assert_eq!(outputs, contexts[2..].iter().map(ToString::to_string).collect::<Vec<_>>());
    for (context, id) in long {
        let job = json!({ "job_id": id, "context_id": context });
        assert_eq!(town.client.ok("wait_job", job.clone()).await["output"], "1");
        let lines = town.client.ok("get_logs", job).await["lines"].as_array().unwrap().len();
        assert_eq!(lines, 1, "it began once");
        assert_eq!(
            town.redis.run_in::<Option<u32>>(context, &["HGET", &format!("hero:job:{}", id.as_str().unwrap()), "given_back"]).await,
            None
        );
    }
    // Those that made way have their turn again.
    for (context, jobs) in contexts.iter().zip(many) {
        is(&town.client, *context, jobs.last().unwrap(), "finished").await;
    }
    town.server.stop().await;
}

/// The databases in which a server has connections.
async fn databases(redis: &Redis) -> usize {
    let clients: String = redis.run(&["CLIENT", "LIST"]).await;
    clients.lines().filter_map(|line| line.split(' ').find(|word| word.starts_with("db="))).collect::<std::collections::BTreeSet<_>>().len()
}

#[tokio::test(flavor = "multi_thread")]
async fn very_many_contexts_with_messages_under_way_take_turns_and_keep_nobody_else_out() {
    const WITH_MESSAGES: u32 = 280;
    let (home, redis) = (tempfile::tempdir().unwrap(), Redis::start().await);
    made(&redis, WITH_MESSAGES + 1).await;
    let later = (hero::model::Timestamp::local().as_millis() + 3_600_000).to_string();
    for context in 1..=WITH_MESSAGES {
        // A result is awaited, so each wants to be open for an hour.
        let _: i64 = redis.run_in(context, &["ZADD", "hero:q:messages", &later, "message:12:5"]).await;
    }
    let server = serve(&redis, &home, &POOL).await;
    let client = Client::connect(&server.url()).await;
    let (mut most, mut looks, mut open) = (0, 0, std::collections::BTreeSet::new());
    let looking = std::time::Instant::now();
    // Three rounds of 64: whoever sends messages in a context writes down that it is there.
    while open.len() < 150 && looking.elapsed() < std::time::Duration::from_secs(120) {
        for context in (1..=WITH_MESSAGES).filter(|context| !open.contains(context)).collect::<Vec<_>>() {
            if redis.run_in::<u8>(context, &["EXISTS", "hero:meta:nodes"]).await == 1 {
                open.insert(context);
            }
        }
        most = most.max(databases(&redis).await);
        looks += 1;
        // Others are served meanwhile.
        assert_eq!(run(&client, WITH_MESSAGES + 1, "40 + 2").await, "42");
    }
    assert!(open.len() >= 150, "after {looks} looks only {} had a turn", open.len());
    assert!(most < 150, "{most} were open at once");
    // One that has just ended may still be there beside the one that takes its place.
    let engines = server.engines().len();
    assert!(engines <= 4, "of two pools there are {engines} engines: some of those with messages have actors");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_long_job_is_not_all_that_a_context_waits_for_where_another_can_make_way() {
    let town = Town::with(&["--contexts-running", "2", "--pool", "osis=2", "--grace", "1s"]).await;
    let (long, busy, third) = (town.context(json!({})).await, town.context(json!({})).await, town.context(json!({})).await);
    let id = start(&town.client, long, json!({ "script": "sleep(50); 1", "timeout": 60 })).await;
    is(&town.client, long, &id, "started").await;
    // More than its time.
    futures_util::future::join_all((0..240).map(|_| start(&town.client, busy, json!({ "script": "sleep(0.4); 1" })))).await;
    // Who waits for its turn is told so, and not that nobody would take its jobs.
    let waiting = start(&town.client, third, json!({ "script": "CONTEXT_ID" })).await;
    let why = town.client.ok("explain_job", json!({ "job_id": waiting, "context_id": third })).await;
    assert_eq!((&why["status"], &why["reason"]), (&json!("dispatched"), &json!("waiting_for_turn")), "{why}");
    let told = format!("context {third} waits for its turn, and 0 wait before it: 2 contexts have actors of this server at once");
    assert!(why["message"].as_str().unwrap().contains(&told), "{why}");
    assert_eq!(town.output(third, "CONTEXT_ID").await, third.to_string());
    let job = json!({ "job_id": id, "context_id": long });
    assert_eq!(town.client.ok("get_status", job).await, "started", "it was not waited for");
    town.server.stop().await;
}
