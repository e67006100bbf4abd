//! The documents that a server shows.

use std::collections::BTreeMap;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::*;
use crate::support::PATIENCE;

/// An answer: status, head by names in lower case, body.
struct Answer {
    status: u16,
    head: BTreeMap<String, String>,
    body: String,
}

async fn ask(server: &Server, request: &str) -> Answer {
    let mut tcp = TcpStream::connect(server.address).await.unwrap();
    tcp.write_all(format!("{request}\r\nconnection: close\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = String::new();
    tokio::time::timeout(PATIENCE, tcp.read_to_string(&mut answer)).await.expect("an answer").unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let fields = head.lines().skip(1).filter_map(|line| line.split_once(": "));
    let head_fields = fields.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
    Answer { status: head[9..12].parse().unwrap(), head: head_fields, body: body.to_owned() }
}

async fn get(server: &Server, path: &str) -> Answer {
    ask(server, &format!("GET {path} HTTP/1.1\r\nhost: localhost")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_documents_are_shown_to_whoever_has_not_logged_in() {
    let house = House::empty().await;
    let (server, _) = Server::guarded(&house.dispatcher).await;
    for (path, media_type, part) in [
        ("/docs/", "text/html; charset=utf-8", "<h1>hero</h1>"),
        ("/docs/methods/jobs.html", "text/html; charset=utf-8", "<h2 id=\"run_and_wait\">"),
        ("/docs/site.css", "text/css; charset=utf-8", "prefers-color-scheme"),
        ("/docs/search.js", "text/javascript; charset=utf-8", "search-index.js"),
        ("/docs/search-index.js", "text/javascript; charset=utf-8", "globalThis.heroIndex"),
        ("/docs/speed/queue.svg", "image/svg+xml", "<svg"),
    ] {
        let answer = get(&server, path).await;
        assert_eq!((answer.status, answer.head["content-type"].as_str()), (200, media_type), "{path}");
        assert!(answer.body.contains(part), "{path}: {}", answer.body);
        let policy = &answer.head["content-security-policy"];
        assert!(
            policy.contains("default-src 'none'") && policy.contains("unsafe") == path.ends_with(".svg") && !policy.contains("http"),
            "{policy}"
        );
        assert_eq!((answer.head["cache-control"].as_str(), answer.head["x-content-type-options"].as_str()), ("no-cache", "nosniff"));
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_paths_of_a_document_redirect_to_its_page() {
    let (house, server, _client) = open(0).await;
    for (path, to) in [
        ("/docs", "/docs/"),
        ("/docs/flows", "/docs/flows.html"),
        ("/docs/flows.md", "/docs/flows.html"),
        ("/docs/methods/jobs", "/docs/methods/jobs.html"),
        ("/docs/openrpc.json", "/openrpc.json"),
    ] {
        let answer = get(&server, path).await;
        assert_eq!((answer.status, answer.head["location"].as_str()), (308, to), "{path}");
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_has_not_changed_is_not_sent_again_and_head_sends_none() {
    let (house, server, _client) = open(0).await;
    let whole = get(&server, "/docs/flows.html").await;
    let tag = &whole.head["etag"];
    for known in [tag.clone(), format!("\"x\", {}", tag.trim_start_matches("W/")), "*".into()] {
        let again = ask(&server, &format!("GET /docs/flows.html HTTP/1.1\r\nhost: localhost\r\nif-none-match: {known}")).await;
        assert_eq!((again.status, again.body.as_str(), &again.head["etag"]), (304, "", tag), "{known}");
    }
    let other = ask(&server, "GET /docs/flows.html HTTP/1.1\r\nhost: localhost\r\nif-none-match: \"x\"").await;
    assert_eq!((other.status, other.body.len()), (200, whole.body.len()));
    let head = ask(&server, "HEAD /docs/flows.html HTTP/1.1\r\nhost: localhost").await;
    assert_eq!((head.status, head.body.as_str(), &head.head["etag"]), (200, "", tag));
    assert_eq!(head.head["content-length"], whole.body.len().to_string());
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_for_a_page_that_is_not_there_is_told_which_may_be_meant() {
    let (house, server, _client) = open(0).await;
    let answer = get(&server, "/docs/methods/job.html").await;
    assert_eq!(answer.status, 404);
    assert!(
        answer.body.contains("href=\"/docs/methods/jobs.html\"") && answer.body.contains("href=\"/docs/index.html\""),
        "{}",
        answer.body
    );
    let answer = get(&server, "/docs/%3Cscript%3E/..%2f..%2fetc/passwd").await;
    assert!(answer.status == 404 && answer.body.contains("&lt;script&gt;") && !answer.body.contains("<script>"), "{}", answer.body);
    assert_eq!(ask(&server, "POST /docs/ HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0").await.status, 405);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_documents_are_under_the_rules_of_hosts_and_origins() {
    let (house, server, _client) = open(0).await;
    for (more, status) in [
        ("host: evil.example", 403),
        ("host: localhost\r\norigin: https://evil.example", 403),
        ("host: localhost\r\norigin: http://localhost:3000", 200),
    ] {
        assert_eq!(ask(&server, &format!("GET /docs/ HTTP/1.1\r\n{more}")).await.status, status, "{more}");
    }
    house.close().await;
}
