//! The memory that a server uses for requests in progress.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::{PATIENCE, Process};

/// The number of concurrent requests: together they are below the budget of one address.
const CONCURRENT_REQUESTS: usize = 4;
/// The largest request is 2 MB.
const LARGE_REQUEST_BYTES: usize = 2_000_000;
/// How much more memory the server may need for all of them: six times their bytes, and what an allocator keeps. As trees they would take 250 MB.
const MAX_GROWTH_BYTES: u64 = 140 << 20;

/// A line of a process's status, in bytes.
fn memory(server: &Process, line: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let kilobytes =
        status.lines().find_map(|entry| entry.strip_prefix(line)?.strip_prefix(':')?.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kilobytes.unwrap() << 10
}

async fn post(server: &Process, body: &str) -> String {
    let address = server.url().strip_prefix("ws://").unwrap().to_owned();
    let asking = async {
        let mut tcp = TcpStream::connect(&address).await.unwrap();
        let head = format!(
            "POST / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        tcp.write_all(head.as_bytes()).await.unwrap();
        tcp.write_all(body.as_bytes()).await.unwrap();
        let mut answer = String::new();
        tcp.read_to_string(&mut answer).await.unwrap();
        answer
    };
    // Reading 2 MB of parameters takes a debug build seconds, and several are read beside other tests.
    tokio::time::timeout(PATIENCE * 4, asking).await.expect("an answer")
}

fn call(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
}

/// As many of these as a large request has.
fn many(entry: impl Fn(usize) -> String) -> String {
    let mut text = String::new();
    for number in 0.. {
        let entry = entry(number);
        if text.len() + entry.len() >= LARGE_REQUEST_BYTES {
            break;
        }
        text.push_str(&entry);
        text.push(',');
    }
    text.pop();
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn large_requests_take_few_times_their_bytes_whatever_is_in_them() {
    let home = tempfile::tempdir().unwrap();
    let server = Process::serve(&home.path().join("data"), &["--pool", "none"]).await;
    let ones = many(|_| "1".into());
    let names = many(|number| format!(r#""{number:x}":1"#));
    let variables: Vec<String> = (0..240).map(|number| format!(r#""{number:x}":"""#)).collect();
    let full = format!(r#"{{"script":"","env_vars":{{{}}}}}"#, variables.join(","));
    for (what, body, answer) in [
        ("an array by name", call("create_job", &format!(r#"{{"script":"1","args":[{ones}]}}"#)), r#""result":"#),
        ("an array by position", call("create_job", &format!(r#"["1","osis",[{ones}]]"#)), r#""result":"#),
        ("an object", call("create_job", &format!(r#"{{"script":"1","args":{{{names}}}}}"#)), r#""result":"#),
        ("small jobs", call("create_jobs", &format!(r#"[[{}]]"#, many(|_| r#"{"script":""}"#.into()))), "-32602"),
        ("full jobs", call("create_jobs", &format!("[[{}]]", vec![full; 980].join(","))), r#""id":1"#),
        ("parameters", call("create_job", &format!("[{ones}]")), "-32602"),
        ("a batch", format!("[{ones}]"), "-32010"),
    ] {
        // The highest so far begins anew.
        std::fs::write(format!("/proc/{}/clear_refs", server.pid()), "5").unwrap();
        let before = memory(&server, "VmRSS");
        let answers = futures_util::future::join_all((0..CONCURRENT_REQUESTS).map(|_| post(&server, &body))).await;
        // Where everything is slow, Redis may not take so much in the time that a call has. What it costs is the same.
        let as_expected = |text: &String| text.contains(answer) || text.contains(r#""code":1009"#);
        let other = answers.iter().find(|text| !as_expected(text));
        assert_eq!(other, None, "{what}");
        let more = memory(&server, "VmHWM").saturating_sub(before);
        assert!(more < MAX_GROWTH_BYTES, "{what}: {} MB of requests took {} MB", (CONCURRENT_REQUESTS * body.len()) >> 20, more >> 20);
    }
    server.stop().await;
}
