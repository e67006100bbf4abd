use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use crate::engine::frame::{self, FrameError, FromEngine, Inbox, ToEngine};

/// The actor, at the other end of the socketpair.
pub(super) struct Actor {
    socket: UnixStream,
    inbox: Inbox,
    outbox: Vec<u8>,
}

/// What the actor said.
pub(super) enum Said {
    Frame(ToEngine<'static>),
    /// A whole frame that is none of those we know.
    Unreadable(String),
    /// It has closed its end.
    Gone,
}

impl Actor {
    /// The socket that is descriptor 0.
    pub(super) fn open() -> io::Result<Self> {
        let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        socket.peer_addr()?;
        Ok(Self { socket, inbox: Inbox::default(), outbox: Vec::new() })
    }

    /// Waits until something of the next frame, or of `other`, can be read.
    pub(super) fn wait(&self, other: Option<&OwnedFd>) {
        let mut watched = vec![PollFd::new(&self.socket, PollFlags::IN)];
        watched.extend(other.map(|other| PollFd::new(other, PollFlags::IN)));
        while self.inbox.is_empty() && matches!(poll(&mut watched, None), Err(Errno::INTR)) {}
    }

    /// Waits for the next frame.
    pub(super) fn next(&mut self) -> Said {
        loop {
            if let Some(said) = self.arrived() {
                return said;
            }
            if !self.read() {
                return Said::Gone;
            }
        }
    }

    /// The next frame of those that have arrived.
    pub(super) fn arrived(&mut self) -> Option<Said> {
        match self.inbox.take() {
            Ok(frame) => frame.map(Said::Frame),
            Err(FrameError::Unreadable(error)) => Some(Said::Unreadable(error.to_string())),
            Err(FrameError::TooLarge(_)) => Some(Said::Gone),
        }
    }

    /// Reads what there is, or waits for it. False: the actor is gone.
    pub(super) fn read(&mut self) -> bool {
        matches!(rustix::io::read(&self.socket, spare_capacity(self.inbox.room())), Ok(1..) | Err(Errno::INTR))
    }

    /// Sends frames. An actor that is gone is found when it is read from.
    pub(super) fn send(&mut self, frames: &[FromEngine]) {
        for frame in frames {
            frame::encode(frame, &mut self.outbox).expect("logs and results are capped far below a frame");
        }
        let _ = (&self.socket).write_all(&self.outbox);
        frame::reset(&mut self.outbox);
    }
}

impl AsFd for Actor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
