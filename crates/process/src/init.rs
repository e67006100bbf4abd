//! The first process of a PID namespace. When it ends, the system kills all others in it.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, pidfd_open, pidfd_send_signal, set_child_subreaper, set_parent_process_death_signal, wait,
};
use tokio::signal::unix::{SignalKind, signal};

/// The variable in which a supervisor that stayed outside finds the process id of the first process of its jobs'
/// namespace.
pub(super) const FIRST: &str = "HERO_FIRST";
/// The exit code after a failure.
const FAILED: u8 = 70;

/// The first process of the namespace that the children of this process are born into, if it is another process. It
/// adopts orphans of that namespace. It ends with this process, also after `kill -9`, or when it is dropped.
#[derive(Debug)]
pub struct Init {
    pid: Pid,
    /// Readable once the process has ended.
    end: OwnedFd,
}

impl Init {
    /// Makes this process adopt the orphans of its children, unless the first process of their namespace does. That one
    /// was started [before this became what it is](super::confine). If this process is the first one itself, it adopts
    /// all.
    pub fn for_children() -> Result<Option<Self>, String> {
        set_child_subreaper(Some(getpid())).map_err(|error| format!("orphans cannot be adopted: {error}"))?;
        let Some(pid) = std::env::var(FIRST).ok().and_then(|pid| Pid::from_raw(pid.parse().ok()?)) else { return Ok(None) };
        let end = pidfd_open(pid, PidfdFlags::empty());
        Ok(Some(Self { pid, end: end.map_err(|error| format!("the first process of the namespace of jobs cannot be watched: {error}"))? }))
    }

    /// Returns its process id outside of the namespace.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Returns a descriptor that is readable once the process has ended.
    pub fn end(&self) -> &OwnedFd {
        &self.end
    }

    /// Whether the process still runs. If it does not, nothing can be started any more.
    pub fn is_there(&self) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        !matches!(poll(&mut [PollFd::new(&self.end, PollFlags::IN)], Some(&now)), Ok(1..))
    }
}

impl Drop for Init {
    fn drop(&mut self) {
        // The process may have ended.
        let _ = pidfd_send_signal(&self.end, Signal::KILL);
    }
}

/// The body of a process that only serves as the first of a namespace: reaps children until descriptor 0 is closed.
pub(crate) fn init_main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(FAILED),
    }
}

fn serve() -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    tokio::runtime::Builder::new_current_thread().enable_io().build()?.block_on(async {
        let holder = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        holder.set_nonblocking(true)?;
        let holder = tokio::net::UnixStream::from_std(holder)?;
        let mut deaths = signal(SignalKind::child())?;
        loop {
            while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
            tokio::select! {
                _ = deaths.recv() => {}
                // Nothing is ever sent here.
                _ = holder.readable() => return Ok(()),
            }
        }
    })
}
