use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::address::{Address, HEARTBEAT_INTERVAL};
use super::trust::Trust;

/// Maximum number of bytes of an answer that are read.
const MAX_ANSWER_BYTES: u64 = 16 << 10;

/// Asks the server at `url` by HTTP whether it is ready, and returns its reasons if it is not. Returns `None` if it
/// does not tell within `limit`.
///
/// A server whose Redis is away answers this while calls wait.
pub async fn readiness(url: &str, trust: Trust, limit: Duration) -> Option<Result<(), String>> {
    let ask = async {
        let address = Address::new(url, None, trust, HEARTBEAT_INTERVAL, limit).ok()?;
        let path = address.path_of("readyz");
        let (mut stream, _) = address.stream(url).await.ok()?;
        let request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", address.host());
        stream.write_all(request.as_bytes()).await.ok()?;
        let mut answer = Vec::new();
        stream.take(MAX_ANSWER_BYTES).read_to_end(&mut answer).await.ok()?;
        read(&String::from_utf8_lossy(&answer))
    };
    tokio::time::timeout(limit, ask).await.ok()?
}

fn read(answer: &str) -> Option<Result<(), String>> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    match head.split(' ').nth(1)? {
        "200" if body.starts_with("ready") => Some(Ok(())),
        "503" if !body.trim().is_empty() => Some(Err(body.trim().lines().collect::<Vec<_>>().join("; "))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_answer_of_a_server_is_one() {
        assert_eq!(read("HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nready\n"), Some(Ok(())));
        assert_eq!(read("HTTP/1.1 503 x\r\na: b\r\n\r\nno Redis\nno actor\n"), Some(Err("no Redis; no actor".to_owned())));
        for other in ["", "x", "HTTP/1.1 404 x\r\n\r\nnothing here", "HTTP/1.1 200 OK\r\n\r\n<html>", "HTTP/1.1 503 x\r\n\r\n"] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
