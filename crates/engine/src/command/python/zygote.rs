use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::net::{AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, sendmsg, socketpair};
use rustix::process::{Pid, Signal, kill_process};

use crate::command::process::{Process, pipes, receive};
use hero_process::tree;

/// Timeout for its start: shorter than that of an engine, which continues without it.
const START_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout for a fork.
const FORK_TIMEOUT: Duration = Duration::from_secs(5);

/// A Python that has started and imported the modules that every job needs, and forks for each job. Dropping it kills
/// it.
pub(super) struct Zygote {
    pid: Pid,
    control: OwnedFd,
}

impl Zygote {
    /// Starts it with a confined command, whose descriptor 0 becomes its control socket.
    pub(super) fn start(mut command: Command) -> io::Result<Self> {
        // The socket keeps message boundaries, so no message has to be reassembled.
        let (control, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        let child = command.stdin(theirs).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        drop(command);
        let zygote = Self { pid: Pid::from_raw(child.id().cast_signed()).ok_or(io::ErrorKind::NotFound)?, control };
        match receive(&zygote.control, START_TIMEOUT)?.as_str() {
            "ready" => Ok(zygote),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    /// Forks for the job in a directory. A file describes the job to the fork.
    pub(super) fn fork(&self, directory: &Path, job: BorrowedFd<'_>) -> io::Result<Process> {
        let (readers, writers) = pipes()?;
        let descriptors = [writers.out.as_fd(), writers.err.as_fd(), writers.result.as_fd(), writers.host_calls.as_fd(), job];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(5))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
        sendmsg(&self.control, &[IoSlice::new(directory.as_os_str().as_bytes())], &mut ancillary, SendFlags::NOSIGNAL)?;
        let told = receive(&self.control, FORK_TIMEOUT)?.parse().map_err(|_| io::ErrorKind::InvalidData)?;
        // In its PID namespace, its one child has another process id.
        let pid = tree::children(self.pid).and_then(|children| children.last().copied()).unwrap_or(told);
        let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Process::forked(pid, self.control.try_clone()?, readers))
    }
}

impl Drop for Zygote {
    fn drop(&mut self) {
        // It is reaped when the next job has ended.
        let _ = kill_process(self.pid, Signal::KILL);
    }
}
