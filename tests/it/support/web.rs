use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::AbortOnDropHandle;

/// A local HTTP server with a special behavior for each path.
pub struct Web {
    pub address: SocketAddr,
    /// The number of requests that have arrived.
    requests: Arc<AtomicUsize>,
    _accepting: AbortOnDropHandle<()>,
}

impl Web {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, requests) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
        let counted = requests.clone();
        let accepting = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let counted = counted.clone();
                // A client that disconnects is no error here.
                tokio::spawn(async move { drop(serve(socket, &counted).await) });
            }
        });
        Self { address, requests, _accepting: AbortOnDropHandle::new(accepting) }
    }

    /// The URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }
}

async fn serve(socket: TcpStream, counted: &AtomicUsize) -> std::io::Result<()> {
    let mut socket = BufReader::new(socket);
    let (mut head, mut length) = (String::new(), 0);
    while socket.read_line(&mut head).await? > 2 {
        let last = head.lines().next_back().unwrap_or_default().to_lowercase();
        length = last.strip_prefix("content-length: ").map_or(length, |length| length.parse().unwrap());
    }
    counted.fetch_add(1, Ordering::Relaxed);
    let mut body = vec![0; length];
    socket.read_exact(&mut body).await?;
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let answer = |status: &str, more: &str, text: &[u8]| {
        let head = format!("HTTP/1.1 {status}\r\n{more}content-length: {}\r\nconnection: close\r\n\r\n", text.len());
        [head.as_bytes(), text].concat()
    };
    let bytes = match path.split_once('?').unwrap_or((&path, "")) {
        ("/greeting", _) => answer("200 OK", "", b"hello"),
        ("/head", _) => answer("200 OK", "", head.as_bytes()),
        ("/echo", _) => answer("200 OK", "", &body),
        ("/large", _) => answer("200 OK", "", &vec![b'x'; 300 << 10]),
        ("/bytes", _) => answer("200 OK", "", &[0xff, 0xfe]),
        ("/redirect", to) => answer("302 Found", &format!("location: {to}\r\n"), b""),
        ("/again", to) => answer("307 Temporary Redirect", &format!("location: {to}\r\n"), b""),
        ("/silent", _) => return std::future::pending().await,
        ("/endless", _) => {
            socket.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n").await?;
            loop {
                socket.write_all(b"x").await?;
                tokio::task::yield_now().await;
            }
        }
        ("/drip", _) => {
            socket.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nx").await?;
            return std::future::pending().await;
        }
        _ => answer("404 Not Found", "", b"nothing here"),
    };
    socket.write_all(&bytes).await?;
    socket.shutdown().await
}
