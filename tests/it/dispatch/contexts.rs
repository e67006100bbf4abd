//! Contexts: every method works in each, and none sees or reaches the data of another.

use serde_json::{Value, json};

use crate::support::{Client, Process, Redis, until};

/// Three contexts, each with one osis actor: 0 and 1 in one Redis, 2 in another.
struct Town {
    server: Process,
    client: Client,
    redis: [Redis; 2],
    _home: tempfile::TempDir,
}

impl Town {
    async fn open() -> Self {
        let (home, redis) = (tempfile::tempdir().unwrap(), [Redis::start().await, Redis::start().await]);
        let elsewhere = format!("2={}", redis[1].url());
        let arguments = ["--redis", &redis[0].url(), "--contexts", "0-2", "--context-endpoint", &elsewhere, "--pool", "osis=1"];
        let server = Process::serve(home.path(), &arguments).await;
        let client = Client::connect(&server.url()).await;
        Self { server, client, redis, _home: home }
    }

    /// Calls a method with parameters by name, in a context.
    async fn ok(&self, context: u32, method: &str, params: Value) -> Value {
        self.client.ok(method, within(context, params)).await
    }

    async fn code(&self, context: u32, method: &str, params: Value) -> i64 {
        self.client.fault(method, within(context, params)).await.code
    }

    async fn start(&self, context: u32, spec: Value) -> Value {
        let id = self.ok(context, "create_job", spec).await;
        self.ok(context, "start_job", json!({ "job_id": id })).await;
        id
    }

    async fn is(&self, context: u32, id: &Value, status: &str) {
        let asking = || async { (self.ok(context, "get_status", json!({ "job_id": id })).await == status).then_some(()) };
        until(&format!("{id} is {status}"), asking).await;
    }
}

fn within(context: u32, mut params: Value) -> Value {
    params["context_id"] = json!(context);
    params
}

/// Two contexts, of which 1 has limits of its own.
const LIMITS: &str = r#"
    [contexts.0]

    [contexts.1]
    script_operations = 10_000
    script_memory = "2MB"
    script_source = "1KB"
    script_result = "1KB"
    script_strict = true
    process_memory = "32MB"

    [script_types.shell]
    command = ["sh", "{script}"]
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_of_a_context_holds_for_its_jobs_and_for_no_others() {
    let (home, redis) = (tempfile::tempdir().unwrap(), Redis::start().await);
    let file = home.path().join("hero.toml");
    std::fs::write(&file, LIMITS).unwrap();
    let arguments = ["--redis", &redis.url(), "--config", file.to_str().unwrap(), "--pool", "osis=1", "--pool", "shell=1"];
    let server = Process::serve(home.path(), &arguments).await;
    let client = Client::connect(&server.url()).await;
    let memory = (0..15).map(|n| format!("let v{n} = ``; v{n}.pad(200000, `x`);")).collect::<String>() + "1";
    let long = format!("// {}\n1", "x".repeat(1500));
    for (script_type, script, said) in [
        ("osis", "for i in 0..20000 {} 1", Some("the script took more than 10000 operations (script_operations)")),
        ("osis", &memory, Some("the script held more than 2 MB of memory (script_memory)")),
        ("osis", "let text = \"\"; text.pad(2000, \"x\"); text", Some("the result has more than 1 KB (script_result)")),
        ("osis", "args.nothing", Some("that is an error here (script_strict)")),
        ("osis", &long, None),
        ("shell", "all=$(head -c 30000000 /dev/zero | tr '\\0' x); echo ${#all} >&3", Some("ended ")),
    ] {
        let spec = json!({ "script": script, "script_type": script_type });
        client.ok("run_and_wait", within(0, spec.clone())).await;
        let fault = client.fault("run_and_wait", within(1, spec)).await;
        let message = match said {
            Some(_) => fault.data["error"]["message"].as_str().unwrap_or_else(|| panic!("{fault:?}")),
            None => &fault.message,
        };
        assert!(message.contains(said.unwrap_or("1024 (script_source)")), "{script}: {fault:?}");
    }
    assert_eq!(client.ok("run_and_wait", within(1, json!({ "script": "40 + 2" }))).await["output"], "42");
    server.stop().await;
}

/// The error for a job that is not found.
const NOT_FOUND: i64 = 1001;

