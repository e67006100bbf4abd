use std::io::{self, PipeReader, PipeWriter, pipe};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::Errno;
use rustix::net::RecvFlags;
use rustix::process::{Pid, PidfdFlags, WaitOptions, pidfd_open, waitpid};

use super::asking::Asking;
use hero_process::confine;

/// The size of one read, in bytes.
const READ_BYTES: usize = 64 << 10;
/// Timeout for the zygote to report how a process ended.
const REPORT_TIMEOUT: Duration = Duration::from_secs(2);

/// A process of a job, and the pipes it writes to.
pub(crate) struct Process {
    pub(super) pid: Pid,
    end: End,
    pub(super) out: Reader,
    pub(super) err: Reader,
    pub(super) result: Reader,
    pub(super) asking: Asking,
}

/// The descriptor that is readable when a process has ended.
enum End {
    /// A child of this process.
    Child(OwnedFd),
    /// A child of the zygote, which reports the end.
    Fork(OwnedFd),
}

/// The end of a process, and its usage if that was measured exactly.
pub(super) struct Status {
    pub(super) exit: ExitStatus,
    pub(super) measured: Option<Measured>,
}

/// The usage of a process, including all children that it has reaped.
#[derive(Clone, Copy)]
pub(super) struct Measured {
    pub(super) time: Duration,
    pub(super) peak_memory: u64,
}

/// The ends of the pipes that a process writes to, and of its socket for host calls.
pub(super) struct Writers {
    pub(super) out: PipeWriter,
    pub(super) err: PipeWriter,
    pub(super) result: PipeWriter,
    pub(super) host_calls: UnixStream,
}

/// Our ends of them.
pub(super) struct Readers {
    out: Reader,
    err: Reader,
    result: Reader,
    asking: Asking,
}

/// Our end of a pipe, until the other end is closed.
pub(super) struct Reader(Option<PipeReader>);

pub(super) fn pipes() -> io::Result<(Readers, Writers)> {
    let (mut readers, mut writers) = (Vec::with_capacity(3), Vec::with_capacity(3));
    for (reader, writer) in [pipe()?, pipe()?, pipe()?] {
        fcntl_setfl(&reader, OFlags::NONBLOCK)?;
        readers.push(Reader(Some(reader)));
        writers.push(writer);
    }
    let ([out, err, result], [to_out, to_err, to_result]) = (taken(readers), taken(writers));
    let (answers, host_calls) = UnixStream::pair()?;
    let readers = Readers { out, err, result, asking: Asking::on(answers) };
    Ok((readers, Writers { out: to_out, err: to_err, result: to_result, host_calls }))
}

fn taken<T, const N: usize>(items: Vec<T>) -> [T; N] {
    <[T; N]>::try_from(items).unwrap_or_else(|_| unreachable!("as many as were made"))
}

impl Process {
    /// Starts a confined command, which takes over its descriptors from [`confine::hand_over`].
    pub(super) fn start(mut command: Command) -> io::Result<Self> {
        let (readers, Writers { out, err, result, host_calls }) = pipes()?;
        if let Some((socket, _)) = readers.asking.awaited() {
            confine::hand_over(socket, &result)?;
        }
        command.stdin(OwnedFd::from(host_calls)).stdout(out).stderr(err);
        let pid = command.spawn()?.id();
        // The command holds the other ends of the pipes.
        drop(command);
        Self::of(Pid::from_raw(pid.cast_signed()).ok_or(Errno::SRCH)?, readers)
    }

    /// Makes the handle of a child of this process that writes to these pipes.
    fn of(pid: Pid, Readers { out, err, result, asking }: Readers) -> io::Result<Self> {
        Ok(Self { pid, end: End::Child(pidfd_open(pid, PidfdFlags::empty())?), out, err, result, asking })
    }

    /// Makes the handle of a fork of the zygote that writes to these pipes. The zygote reports its end through a
    /// socket.
    pub(super) fn forked(pid: Pid, zygote: OwnedFd, Readers { out, err, result, asking }: Readers) -> Self {
        Self { pid, end: End::Fork(zygote), out, err, result, asking }
    }

    /// Returns a descriptor that is readable when the process has ended.
    pub(super) fn end(&self) -> BorrowedFd<'_> {
        match &self.end {
            End::Child(end) | End::Fork(end) => end.as_fd(),
        }
    }

    /// Whether the zygote has to report how it ended.
    pub(super) fn is_fork(&self) -> bool {
        matches!(self.end, End::Fork(_))
    }

    /// Returns how it ended, once it has. The zygote may take a moment to report it.
    pub(super) fn status(&self) -> Option<Status> {
        match &self.end {
            End::Child(_) => {
                let (_, status) = waitpid(Some(self.pid), WaitOptions::NOHANG).ok().flatten()?;
                Some(Status { exit: ExitStatus::from_raw(status.as_raw()), measured: None })
            }
            End::Fork(zygote) => Status::read(&receive(zygote, REPORT_TIMEOUT).ok()?),
        }
    }
}

impl Status {
    /// Parses a report of the zygote: the status of wait(2), microseconds, and bytes.
    fn read(told: &str) -> Option<Self> {
        let mut words = told.split(' ');
        let exit = ExitStatus::from_raw(words.next()?.parse().ok()?);
        let time = Duration::from_micros(words.next()?.parse().ok()?);
        Some(Self { exit, measured: Some(Measured { time, peak_memory: words.next()?.parse().ok()? }) })
    }
}

/// Waits for a message of the zygote, at most `within`.
pub(super) fn receive(socket: impl AsFd, within: Duration) -> io::Result<String> {
    let timeout = Timespec::try_from(within).ok();
    if poll(&mut [PollFd::new(&socket, PollFlags::IN)], timeout.as_ref())? == 0 {
        return Err(io::ErrorKind::TimedOut.into());
    }
    let mut message = [0; 128];
    let (length, _) = rustix::net::recv(socket, &mut message, RecvFlags::empty())?;
    if length == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(String::from_utf8_lossy(&message[..length]).into_owned())
}

impl Reader {
    /// Returns the descriptor to poll, while the other end is open.
    pub(super) fn open(&self) -> Option<BorrowedFd<'_>> {
        self.0.as_ref().map(AsFd::as_fd)
    }

    /// Reads a piece, and returns whether there may be more immediately.
    pub(super) fn read(&mut self, mut take: impl FnMut(&[u8])) -> bool {
        let Some(pipe) = &self.0 else { return false };
        let mut piece = Vec::with_capacity(READ_BYTES);
        match rustix::io::read(pipe, spare_capacity(&mut piece)) {
            Ok(1..) => {
                take(&piece);
                true
            }
            Err(Errno::AGAIN) => false,
            Err(Errno::INTR) => true,
            Ok(0) | Err(_) => {
                self.0 = None;
                false
            }
        }
    }
}
