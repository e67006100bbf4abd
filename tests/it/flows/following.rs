use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_sees_where_a_flow_is_each_change_of_its_jobs_and_its_end_last() {
    let (_house, _server, client) = open(1).await;
    let flow = client.ok("create_flow", json!({"jobs": {"a": {"script": "1"}, "b": {"script": "1", "depends_on": ["a"]}}})).await;
    // Others are not seen.
    let mut items = client.subscribe("subscribe_flow", json!([flow])).await.unwrap();
    let first = items.next().await;
    assert_eq!((&first["status"], &first["open"], first.get("job")), (&json!("dispatched"), &json!(2), None));
    client.ok("run_and_wait", json!(["1"])).await;
    client.ok("start_flow", json!([flow])).await;
    let mut seen = Vec::new();
    loop {
        let item = items.next().await;
        match item.get("job") {
            Some(job) => seen.push((job.as_str().unwrap().to_owned(), item["job_status"].as_str().unwrap().to_owned())),
            None if item["status"] == "finished" => break,
            None => {}
        }
    }
    assert_eq!(items.next().await, json!({"type": "ended"}));
    let of = |name: &str| seen.iter().filter(|(job, _)| job == name).map(|(_, status)| status.as_str()).collect::<Vec<_>>();
    assert_eq!(of("a"), ["dispatched", "started", "finished"]);
    assert_eq!(of("b"), ["waiting_for_prerequisites", "dispatched", "started", "finished"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_that_comes_back_with_a_cursor_misses_no_change_and_sees_none_twice() {
    let (_house, _server, client) = open(1).await;
    let flow = client.ok("create_flow", json!({"jobs": {"a": {"script": "1"}, "b": {"script": "1", "depends_on": ["a"]}}})).await;
    let follow = async |cursor: Option<&Value>| {
        let mut items = client.subscribe("subscribe_flow", json!([flow, cursor])).await.unwrap();
        let mut seen = Vec::new();
        loop {
            let item = items.next().await;
            match item["type"].as_str() {
                Some("ended") => return seen,
                _ if item.get("job").is_some() => seen.push(item),
                // The first item of one that nobody has started yet.
                _ if item["status"] == "dispatched" && item["open"] == 2 => drop(client.ok("start_flow", json!([flow])).await),
                _ => {}
            }
        }
    };
    let whole = follow(None).await;
    assert_eq!(whole.len(), 7, "{whole:?}");
    let changes = |items: &[Value]| items.iter().map(|item| (item["job"].clone(), item["job_status"].clone())).collect::<Vec<_>>();
    for at in 0..whole.len() {
        let rest = follow(Some(&whole[at]["cursor"])).await;
        assert_eq!(changes(&rest), changes(&whole[at + 1..]), "behind item {at}");
    }
    assert_eq!(client.fault("subscribe_flow", json!([flow, "no cursor"])).await.code, -32602);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_hears_that_a_flow_is_gone() {
    let (_house, _server, client) = open(0).await;
    let flow = client.ok("create_flow", json!({"jobs": {"a": {"script": "1"}}})).await;
    let mut items = client.subscribe("subscribe_flow", json!([flow])).await.unwrap();
    assert_eq!(items.next().await["status"], "dispatched");
    client.ok("delete_flow", json!([flow])).await;
    while items.next().await != json!({"type": "ended"}) {}
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_hears_the_end_of_a_flow_beside_jobs_that_change_without_pause() {
    let (_house, _server, client) = open(1).await;
    let flow = client.ok("create_flow", json!({"jobs": {"a": {"script": "1"}}})).await;
    let mut items = client.subscribe("subscribe_flow", json!([flow])).await.unwrap();
    let others = async {
        loop {
            client.ok("create_job", json!(["1"])).await;
        }
    };
    let end = async {
        client.ok("start_flow", json!([flow])).await;
        while items.next().await != json!({"type": "ended"}) {}
    };
    tokio::select! {
        () = others => unreachable!("it has no end"),
        done = tokio::time::timeout(crate::support::PATIENCE, end) => done.expect("the end is told"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_that_runs_out_says_so_and_the_flow_goes_on() {
    let (mut house, _server, client) = open(0).await;
    let spec = json!({"jobs": {"a": {"script": "1"}, "b": {"script": "2", "depends_on": ["a"]}}, "wait_timeout": 0});
    let fault = client.fault("run_flow_and_wait", spec).await;
    assert_eq!((fault.code, &fault.data["open"]), (1102, &json!(2)), "{fault:?}");
    let settings = crate::support::pool_settings(house.redis.directory(), 1);
    house.hire(settings).await;
    assert_eq!(client.ok("wait_flow", json!([fault.data["flow_id"]])).await["status"], "finished");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_graph_has_a_box_for_each_job_and_an_arrow_for_each_dependency() {
    let (_house, _server, client) = open(0).await;
    let spec =
        json!({"jobs": {"a": {"script": "1"}, "b": {"script": "1", "depends_on": ["a"]}, "c": {"script": "1", "depends_on": ["a", "b"]}}});
    let flow = client.ok("create_flow", spec).await;
    let graph = client.ok("get_flow", json!([flow])).await["graph"].as_str().unwrap().to_owned();
    let lines: Vec<&str> = graph.lines().take(7).collect();
    assert_eq!(
        lines,
        [
            "flowchart TD",
            r#"  j0["a"]:::waiting"#,
            r#"  j1["b"]:::waiting"#,
            r#"  j2["c"]:::waiting"#,
            "  j0 --> j1",
            "  j0 --> j2",
            "  j1 --> j2"
        ]
    );
}
