use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_line_comes_to_another_redis_and_stays_for_its_owner() {
    let (one, two) = (NodeKey::random(), NodeKey::random());
    let b = Town::open(&two, Plan::new(0).trusting(&one)).await;
    let a = Town::open(&one, Plan::new(0)).await;
    let key = a.send(chat("**hello**", &b.redis().url())).await;
    a.becomes(key, MessageStatus::Acknowledged).await;
    assert_eq!(b.came(1).await, ["message:12:1"]);
    let hash = b.hash("message:12:1").await;
    for (field, value) in [
        ("message", "**hello**"),
        ("message_type", "chat"),
        ("message_format_type", "md"),
        ("caller_id", "12"),
        ("status", "dispatched"),
        ("public_key", one.public().as_str()),
    ] {
        assert_eq!(hash[field], value, "{field}");
    }
    let sent = a.hash("message:12:1").await;
    assert_eq!((&*sent["status"], &*sent["receiver_key"]), ("acknowledged", two.public().as_str()));
    // Nothing is left on the way.
    for (town, pattern) in [(&a, "msg_out*"), (&b, "hero:bus:letter*"), (&b, "hero:bus:box*")] {
        until(pattern, || async {
            let left: Vec<String> = town.redis().run(&["KEYS", pattern]).await;
            left.is_empty().then_some(())
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_program_pushes_to_msg_out_is_sent() {
    let (one, two) = (NodeKey::random(), NodeKey::random());
    let b = Town::open(&two, Plan::new(1).trusting(&one)).await;
    let a = Town::open(&one, Plan::new(0)).await;
    let now: Vec<String> = a.redis().run(&["TIME"]).await;
    let job = r#"[{"id":2001,"script":"`${env.WHO} ${40 + 2}`","script_type":"osis","timeout":30,"retries":0,"env_vars":{"WHO":"me"}}]"#;
    let url = b.redis().url();
    let words = [
        "HSET",
        "message:12:101",
        "id",
        "101",
        "caller_id",
        "12",
        "context_id",
        "0",
        "message",
        "",
        "message_type",
        "job",
        "message_format_type",
        "text",
        "timeout",
        "60",
        "timeout_ack",
        "30",
        "timeout_result",
        "30",
        "job",
        job,
        "logs",
        "[]",
        "created_at",
        &now[0],
        "updated_at",
        &now[0],
        "status",
        "dispatched",
        "address",
        &url,
    ];
    let _: i64 = a.redis().run(&words).await;
    let _: i64 = a.redis().run(&["LPUSH", "msg_out", "message:12:101"]).await;
    // It is no message, and stops nobody.
    let _: i64 = a.redis().run(&["LPUSH", "msg_out", "nonsense"]).await;
    a.becomes(MessageKey { caller_id: 12, message_id: 101 }, MessageStatus::Processed).await;
    let element = a.came(1).await.remove(0);
    let result = a.hash(&element).await;
    assert_eq!((&*result["message_type"], &*result["answers"]), ("result", "101"));
    let said: serde_json::Value = serde_json::from_str(&result["message"]).unwrap();
    assert_eq!((&said["job"], &said["status"], &said["output"]), (&2001.into(), &"finished".into(), &"me 42".into()));
    // At the other side it is a job of a runner, with what the specification has.
    let job = b.hash("job:12:2001").await;
    for (field, value) in
        [("id", "2001"), ("caller_id", "12"), ("script_type", "osis"), ("timeout", "30"), ("retries", "0"), ("status", "finished")]
    {
        assert_eq!(job[field], value, "{field}");
    }
    assert_eq!(job["result"], r#"{"output":"me 42"}"#);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_message_that_another_program_puts_into_msg_in_becomes_a_job() {
    let key = NodeKey::random();
    let town = Town::open(&key, Plan::new(1)).await;
    let redis = town.redis();
    for (n, job) in [("7", r#"[{"id":5,"script":"6 * 7"}]"#), ("8", "nonsense")] {
        let _: i64 = redis.run(&["HSET", &format!("message:3:{n}"), "message_type", "job", "job", job]).await;
        let _: i64 = redis.run(&["LPUSH", "msg_in", &format!("message:3:{n}")]).await;
    }
    let _: i64 = redis.run(&["HSET", "message:3:9", "message_type", "chat"]).await;
    let _: i64 = redis.run(&["LPUSH", "msg_in", "message:3:9"]).await;
    until("the result", || async {
        let result: Option<String> = redis.run(&["HGET", "job:3:5", "result"]).await;
        (result? == r#"{"output":"42"}"#).then_some(())
    })
    .await;
    let wrong = until("the refusal", || async { town.hash("message:3:8").await.remove("error") }).await;
    assert!(wrong.contains("is no list of jobs"), "{wrong}");
    assert_eq!(town.came(1).await, ["message:3:9"], "what is for the owner stays");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_will_not_arrive_is_in_error_and_says_why() {
    let (one, two) = (NodeKey::random(), NodeKey::random());
    let b = Town::open(&two, Plan::new(0)).await;
    let a = Town::open(&one, Plan::new(0)).await;
    let url = b.redis().url();
    for (draft, part) in [
        (chat("x", "node:berlin"), "node berlin is unknown here"),
        (chat("x", "4a2:12::1"), "has no Mycelium node (mycelium_url)"),
        (Draft { target_context: ContextId(7), ..chat("x", "here") }, "context 7 does not exist"),
        (chat("x", &url), "is not trusted here"),
        (Draft { timeout_ack: 1, ..chat("x", "redis://127.0.0.1:1") }, "within 1 s (timeout_ack): the Redis of the other side"),
    ] {
        let key = a.send(draft).await;
        let failed = until("its error", || async {
            let message = a.messages.get(CONTEXT, key).await.unwrap();
            (message.status == MessageStatus::Error).then_some(message)
        })
        .await;
        let error = failed.error.unwrap();
        assert!(error.contains(part), "{error}");
        assert_eq!(failed.logs.last().unwrap().text, error);
    }
    // What another program wrote nobody has looked at.
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs().to_string();
    let _: i64 = a.redis().run(&["HSET", "message:12:77", "message_type", "chat", "topic", "runner77", "created_at", &now]).await;
    let _: i64 = a.redis().run(&["LPUSH", "msg_out", "message:12:77"]).await;
    let error = a.fails(MessageKey { caller_id: 12, message_id: 77 }).await;
    assert!(error.contains("runner 77 does not exist in context 0"), "{error}");
    let left: i64 = a.redis().run(&["EXISTS", "msg_out"]).await;
    assert!(left == 0 && a.in_hand().await.is_empty());
    let came: i64 = b.redis().run(&["EXISTS", "msg_in"]).await;
    assert_eq!(came, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_waits_while_the_other_redis_is_down_and_comes_once() {
    let (one, two) = (NodeKey::random(), NodeKey::random());
    let mut b = Town::open(&two, Plan::new(0).trusting(&one)).await;
    let a = Town::open(&one, Plan::new(0)).await;
    let url = b.redis().url();
    let first = a.send(chat("1", &url)).await;
    a.becomes(first, MessageStatus::Acknowledged).await;
    b.house.redis.kill();
    let second = a.send(chat("2", &url)).await;
    until("an attempt", || async { (a.in_hand().await == [second.to_string()]).then_some(()) }).await;
    b.house.redis.restart().await;
    a.becomes(second, MessageStatus::Acknowledged).await;
    assert_eq!(b.came(1).await, ["message:12:2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_that_others_have_are_not_taken_from_them() {
    let (one, two) = (NodeKey::random(), NodeKey::random());
    let b = Town::open(&two, Plan::new(1).trusting(&one)).await;
    let a = Town::open(&one, Plan::new(0)).await;
    let _: i64 = b.redis().run(&["HSET", "message:12:1", "message", "mine"]).await;
    let _: i64 = b.redis().run(&["HSET", "job:12:2001", "script", "mine", "status", "finished"]).await;
    let key = a.send(jobs(&["1 + 1"], &b.redis().url())).await;
    a.becomes(key, MessageStatus::Processed).await;
    assert_eq!(b.hash("message:12:1").await["message"], "mine");
    assert_eq!(b.hash("job:12:2001").await["script"], "mine");
    let said = a.hash(&a.came(1).await[0]).await.remove("message").unwrap();
    assert!(said.contains("\"job\":2001") && said.contains("\"output\":\"2\""), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_msg_in_refuses_what_comes_until_there_is_room() {
    let (one, two) = (NodeKey::random(), NodeKey::random());
    let b = Town::open(&two, Plan::new(0).trusting(&one)).await;
    let a = Town::open(&one, Plan::new(0)).await;
    let many: Vec<String> = (0..10_000).map(|n| format!("message:1:{n}")).collect();
    let words: Vec<&str> = ["LPUSH", "msg_in"].into_iter().chain(many.iter().map(String::as_str)).collect();
    let _: i64 = b.redis().run(&words).await;
    let key = a.send(Draft { timeout_ack: 1, ..chat("x", &b.redis().url()) }).await;
    let failed = until("its error", || async {
        let message = a.messages.get(CONTEXT, key).await.unwrap();
        (message.status == MessageStatus::Error).then_some(message)
    })
    .await;
    assert!(failed.error.unwrap().contains("takes no more messages"));
    let other = a.send(chat("y", &b.redis().url())).await;
    let _: Vec<String> = b.redis().run(&["RPOP", "msg_in", "5000"]).await;
    a.becomes(other, MessageStatus::Acknowledged).await;
    let length: i64 = b.redis().run(&["LLEN", "msg_in"]).await;
    assert_eq!(length, 5001);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_node_of_the_same_redis_sends_what_a_dead_one_had_in_hand() {
    let (one, two) = (NodeKey::random(), NodeKey::random());
    let b = Town::open(&two, Plan::new(0).trusting(&one)).await;
    let house = House::empty().await;
    let url = b.redis().url();
    let _: i64 = house.redis.run(&["HSET", "message:12:5", "message", "x", "address", &url, "timeout_ack", "600000000"]).await;
    let _: i64 = house.redis.run(&["LPUSH", "msg_out:sending:dead", "message:12:5"]).await;
    let _: i64 = house.redis.run(&["ZADD", "hero:meta:nodes", "1000", "dead"]).await;
    let now: Vec<String> = house.redis.run(&["TIME"]).await;
    let _: i64 = house.redis.run(&["HSET", "message:12:5", "created_at", &now[0]]).await;
    let a = Town::over(house, &one, Plan::new(0));
    a.becomes(MessageKey { caller_id: 12, message_id: 5 }, MessageStatus::Acknowledged).await;
    assert_eq!(b.came(1).await, ["message:12:5"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_of_one_key_have_a_hand_each_and_leave_it_when_they_end() {
    let key = NodeKey::random();
    let town = Town::open(&key, Plan::new(0)).await;
    let settings = MessageLoopSettings {
        key: key.clone(),
        nodes: Vec::new(),
        mycelium: None,
        authority: None,
        ack: Duration::from_secs(60),
        result: Duration::from_secs(60),
        kept: hero::coordinator::IDLE_CONNECTION_TIMEOUT,
    };
    let shutdown = CancellationToken::new();
    let other = MessageLoops::start(town.house.dispatcher.clone(), settings, Wakes::default(), shutdown.clone());
    other.serve(CONTEXT, &shutdown);
    let hands = until("both", || async { Some(town.hands().await).filter(|hands| hands.len() == 2) }).await;
    assert!(hands.iter().all(|hand| hand.starts_with(&format!("{}-", key.name()))), "{hands:?}");
    let sent = town.send(chat("x", "here")).await;
    town.becomes(sent, MessageStatus::Acknowledged).await;
    assert_eq!(town.came(1).await.len(), 1);
    shutdown.cancel();
    other.ended().await;
    let Town { house, _message_loops: message_loops, .. } = town;
    drop(message_loops);
    until("the next one may take it", || async {
        let left: Vec<String> = house.redis.run(&["ZRANGE", "hero:meta:nodes", "1", "+inf", "BYSCORE"]).await;
        left.is_empty().then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_goes_by_the_own_topic_of_a_runner_comes_where_that_is() {
    let other = ContextId(1);
    let town = Town::over(House::with_contexts(&[other]).await, &NodeKey::random(), Plan::new(0));
    let topic = |name: &str| Some(name.parse().unwrap());
    let change = RunnerChange { topic: topic("weather"), ..elsewhere("here", other) };
    let runner = town.runners.create(CONTEXT, &change).await.unwrap().runner_id;
    let draft = |name: &str| Draft { caller_id: 0, address: None, topic: topic(name), ..chat("x", "here") };
    town.becomes(town.send(draft("weather")).await, MessageStatus::Acknowledged).await;
    let came: Vec<String> = town.redis().run_in(1, &["LRANGE", "msg_in", "0", "-1"]).await;
    assert_eq!(came.len(), 1);
    // By its number it is found, too; by a name that it does not have any more it is not.
    town.becomes(town.send(draft(runner.group().as_str())).await, MessageStatus::Acknowledged).await;
    town.runners.update(CONTEXT, runner, &RunnerChange { topic: topic("news"), ..RunnerChange::default() }).await.unwrap();
    let refused = town.messages.send(CONTEXT, draft("weather")).await.unwrap_err().to_string();
    assert!(refused.contains("weather is that of none in context 0"), "{refused}");
    town.becomes(town.send(draft("news")).await, MessageStatus::Acknowledged).await;
    // What another program wrote nobody has looked at.
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs().to_string();
    let _: i64 = town.redis().run(&["HSET", "message:12:77", "message_type", "chat", "topic", "weather", "created_at", &now]).await;
    let _: i64 = town.redis().run(&["LPUSH", "msg_out", "message:12:77"]).await;
    let error = town.fails(MessageKey { caller_id: 12, message_id: 77 }).await;
    assert!(error.contains("no runner of context 0 has the topic weather"), "{error}");
}

#[tokio::test]
async fn what_goes_by_a_script_type_comes_to_the_runners_of_it_in_turn_and_each_to_one() {
    let contexts = [ContextId(1), ContextId(2), ContextId(3)];
    let town = Town::over(House::with_contexts(&contexts).await, &NodeKey::random(), Plan::new(0));
    let v = |target| RunnerChange { script_type: Some("v".parse().unwrap()), ..elsewhere("here", target) };
    for change in [elsewhere("here", contexts[0]), v(contexts[2]), elsewhere("here", contexts[1])] {
        town.runners.create(CONTEXT, &change).await.unwrap();
    }
    let came = async |context| -> i64 { town.redis().run_in(context, &["LLEN", "msg_in"]).await };
    let draft = |topic: &str| Draft { caller_id: 0, address: None, topic: Some(topic.parse().unwrap()), ..chat("x", "here") };
    for _ in 0..4 {
        town.becomes(town.send(draft("osis")).await, MessageStatus::Acknowledged).await;
    }
    assert_eq!([came(1).await, came(2).await, came(3).await], [2, 2, 0]);
    let refused = town.messages.send(CONTEXT, draft("python")).await.unwrap_err().to_string();
    assert!(refused.contains("python is that of none in context 0"), "{refused}");
    // What another program writes goes there, too, and nowhere else once one was chosen, although that is the turn of another.
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs().to_string();
    for (number, runner) in [("70", ""), ("71", ""), ("72", "3"), ("74", "3"), ("76", "9")] {
        let name = format!("message:0:{number}");
        let fields = ["message_type", "chat", "topic", "osis", "created_at", &now, "runner", runner];
        let _: i64 = town.redis().run(&[&["HSET", &name], &fields[..]].concat()).await;
        let _: i64 = town.redis().run(&["LPUSH", "msg_out", &name]).await;
    }
    for message_id in [70, 71, 72, 74] {
        town.becomes(MessageKey { caller_id: 0, message_id }, MessageStatus::Acknowledged).await;
    }
    assert_eq!([came(1).await, came(2).await, came(3).await], [3, 5, 0]);
    let gone = town.fails(MessageKey { caller_id: 0, message_id: 76 }).await;
    assert!(gone.contains("runner 9, which was chosen among those of type osis, no longer exists"), "{gone}");
    // A topic of one's own comes before the type of that name, and the others go on without a runner that is gone.
    let own = RunnerChange { topic: Some("osis".parse().unwrap()), ..v(contexts[2]) };
    let own = town.runners.create(CONTEXT, &own).await.unwrap().runner_id;
    town.becomes(town.send(draft("osis")).await, MessageStatus::Acknowledged).await;
    assert_eq!(came(3).await, 1);
    for id in [own, RunnerId(1)] {
        town.runners.delete(CONTEXT, id).await.unwrap();
    }
    for _ in 0..2 {
        town.becomes(town.send(draft("osis")).await, MessageStatus::Acknowledged).await;
    }
    assert_eq!([came(1).await, came(2).await, came(3).await], [3, 7, 1]);
}
