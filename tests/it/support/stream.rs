use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

use super::PATIENCE;

/// A response of a server whose body is read as it arrives. Dropping it closes the connection.
pub struct Stream {
    tcp: BufReader<TcpStream>,
    pub status: u16,
    /// The headers, in lower case.
    pub head: String,
    /// The bytes that arrived and were not consumed.
    rest: String,
}

/// A server-sent event.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Event {
    pub id: Option<String>,
    pub name: Option<String>,
    pub data: serde_json::Value,
}

impl Stream {
    /// Requests a path with these headers, each of which ends its line.
    pub async fn open(address: &str, path: &str, headers: &str) -> Self {
        let mut tcp = BufReader::new(TcpStream::connect(address).await.unwrap());
        let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\naccept-encoding: gzip\r\n{headers}\r\n");
        tcp.write_all(request.as_bytes()).await.unwrap();
        let mut head = String::new();
        let reading = async {
            while !head.ends_with("\r\n\r\n") {
                assert!(tcp.read_line(&mut head).await.unwrap() > 0, "the connection closed: {head}");
            }
        };
        tokio::time::timeout(PATIENCE, reading).await.expect("an answer");
        Self { tcp, status: head[9..12].parse().unwrap(), head: head.to_lowercase(), rest: String::new() }
    }

    /// Returns the rest of the data until the connection closes.
    pub async fn remainder(&mut self) -> String {
        let mut rest = Vec::new();
        tokio::time::timeout(PATIENCE, self.tcp.read_to_end(&mut rest)).await.expect("the connection is closed").unwrap();
        String::from_utf8_lossy(&rest).into_owned()
    }

    /// Returns a chunk of a chunked body, or none at its end.
    async fn chunk(&mut self) -> Option<String> {
        let reading = async {
            let mut length = String::new();
            self.tcp.read_line(&mut length).await.unwrap();
            // A server that ends abruptly may not send the last chunk.
            let length = usize::from_str_radix(length.trim(), 16).unwrap_or_default();
            let mut part = vec![0; length + 2];
            if length == 0 || self.tcp.read_exact(&mut part).await.is_err() {
                return None;
            }
            part.truncate(length);
            Some(String::from_utf8(part).unwrap())
        };
        tokio::time::timeout(PATIENCE, reading).await.expect("more in time")
    }

    /// Returns the text up to the next empty line: an event or a comment. None at the end.
    pub async fn block(&mut self) -> Option<String> {
        loop {
            if let Some((block, rest)) = self.rest.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.rest = rest;
                return Some(block);
            }
            let part = self.chunk().await?;
            self.rest.push_str(&part);
        }
    }

    /// Returns the next event. None at the end.
    pub async fn event(&mut self) -> Option<Event> {
        loop {
            let block = self.block().await?;
            let mut event = Event::default();
            for (field, value) in block.lines().filter_map(|line| line.split_once(": ")) {
                match field {
                    "id" => event.id = Some(value.to_owned()),
                    "event" => event.name = Some(value.to_owned()),
                    _ => event.data = serde_json::from_str(value).unwrap(),
                }
            }
            if event != Event::default() {
                return Some(event);
            }
        }
    }

    /// Returns all events up to the end.
    pub async fn events(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(event) = self.event().await {
            events.push(event);
        }
        events
    }
}
