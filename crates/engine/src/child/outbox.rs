use std::future::pending;
use std::io;
use std::time::Duration;

use tokio::net::UnixStream;
use tokio::time::{Instant, sleep_until};

use crate::frame::{self, FrameError, ToEngine};

/// The maximum time that an engine may read none of its input: it waits for it, unless it gets no processor, is dead or
/// hostile.
pub(super) const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Frames for an engine that are not written yet.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    bytes: Vec<u8>,
    written: usize,
    /// The time since which nothing could be written, while frames are waiting.
    since: Option<Instant>,
}

impl Outbox {
    /// Whether everything is written.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Appends a frame; after an error nothing has changed.
    pub(super) fn put(&mut self, frame: &ToEngine<'_>) -> Result<(), FrameError> {
        frame::encode(frame, &mut self.bytes)?;
        self.since.get_or_insert_with(Instant::now);
        Ok(())
    }

    /// Writes as much as the socket takes. If it is closed there is nothing more to write; the next read notices it.
    pub(super) fn write(&mut self, socket: &UnixStream) {
        if self.try_write(socket).is_err() {
            self.clear();
        }
    }

    /// The same, but returns an error if the socket is closed.
    pub(super) fn try_write(&mut self, socket: &UnixStream) -> io::Result<()> {
        while self.written < self.bytes.len() {
            match socket.try_write(&self.bytes[self.written..]) {
                Ok(written) => {
                    self.written += written;
                    self.since = Some(Instant::now());
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        self.clear();
        Ok(())
    }

    /// Returns when nothing could be written for too long.
    pub(super) async fn is_stuck(&self) {
        match self.since {
            Some(since) => sleep_until(since + READ_TIMEOUT).await,
            None => pending().await,
        }
    }

    fn clear(&mut self) {
        frame::reset(&mut self.bytes);
        (self.written, self.since) = (0, None);
    }
}
