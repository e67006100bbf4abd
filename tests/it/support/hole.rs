use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hero::store::Endpoint;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinHandle;

use super::Redis;

/// A way to a Redis whose connections can be made to swallow everything, while new ones work.
pub struct Hole {
    directory: tempfile::TempDir,
    generation: Arc<AtomicU64>,
    relay: JoinHandle<()>,
}

impl Hole {
    pub fn before(redis: &Redis) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join("hole.sock")).unwrap();
        let (generation, socket) = (Arc::new(AtomicU64::new(0)), redis.socket());
        let now = generation.clone();
        let relay = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(redis) = UnixStream::connect(&socket).await else { continue };
                let ((from_client, to_client), (from_redis, to_redis)) = (client.into_split(), redis.into_split());
                tokio::spawn(carry(from_client, to_redis, now.clone()));
                tokio::spawn(carry(from_redis, to_client, now.clone()));
            }
        });
        Self { directory, generation, relay }
    }

    pub fn endpoint(&self) -> Endpoint {
        Endpoint { url: format!("unix://{}", self.directory.path().join("hole.sock").display()), ..Endpoint::default() }
    }

    /// From now on nothing comes out of the connections that there are, and none of them ends.
    pub fn swallow(&self) {
        self.generation.fetch_add(1, Ordering::SeqCst);
    }
}

async fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, now: Arc<AtomicU64>) {
    let (began, mut bytes) = (now.load(Ordering::SeqCst), vec![0; 65536]);
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        if now.load(Ordering::SeqCst) == began && to.write_all(&bytes[..read]).await.is_err() {
            return;
        }
    }
    if now.load(Ordering::SeqCst) != began {
        // Nor does the other side see an end.
        std::future::pending::<()>().await;
    }
}

impl Drop for Hole {
    fn drop(&mut self) {
        self.relay.abort();
    }
}