#[tokio::test(flavor = "multi_thread")]
async fn every_method_works_in_every_context_and_none_reaches_another() {
    let town = Town::open().await;
    let info = town.client.ok("server_info", json!({})).await;
    assert_eq!(info["contexts"], json!([0, 1, 2]));
    let pools: Vec<_> = info["pools"].as_array().unwrap().iter().map(|pool| (&pool["context_id"], &pool["actors"])).collect();
    assert_eq!(pools, [(&json!(0), &json!(1)), (&json!(1), &json!(1)), (&json!(2), &json!(1))]);

    for context in 0..3 {
        let others: Vec<u32> = (0..3).filter(|other| *other != context).collect();
        let mut strangers = Vec::new();
        for other in &others {
            strangers.push(town.client.subscribe("subscribe_events", within(*other, json!({}))).await.unwrap().begun().await);
        }
        let mut events = town.client.subscribe("subscribe_events", within(context, json!({}))).await.unwrap().begun().await;
        let spec =
            json!({ "script": "print(`log of ${CONTEXT_ID}`); CONTEXT_ID", "idempotency_key": "same", "name": format!("of {context}") });
        let id = town.start(context, spec).await;
        let job = json!({ "job_id": id });
        assert_eq!(town.ok(context, "wait_job", job.clone()).await["output"], context.to_string());
        assert_eq!(town.ok(context, "get_result", job.clone()).await["output"], context.to_string());
        assert_eq!(town.ok(context, "get_job", job.clone()).await["context_id"], context);
        let logs = town.ok(context, "get_logs", job.clone()).await;
        assert_eq!(logs["lines"][0]["text"], format!("log of {context}"));
        let mut lines = town.client.subscribe("subscribe_logs", within(context, job.clone())).await.unwrap();
        assert_eq!(lines.rest().await.len(), 1);
        let event = events.next().await;
        assert_eq!((&event["job_id"], &event["context_id"]), (&id, &json!(context)));

        let running = town.start(context, json!({ "script": "loop {}" })).await;
        town.is(context, &running, "started").await;
        let waiting = town.start(context, json!({ "script": "1", "group": "nobody" })).await;
        for other in &others {
            for id in [&id, &running, &waiting] {
                let job = json!({ "job_id": id });
                for method in ["get_status", "get_job", "get_result", "get_logs", "start_job", "stop_job", "delete_job", "wait_job"] {
                    assert_eq!(town.code(*other, method, job.clone()).await, NOT_FOUND, "{method} of a job of {context} in {other}");
                }
                for method in ["subscribe_job", "subscribe_logs"] {
                    assert_eq!(town.code(*other, method, job.clone()).await, NOT_FOUND, "{method} of a job of {context} in {other}");
                }
            }
            let queues = town.ok(*other, "list_queues", json!({})).await;
            assert!(!queues.as_array().unwrap().iter().any(|queue| queue["group"] == "nobody"), "{queues}");
        }
        let queues = town.ok(context, "list_queues", json!({})).await;
        assert!(queues.as_array().unwrap().iter().any(|queue| queue["group"] == "nobody" && queue["depth"] == 1), "{queues}");
        town.ok(context, "stop_job", json!({ "job_id": waiting })).await;
        town.ok(context, "delete_job", json!({ "job_id": waiting })).await;
        assert_eq!(town.ok(context, "stop_job", json!({ "job_id": running })).await, "error");
        let names = |jobs: &Value| {
            jobs["jobs"].as_array().unwrap().iter().filter_map(|job| job["name"].as_str().map(ToOwned::to_owned)).collect::<Vec<_>>()
        };
        assert_eq!(names(&town.ok(context, "list_jobs", json!({})).await), [format!("of {context}")]);
        let schedule = json!({ "job": within(context, json!({ "script": "1" })), "every": 3600 });
        let schedule = json!({ "schedule_id": town.client.ok("create_schedule", schedule).await["schedule_id"] });
        assert_eq!(town.ok(context, "list_schedules", json!({})).await["schedules"].as_array().unwrap().len(), 1);
        for other in &others {
            assert_eq!(town.ok(*other, "list_schedules", json!({})).await["schedules"], json!([]));
            town.code(*other, "delete_schedule", schedule.clone()).await;
        }
        town.ok(context, "delete_schedule", schedule).await;
        let actors = town.ok(context, "list_actors", json!({})).await;
        assert_eq!(actors.as_array().unwrap().len(), 1, "{actors}");
        for mut items in strangers {
            assert_eq!(items.waiting(), Vec::<Value>::new());
        }
    }

    // Every job is in the database of its context, and only there.
    for (redis, database, name) in [(0, "0", "of 0"), (0, "1", "of 1"), (1, "2", "of 2")] {
        let script = "redis.call('SELECT', ARGV[1]) local names = {} for _, key in ipairs(redis.call('KEYS', 'hero:job:*')) do \
                      names[#names + 1] = redis.call('HGET', key, 'name') or nil end return names";
        let names: Vec<String> = town.redis[redis].run(&["EVAL", script, "0", database]).await;
        assert_eq!(names, [name]);
    }
    let keyspace: String = town.redis[1].run(&["INFO", "keyspace"]).await;
    assert!(!keyspace.contains("db0") && !keyspace.contains("db1:"), "{keyspace}");

    let fault = town.client.fault("get_status", json!({ "job_id": "00000000-0000-4000-8000-000000000000", "context_id": 3 })).await;
    assert!(fault.message.contains("context") && fault.message.contains('3'), "{fault:?}");
    town.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_context_goes_on_while_the_redis_of_another_is_away() {
    let mut town = Town::open().await;
    assert_eq!(town.server.get("/readyz").await.0, 200);
    town.redis[1].kill();
    for context in [0, 1] {
        assert_eq!(town.ok(context, "run_and_wait", json!({ "script": "1" })).await["output"], "1");
    }
    let (code, body) = town.server.get("/readyz").await;
    assert!(code == 503 && body.contains("context 2"), "{code} {body}");
    town.redis[1].restart().await;
    until("context 2 works again", || async {
        town.client.call("run_and_wait", within(2, json!({ "script": "1" }))).await.ok().filter(|result| result["output"] == "1")
    })
    .await;
    let (_, metrics) = town.server.get("/metrics").await;
    for line in
        [r#"hero_jobs_total{script_type="osis",event="created"}"#, r#"hero_jobs_total{script_type="osis",event="created",context="1"}"#]
    {
        until(line, || async { town.server.get("/metrics").await.1.contains(line).then_some(()) }).await;
    }
    assert!(!metrics.contains("context=\"0\""));
    town.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn log_files_of_one_context_are_out_of_the_reach_of_others() {
    let town = Town::open().await;
    for context in [0, 1] {
        let spec = json!({ "script": "print(CONTEXT_ID)", "log_path": "a.log" });
        let id = town.start(context, spec).await;
        town.ok(context, "wait_job", json!({ "job_id": id })).await;
    }
    let logs = town._home.path().join("logs");
    for (path, context) in [("a.log", "0"), (".contexts/1/a.log", "1")] {
        let text = std::fs::read_to_string(logs.join(path)).unwrap();
        assert!(text.lines().count() == 1 && text.trim_end().ends_with(context), "{path}: {text}");
    }
    let there = logs.join(".contexts/1/a.log");
    for path in [".contexts/1/a.log", there.to_str().unwrap()] {
        let fault = town.client.fault("create_job", json!({ "script": "1", "log_path": path })).await;
        assert!(fault.message.contains("log_path"), "{fault:?}");
    }
    town.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pools_serve_the_contexts_that_they_name() {
    let (home, redis) = (tempfile::tempdir().unwrap(), Redis::start().await);
    let config = home.path().join("hero.toml");
    let pools = "[[pools]]\ntype = \"osis\"\ncontexts = [1]\n\n[[pools]]\ntype = \"sal\"\n";
    std::fs::write(&config, format!("redis = \"{}\"\ncontexts = [0, 1]\n{pools}", redis.url())).unwrap();
    let server = Process::serve(&home.path().join("data"), &["--config", config.to_str().unwrap()]).await;
    let client = Client::connect(&server.url()).await;
    let types = async |context: u32| {
        let actors = client.ok("list_actors", json!([context])).await;
        actors.as_array().unwrap().iter().map(|actor| actor["script_type"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(types(0).await, ["sal"]);
    assert_eq!(types(1).await, ["osis", "sal"]);
    // Engines are never shared: each actor has its own process.
    assert_eq!(server.engines().len(), 3);
    // Actors elsewhere may serve one context only.
    let actor =
        Process::start(&["actor", "--redis", &redis.url(), "--contexts", "0", "--pool", "osis=1", "--data", home.path().to_str().unwrap()]);
    let actor = actor.until_ready().await;
    assert_eq!(client.ok("run_and_wait", json!({ "script": "CONTEXT_ID" })).await["output"], "0");
    assert_eq!(types(1).await, ["osis", "sal"]);
    actor.stop().await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn contexts_that_cannot_be_served_end_the_start_with_the_reason() {
    let (home, redis) = (tempfile::tempdir().unwrap(), Redis::with(&["--save", "", "--databases", "4"]).await);
    let url = redis.url();
    for (arguments, said) in [
        (&["--contexts", "0,3,4"][..], "context 4 is database 4 there, and this Redis has fewer: raise `databases`"),
        (&["--contexts", "0-1", "--context-endpoint", &format!("0={url}?db=1")], "contexts 0 and 1 are the same database"),
    ] {
        let all = [&["--redis", &url, "--pool", "none"], arguments].concat();
        let (code, log) = Process::serving(home.path(), &all).failure().await;
        assert!(code == Some(1) && log.contains(said), "{arguments:?}: {log}");
    }
}
