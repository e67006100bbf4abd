use std::cell::RefCell;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::frame::{self, FrameError, FromEngine, Inbox, ToEngine};
use crate::{Answer, alloc};

/// The engine's end of the socketpair.
pub(super) struct Pipe {
    socket: UnixStream,
    inbox: RefCell<Inbox>,
    outbox: RefCell<Vec<u8>>,
}

/// A message from the worker between jobs.
pub(super) enum Received {
    Frame(ToEngine<'static>),
    /// A whole frame of an unknown form.
    Unreadable(String),
    /// The worker has closed its end.
    End,
}

/// A message from the worker while a script runs.
pub(super) enum RunMessage {
    Nothing,
    Stop,
    Answer(Answer),
}

impl Pipe {
    /// Opens the socket that is descriptor 0.
    pub(super) fn open() -> io::Result<Self> {
        let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        socket.peer_addr()?;
        Ok(Self { socket, inbox: RefCell::default(), outbox: RefCell::default() })
    }

    /// Waits for the next frame.
    pub(super) fn receive(&self) -> Received {
        let mut inbox = self.inbox.borrow_mut();
        loop {
            match inbox.take() {
                Ok(Some(frame)) => return Received::Frame(frame),
                Ok(None) => {}
                Err(FrameError::Unreadable(error)) => return Received::Unreadable(error.to_string()),
                Err(FrameError::TooLarge(_)) => return Received::End,
            }
            match rustix::io::read(&self.socket, spare_capacity(inbox.room())) {
                Ok(1..) | Err(Errno::INTR) => {}
                Ok(0) | Err(_) => return Received::End,
            }
        }
    }

    /// Sends frames with one system call. If the worker has closed its end, this process ends.
    pub(super) fn send(&self, frames: Vec<FromEngine>) {
        let mut outbox = self.outbox.borrow_mut();
        alloc::apart(|| {
            for frame in frames {
                frame::encode_fitting(frame, &mut outbox);
            }
        });
        if (&self.socket).write_all(&outbox).is_err() {
            std::process::exit(0);
        }
        frame::reset(&mut outbox);
    }

    /// Waits at most `time` for a stop and returns whether it came. If the worker has closed its end, this process
    /// ends.
    pub(super) fn hears_stop_within(&self, time: Duration) -> bool {
        matches!(self.hear_within(time), RunMessage::Stop)
    }

    /// Waits at most `time` for a message while a script runs. If the worker has closed its end, this process ends.
    pub(super) fn hear_within(&self, time: Duration) -> RunMessage {
        // A stop sent right after its job may have arrived with it.
        if self.inbox.borrow().is_empty() {
            let timeout = Timespec::try_from(time).ok();
            let mut fds = [PollFd::new(&self.socket, PollFlags::IN)];
            if !matches!(poll(&mut fds, timeout.as_ref()), Ok(1..)) {
                return RunMessage::Nothing;
            }
        }
        match alloc::apart(|| self.receive()) {
            Received::Frame(ToEngine::Stop) => RunMessage::Stop,
            Received::Frame(ToEngine::Answer { answer }) => RunMessage::Answer(answer),
            Received::Frame(_) => RunMessage::Nothing,
            Received::Unreadable(error) => RunMessage::Answer(Err(format!("the answer cannot be read: {error}"))),
            Received::End => std::process::exit(0),
        }
    }
}
