//! The first process of a PID namespace. When it ends, the system kills all others in it.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use rustix::process::{Pid, Signal, WaitOptions, getpid, set_child_subreaper, set_parent_process_death_signal, wait};
use tokio::signal::unix::{SignalKind, signal};

use super::OURSELVES;
use super::confine::{self, CONFINEMENT};

/// The exit code when it could not serve.
const FAILED: u8 = 70;

/// The first process of the namespace that this process' children are born into. It adopts what others of them leave, and ends with
/// this process, also at kill -9, or when it is dropped.
#[derive(Debug)]
pub struct Init {
    pid: Pid,
    /// Its standard input. When this end is closed it ends.
    held: UnixStream,
}

impl Init {
    /// Has this process adopt what its children leave, and starts the first process of the namespace that they are born into, if they are
    /// born into one. It must come before any other child.
    pub fn for_children() -> Result<Option<Self>, String> {
        set_child_subreaper(Some(getpid())).map_err(|error| format!("orphans cannot be adopted: {error}"))?;
        let report = std::env::var(CONFINEMENT).unwrap_or_default();
        let init = confine::starts_in_namespace(&report).then(|| Self::start(Path::new(OURSELVES))).transpose();
        init.map_err(|error| format!("the first process of the namespace cannot be started: {error}"))
    }

    fn start(hero: &Path) -> io::Result<Self> {
        let (held, theirs) = UnixStream::pair()?;
        let mut command = Command::new(hero);
        command.arg("init").env_clear().current_dir("/");
        command.stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).stderr(Stdio::null());
        let pid = command.spawn()?.id();
        Ok(Self { pid: Pid::from_raw(pid.cast_signed()).ok_or(Errno::SRCH)?, held })
    }

    /// Its number outside of the namespace.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Whether it is still there. If it is not, nothing can be started any more.
    pub fn is_there(&self) -> bool {
        matches!(recv(&self.held, &mut [0], RecvFlags::DONTWAIT), Err(Errno::AGAIN | Errno::INTR))
    }
}

/// The body of the hidden `hero init`: waits for the dead until descriptor 0 is closed.
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
