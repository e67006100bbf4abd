//! Changes by other programs to the jobs of a flow, and to its keys in Redis.

use super::*;

const FOR_EVER: &str = "loop { }";

/// Waits until a job of a flow runs.
async fn runs(client: &Client, flow: &Value, name: &str) -> Value {
    until("the job runs", || async {
        let now = client.ok("get_flow", json!([flow])).await;
        (job(&now, name)["status"] == "started").then_some(now)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flow_whose_jobs_were_taken_away_or_ended_by_hand_can_be_stopped_and_deleted() {
    let (house, _server, client) = open(1).await;
    let spec = json!({"jobs": {"long": {"script": FOR_EVER}, "gone": {"script": "1", "depends_on": ["long"]}}, "caller_id": "3"});
    let flow = client.ok("create_flow", spec).await;
    client.ok("start_flow", json!([flow])).await;
    let running = runs(&client, &flow, "long").await;
    let gone = format!("hero:job:{}", job(&running, "gone")["job_id"].as_str().unwrap());
    let _: i64 = house.redis.run(&["DEL", &gone]).await;
    let number = job(&running, "long")["number"].to_string();
    let _: i64 = house.redis.run(&["HSET", &format!("job:3:{number}"), "status", "finished"]).await;
    client.ok("stop_flow", json!([flow])).await;
    let after = ended(&client, &flow).await;
    assert_eq!(after["status"], "error");
    assert_eq!(client.ok("delete_flow", json!([flow])).await, true);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_took_the_id_of_one_of_a_flow_is_none_of_its_jobs() {
    let (_house, _server, client) = open(1).await;
    let spec = json!({"on_failure": "continue", "jobs": {"a": {"script": "1"}, "b": {"script": "2"}}});
    let flow = client.ok("create_flow", spec).await;
    let id = job(&client.ok("get_flow", json!([flow])).await, "a")["job_id"].clone();
    client.ok("delete_job", json!([id])).await;
    client.ok("run_and_wait", json!({"script": "\"another\"", "job_id": id, "caller_id": "somebody else"})).await;
    client.ok("start_flow", json!([flow])).await;
    let after = ended(&client, &flow).await;
    assert_eq!((&after["result"], &job(&after, "a")["status"]), (&json!({"b": "2"}), &Value::Null));
    client.ok("delete_flow", json!([flow])).await;
    assert_eq!(client.ok("get_result", json!([id])).await["output"], "another");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flow_whose_jobs_run_is_not_deleted_however_they_were_started() {
    let (_house, _server, client) = open(1).await;
    let spec = json!({"jobs": {"long": {"script": FOR_EVER}}});
    for by_a_retry in [false, true] {
        let flow = client.ok("create_flow", spec.clone()).await;
        if by_a_retry {
            client.ok("stop_flow", json!([flow])).await;
            client.ok("retry_flow", json!([flow])).await;
        } else {
            let made = client.ok("get_flow", json!([flow])).await;
            client.ok("start_job", json!([job(&made, "long")["job_id"]])).await;
        }
        runs(&client, &flow, "long").await;
        let fault = client.fault("delete_flow", json!([flow])).await;
        assert!(fault.code == 1002 && fault.message.contains("stop it first"), "{fault:?}");
        client.ok("stop_flow", json!([flow])).await;
        ended(&client, &flow).await;
        client.ok("delete_flow", json!([flow])).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_starts_or_deletes_a_flow_that_is_being_made() {
    let (house, _server, client) = open(0).await;
    let flow = client.ok("create_flow", json!({"jobs": {"a": {"script": "1"}}})).await;
    let _: i64 = house.redis.run(&["HSET", &format!("flow:{flow}"), "busy", "storing"]).await;
    for method in ["start_flow", "delete_flow", "stop_flow", "retry_flow", "get_flow"] {
        assert_eq!(client.fault(method, json!([flow])).await.code, 1011, "{method}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flow_that_waits_for_a_job_in_error_ends_at_once_and_names_it() {
    let (_house, _server, client) = open(1).await;
    let fault = client.fault("run_and_wait", json!({"script": "throw \"no\""})).await;
    let spec = json!({"jobs": {"a": {"script": "1"}, "b": {"script": "1", "depends_on": ["a"]}}, "prerequisites": [fault.data["job_id"]]});
    let flow = client.ok("create_flow", spec.clone()).await;
    assert_eq!(client.ok("get_flow", json!([flow])).await["status"], "error");
    let failed = client.fault("run_flow_and_wait", spec).await;
    assert!(failed.code == 1101 && failed.message.contains(fault.data["job_id"].as_str().unwrap()), "{failed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flow_ends_and_is_kept_however_others_wrote_for_how_long() {
    let (house, _server, client) = open(1).await;
    let a_week = 7 * 24 * 3600;
    let written = [
        ("1e5", 100_000),
        ("1000.5", 1001),
        ("0x1000", 4096),
        ("nan", a_week),
        ("inf", a_week),
        ("-1", a_week),
        ("1e300", a_week),
        ("9223372036854775807", a_week),
        ("for ever", a_week),
        ("", a_week),
    ];
    for (retention, kept) in written {
        let flow = client.ok("create_flow", json!({"jobs": {"a": {"script": "1"}, "b": {"script": "2"}}})).await;
        let key = format!("flow:{flow}");
        let _: i64 = house.redis.run(&["HSET", &key, "retention", retention]).await;
        client.ok("start_flow", json!([flow])).await;
        let after = ended(&client, &flow).await;
        assert_eq!((&after["status"], &after["result"]), (&json!("finished"), &json!({"a": "1", "b": "2"})), "{retention}");
        let of_job = format!("hero:job:{}", job(&after, "a")["job_id"].as_str().unwrap());
        for key in [&key, &of_job] {
            let seconds = ttl(&house, key).await;
            assert!((kept - 60..=kept).contains(&seconds), "{retention}: {key} is kept for {seconds} s");
        }
        let running: i64 = house.redis.run(&["ZCARD", "hero:leases"]).await;
        assert_eq!(running, 0, "{retention}");
        client.ok("delete_flow", json!([flow])).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_flows_does_not_read_what_they_gave() {
    let (house, _server, client) = open(0).await;
    let flow = client.ok("create_flow", json!({"jobs": {"a": {"script": "1"}}})).await;
    let _: i64 = house.redis.run(&["HSET", &format!("flow:{flow}"), "result", &"x".repeat(4 << 20)]).await;
    let sent = async || {
        let stats: String = house.redis.run(&["INFO", "stats"]).await;
        stats.lines().find_map(|line| line.strip_prefix("total_net_output_bytes:")?.trim().parse::<u64>().ok()).unwrap()
    };
    let before = sent().await;
    let page = client.ok("list_flows", json!([])).await;
    assert_eq!((&page["flows"][0]["flow_id"], &page["flows"][0]["jobs"]), (&flow, &json!(1)));
    assert!(sent().await - before < 4 << 20);
}

#[tokio::test]
async fn a_flow_that_names_its_maker_by_number_alone_is_that_of_nobody_else() {
    let house = House::empty().await;
    let (server, authority) = Server::guarded(&house.dispatcher).await;
    let mut clients = Vec::new();
    for _ in 0..2 {
        let id = authority.create_identity(&hero::access::IdentityChange::default()).await.unwrap().identity_id;
        authority.set_role(hero::model::ContextId(0), id, hero::model::Role::Caller, true).await.unwrap();
        let secret = authority.create_token(id, None, None, None).await.unwrap().secret.reveal().to_owned();
        clients.push((id, hero::client::Client::connect(&server.url(), Some(&secret)).await.unwrap()));
    }
    // As another program writes it, which knows of no texts: by its first identity, and one that is nobody's.
    let maker = clients[0].0.to_string();
    for (flow, caller) in [("71", maker.as_str()), ("72", "")] {
        let fields = ["status", "created", "jobs", "[]", "caller_id", caller, "created_at", "5"];
        let _: i64 = house.redis.run(&[&["HSET", &format!("flow:{flow}")][..], &fields].concat()).await;
        let _: i64 = house.redis.run(&["ZADD", "hero:meta:flows", flow, flow]).await;
    }
    for (flow, allowed) in [(71, [true, false]), (72, [false, false])] {
        for ((id, client), allowed) in clients.iter().zip(allowed) {
            for method in ["get_flow", "stop_flow"] {
                let answer = client.call_named::<Value>(method, json!([flow])).await;
                let refused = matches!(&answer, Err(hero::client::Error::Rpc(error)) if error.code == 1004);
                assert_eq!(!refused, allowed, "{method} of flow {flow} by {id}: {answer:?}");
            }
        }
    }
    let listed: Value = clients[0].1.call_named("list_flows", json!({ "caller_id": maker })).await.unwrap();
    assert_eq!(listed["flows"].as_array().map(Vec::len), Some(1), "{listed}");
}

/// A flow as another program writes it, by the coordinator's specification alone, with jobs of these numbers and fields.
async fn write_by_hand(house: &House, flow: u32, jobs: &[(u32, &[(&str, &str)])]) {
    let numbers: Vec<u32> = jobs.iter().map(|(number, _)| *number).collect();
    let (key, id, list) = (format!("flow:{flow}"), flow.to_string(), json!(numbers).to_string());
    let fields = ["id", &id, "caller_id", "12", "context_id", "0", "jobs", &list, "env_vars", "{}", "result", "{}"];
    let rest = ["created_at", "1767225600", "updated_at", "1767225600", "status", "dispatched"];
    let _: i64 = house.redis.run(&[&["HSET", &key][..], &fields, &rest].concat()).await;
    for (number, fields) in jobs.iter().filter(|(_, fields)| !fields.is_empty()) {
        let (key, id) = (format!("job:12:{number}"), number.to_string());
        let usual = ["id", &id, "caller_id", "12", "context_id", "0", "script_type", "osis", "status", "dispatched"];
        let own: Vec<&str> = fields.iter().flat_map(|(name, value)| [*name, *value]).collect();
        let _: i64 = house.redis.run(&[&["HSET", &key][..], &usual, &own].concat()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_jobs_of_a_flow_that_another_program_wrote_are_found_by_their_numbers() {
    let (house, _server, client) = open(2).await;
    let jobs: [(u32, &[(&str, &str)]); 3] = [
        (2001, &[("script", "20")]),
        (2002, &[("script", "40 + 2"), ("prerequisites", "[\"job:12:2001\"]")]),
        (2003, &[("script", "`${env.WHO} ${env.WHERE}`"), ("name", "third"), ("env_vars", "{\"WHO\":\"Ada\"}")]),
    ];
    write_by_hand(&house, 33, &jobs).await;
    let shared = json!({"WHO": "me", "WHERE": "here", "HERO_PLAIN": "WHO,WHERE"}).to_string();
    let _: i64 = house.redis.run(&["HSET", "flow:33", "env_vars", &shared]).await;
    client.ok("start_flow", json!([33])).await;
    let after = ended(&client, &json!(33)).await;
    assert_eq!((&after["status"], &after["result"]), (&json!("finished"), &json!({"2001": "20", "2002": "42", "third": "Ada here"})));
    assert_eq!(hash(&house, "job:12:2002").await["status"], "finished");
    assert!(ttl(&house, "job:12:2002").await > 0);
    assert_eq!(client.ok("delete_flow", json!([33])).await, true);
    assert_eq!(ttl(&house, "job:12:2002").await, -2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flow_of_another_program_whose_job_lacks_something_ends_and_says_what() {
    let (house, _server, client) = open(1).await;
    for (flow, fields) in [(34, &[("timeout", "30")][..]), (35, &[])] {
        write_by_hand(&house, flow, &[(2000 + flow, fields)]).await;
        client.ok("start_flow", json!([flow])).await;
        let fault = client.fault("wait_flow", json!([flow])).await;
        let told = format!("job:12:{}, of flow {flow}, has no field script", 2000 + flow);
        assert!(fault.code == 1101 && fault.message.contains(&told), "{fault:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_of_another_programs_flow_that_fails_ends_it() {
    let (house, _server, client) = open(2).await;
    let flaky = "if osis::exists(\"seen\", \"x\") { 1 } else { osis::set(\"seen\", #{id: \"x\"}); throw \"once\" }";
    let jobs: [(u32, &[(&str, &str)]); 2] =
        [(2001, &[("script", flaky)]), (2002, &[("script", "2"), ("prerequisites", "[\"job:12:2001\"]")])];
    write_by_hand(&house, 36, &jobs).await;
    client.ok("start_flow", json!([36])).await;
    let fault = client.fault("wait_flow", json!([36])).await;
    assert!(fault.code == 1101 && fault.message.contains("once"), "{fault:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flow_of_another_program_hears_of_the_end_of_a_job_that_runs_elsewhere() {
    let (house, _server, client) = open(1).await;
    for (flow, end) in [(37, "finished"), (38, "error")] {
        let number = 2000 + flow;
        let since = (house.store.clock().now().as_millis() / 1000).to_string();
        let elsewhere = [("script", "1"), ("status", "started"), ("updated_at", since.as_str())];
        write_by_hand(&house, flow, &[(number, &elsewhere), (number + 100, &[("script", "2")])]).await;
        client.ok("start_flow", json!([flow])).await;
        let open = async || hash(&house, &format!("flow:{flow}")).await["open"].clone();
        until("the other job has ended", || async { (open().await == "1").then_some(()) }).await;
        let _: i64 = house.redis.run(&["HSET", &format!("job:12:{number}"), "status", end]).await;
        let after = ended(&client, &json!(flow)).await;
        assert_eq!((&after["status"], &after["result"]), (&json!(end), &json!({(number + 100).to_string(): "2"})));
    }
    // A key that is no hash is no job, and stays what it is.
    write_by_hand(&house, 39, &[(2039, &[])]).await;
    let _: i64 = house.redis.run(&["LPUSH", "job:12:2039", "x"]).await;
    client.ok("start_flow", json!([39])).await;
    assert_eq!(ended(&client, &json!(39)).await["status"], "error");
    assert_eq!(house.redis.run::<i64>(&["LLEN", "job:12:2039"]).await, 1);
}
