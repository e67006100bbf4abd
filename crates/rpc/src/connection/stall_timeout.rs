use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use crate::memory::ConnectionMemory;

/// A peer that reads less than this within its time counts as reading nothing.
const MIN_PROGRESS_BYTES: usize = 256 * 1024;

/// The socket of one connection. It counts what the peer reads, and fails when it reads nothing for too long.
pub(crate) struct StallTimeout<S> {
    io: S,
    connection: Arc<ConnectionMemory>,
    time_limit: Duration,
    slow: Option<Slow>,
}

/// The state of a peer that has not read everything yet.
struct Slow {
    deadline: Pin<Box<Sleep>>,
    /// The number of bytes that it has read since the deadline was set.
    taken: usize,
}

impl<S> StallTimeout<S> {
    pub(crate) fn new(io: S, connection: Arc<ConnectionMemory>, time_limit: Duration) -> Self {
        Self { io, connection, time_limit, slow: None }
    }

    fn note(&mut self, cx: &mut Context<'_>, write: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match write {
            Poll::Ready(Ok(taken)) => {
                self.connection.written(taken);
                if let Some(slow) = &mut self.slow {
                    slow.taken += taken;
                    if slow.taken >= MIN_PROGRESS_BYTES {
                        slow.deadline.as_mut().reset(Instant::now() + self.time_limit);
                        slow.taken = 0;
                    }
                }
                Poll::Ready(Ok(taken))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => {
                self.connection.stuck();
                self.stalled(cx)
            }
        }
    }

    /// Fails when the peer has read nothing for too long.
    fn stalled<T>(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        let end = Instant::now() + self.time_limit;
        let slow = self.slow.get_or_insert_with(|| Slow { deadline: Box::pin(tokio::time::sleep_until(end)), taken: 0 });
        ready!(slow.deadline.as_mut().poll(cx));
        self.connection.end();
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the peer does not read what it asked for")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for StallTimeout<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.io).poll_read(cx, buffer))?;
        if buffer.filled().len() > before {
            self.connection.heard();
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for StallTimeout<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let write = Pin::new(&mut self.io).poll_write(cx, bytes);
        self.note(cx, write)
    }

    fn poll_write_vectored(mut self: Pin<&mut Self>, cx: &mut Context<'_>, slices: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
        let write = Pin::new(&mut self.io).poll_write_vectored(cx, slices);
        self.note(cx, write)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Encrypted data does not count any more, but must be sent, too.
        match Pin::new(&mut self.io).poll_flush(cx) {
            Poll::Ready(flushed) => flushed?,
            Poll::Pending => return self.stalled(cx),
        }
        if self.connection.unsent() == 0 {
            self.slow = None;
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.io).poll_shutdown(cx) {
            Poll::Pending => self.stalled(cx),
            shut => shut,
        }
    }
}
