//! JSON of clients and scripts is passed through unchanged.

use hero::model::{JobSpec, Json, MARK};

use super::*;
use crate::support::{CONTEXT, PATIENCE, spec, texts_in_each_other};

/// This number of nested arrays.
fn deep(levels: usize) -> String {
    format!("{}{}", "[".repeat(levels), "]".repeat(levels))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_looks_like_json_in_a_text_goes_in_and_comes_out_as_text() {
    let (_house, server, _client) = open(1).await;
    for inner in ["[1,2]", "5", "{", ""] {
        let args = format!(r#"{{"{MARK}":"{inner}"}}"#);
        let call = |params: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"run_and_wait","params":{params}}}"#);
        for params in [format!(r#"{{"script":"args","args":{args}}}"#), format!(r#"["args",null,{args}]"#)] {
            let (_, answer) = server.post(&call(&params)).await;
            let output = format!(r#""output":{}"#, Json::from(args.clone()).as_str());
            assert!(answer.contains(&output) && answer.contains(&format!(r#""value":{args}"#)), "{args}: {answer}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_with_json_in_texts_in_each_other_harms_nobody() {
    let (house, server, client) = open(1).await;
    let text = texts_in_each_other(60);
    let script = format!("#{{ \"{MARK}\": args }}");
    let job = JobSpec { args: Some(text.clone().into()), ..spec(&script) };
    let id = house.start(job).await;
    let result = house.dispatcher.jobs().wait(CONTEXT, &id, PATIENCE).await.unwrap();
    let expected = format!(r#"{{"{MARK}":{}}}"#, Json::from(text).as_str());
    assert_eq!((result.value.unwrap().as_str(), result.output.as_str()), (expected.as_str(), expected.as_str()));
    assert_eq!(client.ok("get_status", json!([id])).await, "finished");
    for method in ["get_result", "wait_job", "get_job"] {
        let (_, answer) = server.post(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":["{id}"]}}"#)).await;
        assert!(answer.contains(&Json::from(expected.clone()).as_str()[1..]), "{method}: {}", &answer[..200]);
    }
    assert_eq!(client.ok("ping", Value::Null).await, "pong");
}

#[tokio::test(flavor = "multi_thread")]
async fn args_nested_to_the_limit_run_and_deeper_ones_are_refused_by_name() {
    let (_house, server, client) = open(1).await;
    let post = async |method: &str, params: String| -> Value {
        let (_, answer) = server.post(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)).await;
        serde_json::from_str(&answer).unwrap()
    };
    let script = "let depth = 1; let inner = args; while inner.len > 0 { inner = inner[0]; depth += 1; } depth";
    let at_limit = deep(Json::MAX_DEPTH);
    for params in [format!(r#"{{"script":"{script}","args":{at_limit}}}"#), format!(r#"["{script}",null,{at_limit}]"#)] {
        assert_eq!(post("run_and_wait", params).await["result"]["value"], Json::MAX_DEPTH);
    }
    let many = post("create_jobs", format!(r#"{{"jobs":[{{"script":"{script}","args":{at_limit}}}]}}"#)).await["result"][0].clone();
    client.ok("start_job", json!([many])).await;
    assert_eq!(client.ok("wait_job", json!([many])).await["value"], Json::MAX_DEPTH);
    for levels in [Json::MAX_DEPTH + 1, 125, 126, 127, 100_000] {
        let args = deep(levels);
        for (method, params, named) in [
            ("create_job", format!(r#"{{"script":"1","args":{args}}}"#), "args"),
            ("create_job", format!(r#"["1",null,{args}]"#), "args"),
            ("run_and_wait", format!(r#"{{"script":"1","args":{args}}}"#), "args"),
            ("create_schedule", format!(r#"{{"job":{{"script":"1","args":{args}}},"every":60}}"#), "job.args"),
            ("create_jobs", format!(r#"{{"jobs":[{{"script":"1","args":{args}}}]}}"#), "jobs[0].args"),
        ] {
            let error = post(method, params).await["error"].take();
            let message = format!("parameter `{named}`: more than 100 arrays and objects lie in each other");
            assert_eq!(error["code"], -32602, "{method} {levels}: {error}");
            assert!(error["message"].as_str().unwrap().starts_with(&message), "{method} {levels}: {error}");
        }
    }
    assert_eq!(client.ok("list_jobs", json!({})).await["jobs"].as_array().unwrap().len(), 3);
}

#[test]
fn the_program_reads_numbers_to_the_last_digit_as_the_tests_do() {
    // Crates that only tests use turn it on for those.
    let manifest = include_str!("../../../Cargo.toml");
    let dependency = manifest.lines().find(|line| line.starts_with("serde_json = ")).unwrap();
    assert!(dependency.contains("\"float_roundtrip\""), "{dependency}");
    let number = "2.2250738585072011e-308";
    assert_eq!(serde_json::from_str::<Value>(number).unwrap().as_f64(), Some(number.parse().unwrap()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_stands_twice_is_refused_wherever_it_is_the_name_of_something_and_not_in_free_json() {
    let (_house, server, _client) = open(1).await;
    let answer = async |method: &str, params: &str| {
        server.post(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)).await.1
    };
    let twice = r#"{"KEY":"a","OTHER":"b","\u004bEY":"c"}"#;
    for (method, params, at) in [
        ("create_job", format!(r#"{{"script":"1","env_vars":{twice}}}"#), "env_vars"),
        ("run_and_wait", format!(r#"{{"script":"1","env_vars":{twice}}}"#), "env_vars"),
        ("run_and_wait", format!(r#"{{"script":"1","labels":{twice}}}"#), "labels"),
        ("create_jobs", format!(r#"{{"jobs":[{{"script":"1"}},{{"script":"1","env_vars":{twice}}}]}}"#), "jobs[1].env_vars"),
        ("create_schedule", format!(r#"{{"job":{{"script":"1","env_vars":{twice}}},"every":60}}"#), "job.env_vars"),
        ("create_flow", format!(r#"{{"jobs":{{"a":{{"script":"1"}}}},"env_vars":{twice}}}"#), "env_vars"),
        ("create_flow", format!(r#"{{"jobs":{{"a":{{"script":"1","env_vars":{twice}}}}}}}"#), "jobs.a.env_vars"),
        ("list_jobs", format!(r#"{{"filter":{{"labels":{twice}}}}}"#), "filter.labels"),
        ("find_objects", format!(r#"{{"collection":"c","filter":{twice}}}"#), "filter"),
    ] {
        let said = answer(method, &params).await;
        assert!(
            said.contains("-32602") && said.contains(&format!(r#"parameter `{at}`: the name \"KEY\" stands there twice"#)),
            "{method}: {said}"
        );
    }
    for (job, at) in
        [(r#"{"id":7,"script":"1","script":"2"}"#, ""), (&format!(r#"{{"id":7,"script":"1","env_vars":{twice}}}"#), "env_vars: ")]
    {
        let name = if at.is_empty() { "script" } else { "KEY" };
        let said = answer("send_message", &format!(r#"{{"address":"here","message_type":"job","job":[{job}]}}"#)).await;
        assert!(said.contains(&format!(r#"parameter `job[0]`: {at}the name \"{name}\" stands there twice"#)), "{said}");
    }
    let free = r#"{"address":"here","message_type":"job","job":[{"id":7,"script":"1","args":{"a":1,"a":2}}]}"#;
    let said = answer("send_message", free).await;
    assert!(said.contains(r#""args":{"a":2}"#), "{said}");
    let said = answer("send_message", r#"{"address":"here","message_type":"job","job":[5]}"#).await;
    assert!(said.contains("expected a job: an object with a script"), "{said}");
    let said = answer("run_and_wait", r#"{"script":"args.a","args":{"a":1,"b":3,"a":2},"env_vars":null,"labels":null}"#).await;
    assert!(said.contains(r#""value":2"#), "{said}");
}
