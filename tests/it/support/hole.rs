use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use hero::store::Endpoint;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinHandle;

use super::Redis;

/// A proxy to a Redis. Its connections can be made to swallow everything, while new ones work, or one can break before
/// an answer.
pub struct Hole {
    directory: tempfile::TempDir,
    generation: Arc<AtomicU64>,
    /// Bytes that mark the call whose answer is to be lost.
    mark: Arc<Mutex<Option<Vec<u8>>>>,
    relay: JoinHandle<()>,
}

impl Hole {
    pub fn before(redis: &Redis) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join("hole.sock")).unwrap();
        let (generation, socket) = (Arc::new(AtomicU64::new(0)), redis.socket());
        let mark: Arc<Mutex<Option<Vec<u8>>>> = Arc::default();
        let (now, marked) = (generation.clone(), mark.clone());
        let relay = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(redis) = UnixStream::connect(&socket).await else { continue };
                let ((from_client, to_client), (from_redis, to_redis)) = (client.into_split(), redis.into_split());
                let cut = Arc::new(AtomicBool::new(false));
                tokio::spawn(carry(from_client, to_redis, now.clone(), cut.clone(), Some(marked.clone())));
                tokio::spawn(carry(from_redis, to_client, now.clone(), cut, None));
            }
        });
        Self { directory, generation, mark, relay }
    }

    pub fn endpoint(&self) -> Endpoint {
        Endpoint { url: format!("unix://{}", self.directory.path().join("hole.sock").display()), ..Endpoint::default() }
    }

    /// From now on, the existing connections deliver nothing, and none of them ends.
    pub fn swallow(&self) {
        self.generation.fetch_add(1, Ordering::SeqCst);
    }

    /// Redis carries out the next call that contains these bytes, and its connection ends without an answer.
    pub fn lose_answer_to(&self, mark: &str) {
        *self.mark.lock().unwrap() = Some(mark.as_bytes().to_vec());
    }

    /// Whether there was such a call.
    pub fn has_lost(&self) -> bool {
        self.mark.lock().unwrap().is_none()
    }
}

/// Forwards bytes from one side to the other. For calls, `mark` names the call after which this connection is cut.
async fn carry(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    now: Arc<AtomicU64>,
    cut: Arc<AtomicBool>,
    mark: Option<Arc<Mutex<Option<Vec<u8>>>>>,
) {
    let (began, mut bytes, mut seen) = (now.load(Ordering::SeqCst), vec![0; 65536], Vec::new());
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        if mark.as_ref().is_some_and(|mark| has_mark(&mut mark.lock().unwrap(), &mut seen, &bytes[..read])) {
            cut.store(true, Ordering::SeqCst);
            // Redis carries out the call, and then finds that its client is gone.
            let _ = to.write_all(&bytes[..read]).await;
            return;
        }
        let passes = now.load(Ordering::SeqCst) == began && (mark.is_some() || !cut.load(Ordering::SeqCst));
        if passes && to.write_all(&bytes[..read]).await.is_err() {
            return;
        }
    }
    if now.load(Ordering::SeqCst) != began {
        // The other side does not see an end either.
        std::future::pending::<()>().await;
    }
}

/// Whether the mark has arrived, even in parts. It is then forgotten.
fn has_mark(mark: &mut Option<Vec<u8>>, seen: &mut Vec<u8>, read: &[u8]) -> bool {
    let Some(bytes) = mark.as_ref() else { return false };
    seen.extend_from_slice(read);
    let found = seen.windows(bytes.len()).any(|window| window == bytes.as_slice());
    seen.drain(..seen.len().saturating_sub(bytes.len()));
    if found {
        *mark = None;
    }
    found
}

impl Drop for Hole {
    fn drop(&mut self) {
        self.relay.abort();
    }
}
