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

/// The variable in which a supervisor that stayed outside finds the number of the first process of the namespace of its jobs.
pub(super) const FIRST: &str = "HERO_FIRST";
/// The exit code when it could not serve.
const FAILED: u8 = 70;

/// The first process of the namespace that this process' children are born into, where it is another one. It adopts what others of them leave, and
/// ends with this process, also at kill -9, or when it is dropped.
#[derive(Debug)]
pub struct Init {
    pid: Pid,
    /// Can be read when it has ended.
    end: OwnedFd,
}

impl Init {
    /// Has this process adopt what its children leave, unless the first process of the namespace that they are born into does. That one was
    /// started [before this became what it is](super::confine). Where this process is the first itself, it adopts all.
    pub fn for_children() -> Result<Option<Self>, String> {
        set_child_subreaper(Some(getpid())).map_err(|error| format!("orphans cannot be adopted: {error}"))?;
        let Some(pid) = std::env::var(FIRST).ok().and_then(|pid| Pid::from_raw(pid.parse().ok()?)) else { return Ok(None) };
        let end = pidfd_open(pid, PidfdFlags::empty());
        Ok(Some(Self { pid, end: end.map_err(|error| format!("the first process of the namespace of jobs cannot be watched: {error}"))? }))
    }

    /// Its number outside of the namespace.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Can be read when it has ended.
    pub fn end(&self) -> &OwnedFd {
        &self.end
    }

    /// Whether it is still there. If it is not, nothing can be started any more.
    pub fn is_there(&self) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        !matches!(poll(&mut [PollFd::new(&self.end, PollFlags::IN)], Some(&now)), Ok(1..))
    }
}

impl Drop for Init {
    fn drop(&mut self) {
        // It may have ended.
        let _ = pidfd_send_signal(&self.end, Signal::KILL);
    }
}

/// What a process does that is only to be the first of a namespace: waits for the dead until descriptor 0 is closed.
pub fn init_main() -> ExitCode {
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
                // Nothing is ever sent.
                _ = holder.readable() => return Ok(()),
            }
        }
    })
}
