//! Logs with many followers, and pages of logs that are limited by bytes.

use std::fs;

use futures_util::StreamExt as _;
use hero::dispatch::{Dispatcher, Error, Followed};
use hero::model::{JobId, LogLevel, LogLine};

use super::cost::quiet;
use super::*;
use crate::support::{CONTEXT, Redis};

const MB: usize = 1024 * 1024;

/// Makes a job that ended, as a foreign actor leaves it.
async fn ended(redis: &Redis, more: &[&str]) -> JobId {
    let id = JobId::random();
    let key = format!("hero:job:{id}");
    let _: i64 = redis.run(&[&["HSET", &key, "id", id.as_str(), "status", "finished", "output", "1"], more].concat()).await;
    id
}

/// Makes a job that ended and had logged these lines.
async fn logged(redis: &Redis, dispatcher: &Dispatcher, texts: &[String]) -> JobId {
    let id = ended(redis, &["actor", "x"]).await;
    for lines in texts.chunks(50) {
        let lines: Vec<_> = lines.iter().map(|text| (LogLevel::Info, text.clone())).collect();
        dispatcher.contexts().opened(CONTEXT).unwrap().jobs().append_log(&id, &lines).await.unwrap();
    }
    id
}

/// A line of this length that tells its place.
fn text(place: usize, length: usize) -> String {
    format!("{place} {}", "x".repeat(length))
}

fn line(item: Option<Result<Followed<LogLine>, Error>>) -> String {
    match item.expect("a line").unwrap() {
        Followed::Item(line) => line.text,
        lagged @ Followed::Lagged { .. } => panic!("{lagged:?}"),
    }
}

/// A number that Redis tells of itself.
async fn info(redis: &Redis, section: &str, name: &str) -> usize {
    let info: String = redis.run(&["INFO", section]).await;
    info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')?.trim().parse().ok()).unwrap()
}

/// Reads a log by pages as long as may be, of which each is at most so long: its lines, and how many pages had some.
async fn paged(client: &Client, id: &JobId, longest: usize) -> (Vec<String>, usize) {
    let (mut all, mut cursor, mut pages) = (Vec::new(), Value::Null, 0);
    loop {
        let params = if cursor.is_null() { json!([id, null, 1000]) } else { json!([id, cursor, 1000]) };
        let page = client.ok("get_logs", params).await;
        let lines: Vec<String> = page["lines"].as_array().unwrap().iter().map(|line| line["text"].as_str().unwrap().to_owned()).collect();
        let size: usize = lines.iter().map(String::len).sum();
        assert!(size <= longest, "a page of {size} bytes");
        pages += usize::from(size > 0);
        all.extend(lines);
        if page["ended"] == true {
            return (all, pages);
        }
        cursor = page["next_cursor"].clone();
    }
}

async fn followed(client: &Client, id: &JobId) -> Vec<String> {
    let mut items = client.subscribe("subscribe_logs", json!([id])).await.unwrap();
    items.rest().await.iter().map(|line| line["text"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn followers_that_take_nothing_have_little_of_a_log_read() {
    const FOLLOWERS: usize = 400;
    let (redis, dispatcher, _server, _client) = quiet().await;
    let texts: Vec<String> = (0..480).map(|place| text(place, 2000)).collect();
    let id = logged(&redis, &dispatcher, &texts).await;
    let mut all = Vec::new();
    for _ in 0..FOLLOWERS {
        all.push(dispatcher.logs().follow(CONTEXT, &id, None).await.unwrap().boxed());
    }
    assert_eq!(redis.calls("xrange").await, 0, "nobody has asked for a line");
    let _: () = redis.run(&["CONFIG", "RESETSTAT"]).await;
    for first in futures_util::future::join_all(all.iter_mut().map(|lines| lines.next())).await {
        assert_eq!(line(first), texts[0]);
    }
    // Each had the whole log, which is nearly a megabyte.
    let (read, calls) = (info(&redis, "stats", "total_net_output_bytes").await, redis.calls("xrange").await);
    assert!(read < 24 * MB && calls <= 8 * FOLLOWERS as u64, "{read} bytes by {calls} calls");
    let waited = info(&redis, "clients", "client_recent_max_output_buffer").await;
    assert!(waited < 2 * MB, "{waited} bytes waited in Redis");
    // What was read is taken before more is; and who reads on has each line once, although others hold what they do not take.
    let before = redis.calls("fcall").await;
    for text in &texts[1..10] {
        assert_eq!(line(all[0].next().await), *text);
    }
    assert_eq!(redis.calls("fcall").await, before);
    for (reader, seen) in [(0, 10), (FOLLOWERS - 1, 1)] {
        let lines = &mut all[reader];
        for text in &texts[seen..] {
            assert_eq!(line(lines.next().await), *text);
        }
        assert!(lines.next().await.is_none());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_whose_pages_end_by_bytes_has_each_line_once() {
    let (redis, dispatcher, _server, client) = quiet().await;
    let texts: Vec<String> = (0..300).map(|place| text(place, place * 7919 % 50_000)).chain([text(300, 250_000), text(301, 0)]).collect();
    let id = logged(&redis, &dispatcher, &texts).await;
    // One line is longer than a page of who follows, and is one alone there.
    let (lines, pages) = paged(&client, &id, 2 * MB + 100).await;
    assert!(lines == texts && pages > 6, "{} lines in {pages} pages", lines.len());
    assert!(followed(&client, &id).await == texts);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_file_whose_pages_end_by_bytes_has_each_line_once() {
    let (redis, _dispatcher, _server, client) = quiet().await;
    let texts: Vec<String> = (0..300).map(|place| text(place, place * 7919 % 60_000)).collect();
    let logs = redis.directory().join("logs");
    fs::create_dir_all(&logs).unwrap();
    fs::write(logs.join("x.log"), texts.join("\n") + "\n").unwrap();
    let id = ended(&redis, &["log_path", "x.log"]).await;
    let (lines, pages) = paged(&client, &id, MB).await;
    assert!(lines == texts && pages > 6, "{} lines in {pages} pages", lines.len());
    assert!(followed(&client, &id).await == texts);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_of_a_log_file_is_read_than_a_page_before_it_is_taken() {
    let (redis, dispatcher, _server, _client) = quiet().await;
    let logs = redis.directory().join("logs");
    fs::create_dir_all(&logs).unwrap();
    let write = |letter: &str| fs::write(logs.join("x.log"), format!("{}\n", letter.repeat(30_000)).repeat(100)).unwrap();
    write("a");
    let id = ended(&redis, &["log_path", "x.log"]).await;
    let mut lines = dispatcher.logs().follow(CONTEXT, &id, None).await.unwrap().boxed();
    assert!(line(lines.next().await).starts_with('a'));
    write("b");
    let rest: Vec<String> = lines.map(|item| line(Some(item))).collect().await;
    // Two lines are a page, of which the second was read with the first.
    assert_eq!(rest.iter().map(|line| &line[..1]).collect::<String>(), format!("a{}", "b".repeat(98)));
}
