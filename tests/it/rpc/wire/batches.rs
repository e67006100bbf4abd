//! Batches with some answers ready while other calls wait: the memory of these answers is bounded, and other calls do
//! not wait for it.

use super::readers::MB;
use super::*;

const KB: usize = 1024;

/// A server that gives an address 4 MB, and answers 8 MB at most.
async fn narrow() -> Server {
    Server::with(|settings| {
        settings.limits.held_per_address = 4 * MB as u64;
        settings.limits.response_bytes = 8 * MB as u32;
    })
    .await
}

/// A batch with a call that waits, and answers of this number of bytes.
fn batch(id: u32, answers: &[usize]) -> String {
    let wait = [call(id, "hold_long", json!([]))];
    let large = answers.iter().enumerate().map(|(at, bytes)| call(id + 1 + u32::try_from(at).unwrap(), "large", json!([bytes])));
    format!("[{}]", wait.into_iter().chain(large).collect::<Vec<_>>().join(","))
}

#[tokio::test]
async fn a_batch_ends_when_its_parts_are_too_large_and_not_when_its_first_is_there() {
    let server = Server::with(|settings| settings.limits.response_bytes = MB as u32).await;
    let mut socket = server.websocket().await;
    for id in [1, 10, 20] {
        let answer = ask(&mut socket, batch(id, &[400 * KB; 3])).await;
        assert_eq!(answer["error"]["code"], -32011, "{answer}");
    }
    until(|| server.bench.dropped.load(Ordering::SeqCst) == 3).await;
    assert_alive(&mut socket).await;
}

#[tokio::test]
async fn memory_of_an_ended_batch_is_freed() {
    let server = Server::with(|settings| {
        settings.limits.held_per_connection = 3 * MB as u64;
        settings.limits.response_bytes = MB as u32;
    })
    .await;
    let mut socket = server.websocket().await;
    for id in (1..100).step_by(10) {
        let answer = ask(&mut socket, batch(id, &[600 * KB; 2])).await;
        assert_eq!(answer["error"]["code"], -32011, "{answer}");
    }
    let large = ask(&mut socket, call(1, "large", json!([900 * KB]))).await;
    assert_eq!(large["result"].as_str().map(str::len), Some(900 * KB));
}

#[tokio::test]
async fn batches_that_wait_leave_room_for_the_calls_of_others() {
    let server = narrow().await;
    let mut hogs = Vec::new();
    for _ in 0..8 {
        let mut hog = server.websocket().await;
        send(&mut hog, batch(1, &[900 * KB])).await;
        hogs.push(hog);
    }
    until(|| server.bench.held.load(Ordering::SeqCst) == 8).await;
    // Enough parts are made, as many as are while there is room for them.
    until(|| server.bench.made.load(Ordering::SeqCst) >= 2).await;
    let mut other = server.websocket().await;
    for id in 0..8 {
        let large = ask(&mut other, call(id, "large", json!([900 * KB]))).await;
        assert_eq!(large["result"].as_str().map(str::len), Some(900 * KB), "{large}");
    }
    assert_alive(&mut other).await;
    assert!(server.bench.made.load(Ordering::SeqCst) < 8 + 8, "some parts wait");
    // Those that wait are made when others are sent.
    server.bench.release.notify_waiters();
    for mut hog in hogs {
        let answer = receive(&mut hog).await;
        assert_eq!(answer[1]["result"].as_str().map(str::len), Some(900 * KB), "{answer}");
    }
}

#[tokio::test]
async fn parts_that_find_no_room_are_refused_and_the_rest_of_their_batch_is_not() {
    let server = Server::with(|settings| {
        settings.limits.held_per_address = 4 * MB as u64;
        settings.limits.handler_timeout = Duration::from_millis(300).into();
    })
    .await;
    let (mut hog, mut late) = (server.websocket().await, server.websocket().await);
    send(&mut hog, batch(1, &[2100 * KB])).await;
    until(|| server.bench.made.load(Ordering::SeqCst) == 1).await;
    let answer = ask(&mut late, format!("[{},{}]", call(1, "get_data", json!([])), call(2, "large", json!([10])))).await;
    assert_eq!((&answer[0]["result"][0], &answer[1]["error"]["code"]), (&json!("hello"), &json!(1006)), "{answer}");
    server.bench.release.notify_waiters();
    assert_eq!(receive(&mut hog).await[0]["result"], "held");
}

#[tokio::test]
async fn small_answers_do_not_wait_for_a_full_address_whose_room_others_hold() {
    let server = Server::with(|settings| settings.limits.held_per_address = MB as u64).await;
    let mut hog = server.websocket().await;
    // It is not stuck, because nothing is ready for it; so it cannot be made to make way.
    send(&mut hog, batch(1, &[1500 * KB])).await;
    until(|| server.bench.made.load(Ordering::SeqCst) == 1).await;
    let mut other = server.websocket().await;
    for _ in 0..50 {
        assert_alive(&mut other).await;
    }
    server.bench.release.notify_waiters();
    assert_eq!(receive(&mut hog).await[0]["result"], "held");
}

#[tokio::test]
async fn parts_of_a_batch_do_not_make_a_slow_reader() {
    let server = Server::with(|settings| {
        settings.limits.held_per_connection = 8 * MB as u64;
        settings.limits.send_timeout = Duration::from_millis(200).into();
    })
    .await;
    let mut socket = server.websocket().await;
    send(&mut socket, batch(1, &[MB])).await;
    until(|| server.bench.made.load(Ordering::SeqCst) == 1).await;
    send(&mut socket, call(20, "subscribe_count", json!([3, 10]))).await;
    assert!(receive(&mut socket).await["result"].is_string());
    for number in 1..=3 {
        let item = receive(&mut socket).await;
        assert_eq!(item["params"]["result"]["number"], number, "{item}");
    }
    server.bench.release.notify_waiters();
}
