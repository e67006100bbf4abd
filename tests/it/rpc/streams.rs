//! Subscriptions over plain HTTP, as server-sent events.

use hero::model::Seconds;
use hero::rpc::Limits;
use rand::Rng as _;

use super::*;
use crate::support::{PATIENCE, Stream};

impl Server {
    async fn stream(&self, path: &str, headers: &str) -> Stream {
        Stream::open(&self.address.to_string(), path, headers).await
    }
}

fn last(cursor: &str) -> String {
    format!("last-event-id: {cursor}\r\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_is_followed_by_pieces_of_which_each_begins_behind_the_last_event_of_the_one_before() {
    let (_house, server, client) = open(1).await;
    let id = start(&client, json!({"script": "for i in 0..500 { print(`line ${i}`); }"})).await;
    let path = format!("/subscribe_logs?job_id={}", id.as_str().unwrap());
    let mut random = crate::support::random();
    let (mut seen, mut cursor, mut pieces) = (Vec::new(), String::new(), 0);
    'pieces: loop {
        let mut stream = server.stream(&path, &last(&cursor)).await;
        assert_eq!(stream.status, 200, "{}", stream.head);
        assert!(stream.head.contains("content-type: text/event-stream") && !stream.head.contains("content-encoding"), "{}", stream.head);
        pieces += 1;
        for _ in 0..random.random_range(1..100) {
            let event = stream.event().await.expect("an event");
            cursor = event.id.expect("each has an id");
            if event.name.as_deref() == Some("ended") {
                assert_eq!(event.data, json!({"type": "ended"}));
                assert_eq!(stream.event().await, None, "nothing follows");
                break 'pieces;
            }
            assert_eq!((event.name, &event.data["cursor"]), (None, &json!(cursor)), "it is a message to pages");
            seen.push(event.data["text"].as_str().unwrap().to_owned());
        }
    }
    assert!(pieces > 3, "{pieces}");
    assert_eq!(seen, (0..500).map(|line| format!("line {line}")).collect::<Vec<_>>());
    // A browser comes back by itself, and stays away when it is told that there is no more.
    assert_eq!(server.stream(&path, &last(&cursor)).await.status, 204);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_leaves_before_the_first_change_goes_on_from_where_it_began() {
    let (_house, server, client) = open(1).await;
    client.ok("run_and_wait", json!(["1"])).await;
    let mut stream = server.stream("/subscribe_events?filter=%7B%22status%22%3A%22finished%22%7D", "").await;
    let began = stream.event().await.unwrap();
    assert_eq!((began.name.as_deref(), &began.data["type"], &began.data["cursor"]), (Some("began"), &json!("began"), &json!(began.id)));
    drop(stream);
    let jobs = [client.ok("run_and_wait", json!(["2"])).await, client.ok("run_and_wait", json!(["3"])).await];
    let mut stream = server.stream("/subscribe_events?filter=%7B%22status%22%3A%22finished%22%7D", &last(&began.id.unwrap())).await;
    for job in jobs {
        assert_eq!(stream.event().await.unwrap().data["job_id"], job["job_id"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_and_a_flow_are_followed_to_their_end() {
    let (_house, server, client) = open(1).await;
    let job = client.ok("run_and_wait", json!(["1"])).await["job_id"].clone();
    let mut stream = server.stream(&format!("/subscribe_job?job_id={}&context_id=0", job.as_str().unwrap()), "").await;
    let events = stream.events().await;
    assert_eq!(events.iter().map(|event| event.data["type"].as_str().unwrap()).collect::<Vec<_>>(), ["event", "ended"]);
    let flow = client.ok("create_flow", json!({"jobs": {"a": {"script": "1"}}})).await;
    let mut stream = server.stream(&format!("/subscribe_flow?flow_id={flow}"), "").await;
    assert_eq!(stream.event().await.unwrap().data["status"], "dispatched");
    client.ok("start_flow", json!([flow])).await;
    let events = stream.events().await;
    assert_eq!(events.last().unwrap().data, json!({"type": "ended"}));
    assert!(events.iter().any(|event| event.data["job_status"] == "finished"), "{events:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_followed_is_refused_with_the_error_and_a_status_that_says_the_same() {
    let (_house, server, _client) = open(0).await;
    for (path, headers, status, said) in [
        (format!("/subscribe_job?job_id={NOBODY}"), "", 404, "1001"),
        ("/subscribe_job".into(), "", 400, "parameter `job_id` is missing"),
        ("/subscribe_job?id=5".into(), "", 400, "unknown parameter `id`"),
        ("/subscribe_job?job_id=1234".into(), "", 400, "is not a UUID"),
        ("/subscribe_events?context_id=0&context_id=1".into(), "", 400, "parameter `context_id` is given twice"),
        ("/subscribe_events?cursor=1&cursor=1".into(), "", 400, "parameter `cursor` is given twice"),
        (
            r#"/subscribe_events?filter={%22status%22:%22error%22,%22status%22:%22error%22}"#.into(),
            "",
            400,
            "`filter.status` is given twice",
        ),
        ("/subscribe_events?cursor=5".into(), "", 400, "use the cursor of an event"),
        ("/subscribe_events?context_id=77".into(), "", 404, "1011"),
        ("/subscribe_events".into(), "origin: https://evil.example\r\n", 403, "Origin"),
        ("/subscribe_events".into(), "sec-fetch-mode: no-cors\r\n", 403, "EventSource"),
        ("/subscribe_events".into(), "sec-fetch-mode: navigate\r\nsec-fetch-site: cross-site\r\n", 403, "EventSource"),
        ("/unsubscribe_events".into(), "", 404, ""),
        ("/run_and_wait?script=1".into(), "", 404, ""),
    ] {
        let mut tcp = server.stream(&path, &format!("{headers}connection: close\r\n")).await;
        let body = tcp.remainder().await;
        assert!(tcp.status == status && body.contains(said), "{path} {headers}: {} {body}", tcp.status);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_are_counted_as_subscriptions_and_make_room_when_they_end() {
    let house = House::empty().await;
    let server = Server::within(&house.dispatcher, Limits { subscriptions_per_address: 1, ..Limits::default() }).await;
    let first = server.stream("/subscribe_events", "").await;
    assert_eq!(first.status, 200);
    assert_eq!(server.stream("/subscribe_events", "").await.status, 429);
    drop(first);
    until("there is room", || async { (server.stream("/subscribe_events", "").await.status == 200).then_some(()) }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_without_events_says_that_it_lives_and_is_no_idle_connection() {
    let house = House::empty().await;
    let limits = Limits { ping_interval: Seconds::new(0.1).unwrap(), idle_timeout: Seconds::new(0.2).unwrap(), ..Limits::default() };
    let server = Server::within(&house.dispatcher, limits).await;
    let mut stream = server.stream("/subscribe_events?cursor=0-0", "").await;
    for _ in 0..10 {
        assert_eq!(stream.block().await.expect("it goes on"), ":");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_is_told_that_the_server_stops_and_goes_on_at_the_next_one() {
    let (house, server, _client) = open(1).await;
    let mut stream = server.stream("/subscribe_events?filter=%7B%22status%22%3A%22finished%22%7D", "").await;
    let began = stream.event().await.unwrap();
    drop(server);
    let events = tokio::time::timeout(PATIENCE, stream.events()).await.expect("it ends");
    let [stopping] = &events[..] else { panic!("{events:?}") };
    assert_eq!((stopping.name.as_deref(), &stopping.data["type"]), (Some("stopping"), &json!("stopping")));
    assert!(stopping.data["reason"].as_str().unwrap().contains("come back"), "{}", stopping.data);
    // The last id that a client has is still that of an item.
    assert_eq!(stopping.id, None);
    let next = Server::of(&house).await;
    let job = next.connect().await.ok("run_and_wait", json!(["1"])).await;
    let mut stream = next.stream("/subscribe_events?filter=%7B%22status%22%3A%22finished%22%7D", &last(&began.id.unwrap())).await;
    assert_eq!(stream.event().await.unwrap().data["job_id"], job["job_id"]);
}
