use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use super::memory::Connection;

/// A reader that takes less than this within the time it has is no reader.
const PROGRESS: usize = 256 * 1024;

/// The bytes of one connection on their way: counts what the peer takes, and fails when it takes nothing for too long.
pub(super) struct Wire<S> {
    io: S,
    connection: Arc<Connection>,
    time_limit: Duration,
    jam: Option<Jam>,
}

/// A peer that did not take everything at once.
struct Jam {
    deadline: Pin<Box<Sleep>>,
    /// What it took since the deadline was set.
    taken: usize,
}

impl<S> Wire<S> {
    pub(super) fn new(io: S, connection: Arc<Connection>, time_limit: Duration) -> Self {
        Self { io, connection, time_limit, jam: None }
    }

    fn note(&mut self, cx: &mut Context<'_>, write: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        let end = || Instant::now() + self.time_limit;
        match write {
            Poll::Ready(Ok(taken)) => {
                self.connection.written(taken);
                if let Some(jam) = &mut self.jam {
                    jam.taken += taken;
                    if jam.taken >= PROGRESS {
                        jam.deadline.as_mut().reset(Instant::now() + self.time_limit);
                        jam.taken = 0;
                    }
                }
                Poll::Ready(Ok(taken))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => {
                self.connection.stuck();
                let jam = self.jam.get_or_insert_with(|| Jam { deadline: Box::pin(tokio::time::sleep_until(end())), taken: 0 });
                ready!(jam.deadline.as_mut().poll(cx));
                self.connection.end();
                Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the peer does not read what it asked for")))
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Wire<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.io).poll_read(cx, buffer))?;
        if buffer.filled().len() > before {
            self.connection.heard();
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Wire<S> {
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
        ready!(Pin::new(&mut self.io).poll_flush(cx))?;
        if self.connection.unsent() == 0 {
            self.jam = None;
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
