use std::collections::BTreeSet;
use std::process::Command;

use hero::model::JobSpec;
use serde_json::Value;

use super::run;
use crate::support::{PATIENCE, Process, hero, spec, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_server_prints_one_line_when_it_is_ready_and_answers_http() {
    let home = tempfile::tempdir().unwrap();
    let server = Process::serve(&home.path().join("data"), &["--pool", "osis=1,sal=1"]).await;
    let line = server.out().join("\n");
    assert!(line.starts_with("hero ") && line.contains("redis.sock") && line.contains("pools: osis ×1, sal ×1"), "{line}");
    assert_eq!(server.get("/healthz").await.0, 200);
    let (code, body) = server.get("/readyz").await;
    assert_eq!(code, 200, "{body}");
    let (code, document) = server.get("/openrpc.json").await;
    let generated = Command::new(hero()).arg("openrpc").output().unwrap().stdout;
    assert_eq!(code, 200);
    // It names the address it was asked for at.
    let served = String::from_utf8(generated).unwrap().replace("//127.0.0.1:8700/", "//localhost/");
    assert_eq!(serde_json::from_str::<Value>(&document).unwrap(), serde_json::from_str::<Value>(&served).unwrap());
    assert_eq!(run(&server.client().await, "40 + 2").await.unwrap().output, "42");
    let out = server.out();
    server.stop().await;
    assert_eq!(out.len(), 1, "{out:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_settings_has_the_limits_of_the_document() {
    let document: Value = serde_json::from_str(include_str!("../../../../openrpc.json")).unwrap();
    let properties = document["components"]["schemas"]["Limits"]["properties"].as_object().unwrap();
    let home = tempfile::tempdir().unwrap();
    let server = Process::serve(&home.path().join("data"), &["--pool", "none"]).await;
    let limits = server.client().await.server_info().await.unwrap()["limits"].clone();
    for (name, schema) in properties {
        assert_eq!(limits[name], schema["default"], "{name}");
    }
    let method = document["methods"].as_array().unwrap().iter().find(|method| method["name"] == "server_info").unwrap();
    assert_eq!(limits, method["examples"][0]["result"]["value"]["limits"]);
    assert_eq!(limits["calls_per_second"], 0, "programs on this machine are not limited");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_limits_are_those_of_the_settings() {
    let home = tempfile::tempdir().unwrap();
    let settings = ["--pool", "none", "--held-per-connection", "3MB", "--held-per-address", "5MB", "--held", "7MB"];
    let server = Process::serve(&home.path().join("data"), &settings).await;
    let limits = server.client().await.server_info().await.unwrap()["limits"].clone();
    for (name, megabytes) in [("held_per_connection", 3), ("held_per_address", 5), ("held", 7)] {
        assert_eq!(limits[name], megabytes << 20, "{name}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_callers_choose_make_a_limited_number_of_series_and_go_with_their_jobs() {
    let home = tempfile::tempdir().unwrap();
    let server = Process::serve(&home.path().join("data"), &["--pool", "osis=1"]).await;
    let client = server.client().await;
    let mut ids = Vec::new();
    for number in 0..250 {
        let spec = JobSpec { group: Some(format!("g{number}").parse().unwrap()), ..spec("1") };
        ids.push(client.create_job(&spec).await.unwrap());
        client.start_job(super::CONTEXT, ids.last().unwrap()).await.unwrap();
    }
    let series = || async {
        let (_, text) = server.get("/metrics").await;
        text.lines().filter(|line| line.starts_with("hero_queue_depth{")).map(ToOwned::to_owned).collect::<Vec<_>>()
    };
    let depth = |lines: &[String]| -> u64 { lines.iter().map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum() };
    until("a hundred series for 250 queues", || async {
        let lines = series().await;
        let other = lines.iter().any(|line| line.starts_with(r#"hero_queue_depth{queue="other",script_type="other"}"#));
        (depth(&lines) == 250 && lines.len() == 100 && other).then_some(())
    })
    .await;
    for id in &ids {
        client.stop_job(super::CONTEXT, id).await.unwrap();
    }
    until("no series of what is gone", || async { (series().await.len() == 1).then_some(()) }).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_of_a_second_of_engines_that_have_ended_are_counted() {
    let home = tempfile::tempdir().unwrap();
    let server = Process::serve(&home.path().join("data"), &["--pool", "osis=1"]).await;
    let client = server.client().await;
    let used = async || {
        let (_, text) = server.get("/metrics").await;
        text.lines().find_map(|line| line.strip_prefix(r#"hero_engine_cpu_seconds_total{script_type="osis"} "#)?.parse::<f64>().ok())
    };
    run(&client, "let sum = 0; for i in 0..100_000 { sum += i } sum").await.unwrap();
    let before = until("it is counted", || async { used().await.filter(|seconds| *seconds > 0.0) }).await;
    for engine in server.engines() {
        engine.kill();
    }
    run(&client, "let sum = 0; for i in 0..100_000 { sum += i } sum").await.unwrap();
    until("what the next one used is counted, too", || async { used().await.filter(|seconds| *seconds > before) }).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_have_every_family_that_is_promised() {
    let home = tempfile::tempdir().unwrap();
    let server = Process::serve(&home.path().join("data"), &["--pool", "osis=1", "--audit"]).await;
    let client = server.client().await;
    run(&client, "40 + 2").await.unwrap();
    run(&client, "throw 1").await.unwrap_err();
    client.get_status(super::CONTEXT, &hero::model::JobId::random()).await.unwrap_err();
    let promised = [
        r#"hero_jobs_total{script_type="osis",event="created"} 2"#,
        r#"hero_jobs_total{script_type="osis",event="finished"} 1"#,
        r#"hero_jobs_total{script_type="osis",event="error"} 1"#,
        r#"hero_queue_depth{queue="hero:q:work:type:osis",script_type="osis"} 0"#,
        r#"hero_job_wait_seconds_bucket{script_type="osis",le="0.1"}"#,
        r#"hero_job_wait_seconds_count{script_type="osis"} 2"#,
        r#"hero_job_run_seconds_bucket{script_type="osis",le="0.1"}"#,
        r#"hero_job_run_seconds_count{script_type="osis"} 2"#,
        r#"hero_jobs_running{script_type="osis"}"#,
        r#"hero_actors{script_type="osis",group="default"} 1"#,
        r#"hero_engine_memory_bytes{script_type="osis"}"#,
        r#"hero_engine_cpu_seconds_total{script_type="osis"}"#,
        r#"hero_engine_deaths_total{script_type="osis"} 0"#,
        r#"hero_leases_lost_total{script_type="osis"} 0"#,
        "hero_jobs_evicted_total 0",
        "hero_redis_memory_bytes ",
        "hero_redis_memory_limit_bytes ",
        "hero_redis_evicted_keys_total 0",
        r#"hero_rpc_calls_total{method="run_and_wait",code="ok"} 1"#,
        r#"hero_rpc_calls_total{method="run_and_wait",code="1101"} 1"#,
        r#"hero_rpc_calls_total{method="get_status",code="1001"} 1"#,
        r#"hero_rpc_call_seconds_count{method="run_and_wait"} 2"#,
        "hero_rpc_connections ",
        "hero_log_files_bytes ",
    ];
    // Those that are read every few seconds come with the next reading.
    let missing = std::cell::RefCell::new(Vec::new());
    let read = async || {
        let (code, text) = server.get("/metrics").await;
        assert_eq!(code, 200);
        missing.replace(promised.into_iter().filter(|line| !text.lines().any(|there| there.starts_with(line))).collect());
        missing.borrow().is_empty().then_some(text)
    };
    let begun = std::time::Instant::now();
    let text = loop {
        match read().await {
            Some(text) => break text,
            None => assert!(begun.elapsed() < PATIENCE, "{:?} are missing", missing.borrow()),
        }
    };
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let family = line.split(['{', ' ']).next().unwrap().trim_end_matches("_bucket").trim_end_matches("_sum").trim_end_matches("_count");
        assert!(text.contains(&format!("# TYPE {family} ")), "{line} has no type");
        assert!(text.contains(&format!("# HELP {family} ")), "{line} is not explained");
    }
    let shown: BTreeSet<&str> = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    let documented = hero::server::metric_families::markdown();
    let documented: BTreeSet<&str> = documented.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    assert_eq!(shown, documented, "what is shown, and what docs/metrics.md lists");
}
