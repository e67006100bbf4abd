use std::collections::HashMap;

use super::*;

/// Asserts that each job of a flow ran once, and after all that it waits for.
fn in_order(flow: &Value) {
    let jobs: HashMap<&str, &Value> = flow["jobs"].as_array().unwrap().iter().map(|job| (job["name"].as_str().unwrap(), job)).collect();
    for (name, job) in &jobs {
        assert_eq!((&job["status"], &job["attempt"]), (&json!("finished"), &json!(1)), "{name}");
        for other in job["depends_on"].as_array().into_iter().flatten() {
            let before = jobs[other.as_str().unwrap()];
            assert!(before["finished_at"].as_str() <= job["started_at"].as_str(), "{name} began before {other} ended");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn later_jobs_see_what_earlier_ones_gave_and_what_the_flow_shares() {
    let (_house, _server, client) = open(2).await;
    let spec = json!({
        "jobs": {
            "top": {"script": "#{n: 20, text: env.WHO}"},
            "left": {"script": "inputs.top.n + 1", "depends_on": ["top"]},
            "right": {"script": "inputs.top.n * args.by", "depends_on": ["top"], "args": {"by": 2}},
            "end": {"script": "`${env.WHO}: ${inputs.left} ${inputs.right}`", "depends_on": ["left", "right"], "env_vars": {"WHO": "own"}},
        },
        "env_vars": {"WHO": "all"},
    });
    let flow = client.ok("run_flow_and_wait", spec).await;
    assert_eq!(flow["result"]["end"], "own: 21 40");
    assert_eq!(job(&flow, "end")["depends_on"], json!(["left", "right"]));
    in_order(&flow);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_of_a_hundred_runs_in_its_order() {
    let (_house, _server, client) = open(2).await;
    let jobs: serde_json::Map<String, Value> = (0..100)
        .map(|at| {
            let (script, depends_on) =
                if at == 0 { ("1".to_owned(), json!([])) } else { (format!("inputs.c{} + 1", at - 1), json!([format!("c{}", at - 1)])) };
            (format!("c{at}"), json!({"script": script, "depends_on": depends_on}))
        })
        .collect();
    let flow = client.ok("run_flow_and_wait", json!({"jobs": jobs})).await;
    assert_eq!(flow["result"]["c99"], "100");
    in_order(&flow);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_jobs_ten_wide_run_each_once_and_in_order() {
    let (_house, _server, client) = open(4).await;
    let jobs: serde_json::Map<String, Value> = (0..1000)
        .map(|at| {
            let (layer, place) = (at / 10, at % 10);
            let before: Vec<String> =
                if layer == 0 { Vec::new() } else { (0..10).map(|other| format!("j{}_{other}", layer - 1)).collect() };
            (format!("j{layer}_{place}"), json!({"script": "1", "depends_on": before}))
        })
        .collect();
    let flow = client.ok("run_flow_and_wait", json!({"jobs": jobs, "wait_timeout": 60})).await;
    assert_eq!((flow["jobs"].as_array().unwrap().len(), &flow["status"]), (1000, &json!("finished")));
    let results = flow["result"].as_object().unwrap();
    assert!(results.len() == 1000 && results.values().all(|output| output == "1"), "{results:?}");
    in_order(&flow);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flow_waits_for_jobs_that_are_none_of_its_own() {
    let (_house, _server, client) = open(1).await;
    let other = client.ok("create_job", json!({"script": "7"})).await;
    let spec = json!({"jobs": {"a": {"script": "1"}, "b": {"script": "2", "depends_on": ["a"]}}, "prerequisites": [other]});
    let flow = client.ok("create_flow", spec.clone()).await;
    assert_eq!(client.ok("start_flow", json!([flow])).await, "waiting_for_prerequisites");
    client.ok("start_job", json!([other])).await;
    assert_eq!(client.ok("wait_flow", json!([flow])).await["status"], "finished");
    // One that ended badly ends it.
    let bad = client.ok("create_job", json!({"script": "throw 1"})).await;
    client.ok("start_job", json!([bad])).await;
    let _ = client.call("wait_job", json!([bad])).await;
    let fault = client.fault("run_flow_and_wait", json!({"jobs": {"a": {"script": "1"}}, "prerequisites": [bad]})).await;
    assert_eq!(fault.code, 1101);
    assert_eq!(client.ok("get_flow", json!([fault.data["flow_id"]])).await["status"], "error");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_runs_before_a_flow_is_started_and_it_starts_once() {
    let (_house, _server, client) = open(1).await;
    let flow = client.ok("create_flow", json!({"jobs": {"a": {"script": "1"}}})).await;
    let made = client.ok("get_flow", json!([flow])).await;
    assert_eq!((&made["status"], statuses(&made)), (&json!("dispatched"), vec![("a", "created")]));
    client.ok("start_flow", json!([flow])).await;
    let fault = client.fault("start_flow", json!([flow])).await;
    assert!(fault.code == 1002 && fault.message.contains("only one that nobody has started"), "{fault:?}");
    assert_eq!(client.ok("wait_flow", json!([flow])).await["status"], "finished");
}
