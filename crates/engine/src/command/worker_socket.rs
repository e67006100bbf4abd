use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use crate::frame::{self, FrameError, FromEngine, Inbox, ToEngine};

/// If this many bytes wait for the worker, no more output that would become a log is read.
const MOST_UNSENT: usize = 256 << 10;

/// The worker, at the other end of the socketpair.
///
/// Reads and writes never wait for each other: the worker may be writing a long answer while this side has much to
/// send.
pub(super) struct WorkerSocket {
    socket: UnixStream,
    inbox: Inbox,
    outbox: Vec<u8>,
    /// The number of bytes of the outbox that are written.
    written: usize,
}

/// A message from the worker.
pub(super) enum WorkerMessage {
    Frame(ToEngine<'static>),
    /// A whole frame of an unknown form.
    Unreadable(String),
    /// The worker has closed its end.
    Gone,
}

impl WorkerSocket {
    /// Opens the socket that is descriptor 0.
    pub(super) fn open() -> io::Result<Self> {
        let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        socket.peer_addr()?;
        Ok(Self { socket, inbox: Inbox::default(), outbox: Vec::new(), written: 0 })
    }

    /// Waits until a part of the next frame, or `other`, can be read.
    pub(super) fn wait(&self, other: Option<&OwnedFd>) {
        let mut watched = vec![PollFd::new(&self.socket, PollFlags::IN)];
        watched.extend(other.map(|other| PollFd::new(other, PollFlags::IN)));
        while self.inbox.is_empty() && matches!(poll(&mut watched, None), Err(Errno::INTR)) {}
    }

    /// Waits for the next frame.
    pub(super) fn next(&mut self) -> WorkerMessage {
        loop {
            if let Some(said) = self.arrived() {
                return said;
            }
            if !self.read() {
                return WorkerMessage::Gone;
            }
        }
    }

    /// Returns the next frame that has arrived.
    pub(super) fn arrived(&mut self) -> Option<WorkerMessage> {
        match self.inbox.take() {
            Ok(frame) => frame.map(WorkerMessage::Frame),
            Err(FrameError::Unreadable(error)) => Some(WorkerMessage::Unreadable(error.to_string())),
            Err(FrameError::TooLarge(_)) => Some(WorkerMessage::Gone),
        }
    }

    /// Reads the available data, or waits for it. Returns false if the worker is gone.
    pub(super) fn read(&mut self) -> bool {
        matches!(rustix::io::read(&self.socket, spare_capacity(self.inbox.room())), Ok(1..) | Err(Errno::INTR))
    }

    /// Returns the events to poll for.
    pub(super) fn awaited(&self) -> PollFd<'_> {
        PollFd::new(&self.socket, if self.outbox.is_empty() { PollFlags::IN } else { PollFlags::IN | PollFlags::OUT })
    }

    /// Reads and writes as far as the poll has found it possible. Returns false if the worker is gone.
    pub(super) fn go_on(&mut self, found: PollFlags) -> bool {
        if found.contains(PollFlags::OUT) {
            self.write();
        }
        // A closed end is noticed by reading.
        !found.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR) || self.read()
    }

    /// Whether there is room for more output.
    pub(super) fn has_room(&self) -> bool {
        self.outbox.len() - self.written < MOST_UNSENT
    }

    /// Sends frames as far as the worker reads; [`WorkerSocket::go_on`] sends the rest.
    pub(super) fn send(&mut self, frames: Vec<FromEngine>) {
        for frame in frames {
            frame::encode_fitting(frame, &mut self.outbox);
        }
        self.write();
    }

    /// Sends frames and waits until they are written. The next read notices if the worker is gone.
    pub(super) fn say(&mut self, frames: Vec<FromEngine>) {
        self.send(frames);
        while !self.outbox.is_empty() {
            let mut watched = [self.awaited()];
            let found = poll(&mut watched, None).map(|_| watched[0].revents());
            if found.is_ok_and(|found| !self.go_on(found)) {
                return self.clear();
            }
        }
    }

    /// Writes as much as the socket takes.
    fn write(&mut self) {
        while self.written < self.outbox.len() {
            match send(&self.socket, &self.outbox[self.written..], SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(sent) => self.written += sent,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => break,
            }
        }
        self.clear();
    }

    fn clear(&mut self) {
        frame::reset(&mut self.outbox);
        self.written = 0;
    }
}

impl AsFd for WorkerSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
