//! `hero keep`: starts a command, confined as the process of a job, and keeps what it starts together until it is told to end it.
//!
//! Descriptor 0 is a socket. The keeper says there how the command ended; what that left running goes on below the keeper, which adopts it,
//! until nothing is left or the other end of the socket is closed. Then everything below is stopped and killed, in whatever session it is.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, WaitOptions, geteuid, getpid, pidfd_open, set_child_subreaper, wait};
use rustix::stdio::{dup2_stderr, dup2_stdout};

use super::confine::{self, CONFINEMENT, JobRights, JobUser, Profile};
use super::{Init, tree};

/// This program, also if its file was replaced.
const OURSELVES: &str = "/proc/self/exe";
/// The exit code when the keeper itself failed.
const FAILED: u8 = 70;
/// Why a command is root, if hero is.
const WHY_ROOT: &str = "the files of a context belong to hero";
/// How long what is killed may take to be gone.
const GONE: Duration = Duration::from_secs(5);
/// How often it is looked how many processes there are: soon at first, as most commands are short.
const FIRST_LOOK: Duration = Duration::from_millis(5);
const LATER_LOOK: Duration = Duration::from_millis(250);
/// How many processes there may be. They are counted now and then, so for a moment there may be more.
pub const MOST_PROCESSES: usize = 256;

/// What a keeper says on its socket, a line each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// The command ended by itself, with this code, or 128 and the number of the signal that ended it.
    Ended(i32),
    /// There were too many processes, so all were killed.
    TooMany,
}

impl Said {
    /// Reads a line.
    pub fn read(line: &str) -> Option<Self> {
        match line.trim_end() {
            "too many" => Some(Self::TooMany),
            code => code.parse().ok().map(Self::Ended),
        }
    }
}

/// The command that starts a keeper for a command of the shell. `hero` is this program; `working` is the directory to run in.
///
/// Processes may have so many bytes of memory for data, and write into `writable`. Descriptor 0 has to be a socket. The variables that are set
/// with [`confine::OF_JOB`] before their names are those of the command.
pub fn command(hero: &Path, memory: u64, writable: &Path, working: &Path, shell_command: &str) -> tokio::process::Command {
    let memory = memory.to_string();
    let args = [OsStr::new("keep"), memory.as_ref(), writable.as_os_str(), shell_command.as_ref()];
    let mut command = confine::command(hero, &Profile::Supervisor, hero, &args);
    // It ends by itself when the socket is closed, and with it what the command has started.
    command.current_dir(working).env_clear().kill_on_drop(false);
    command
}

/// The body of the hidden `hero keep`: `args` are what follows that word.
#[expect(clippy::disallowed_macros, reason = "a child says why it failed to its parent, which shows it harmless")]
pub fn keep_main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    match keep(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("hero keep: {failure}");
            ExitCode::from(FAILED)
        }
    }
}

fn keep(args: impl IntoIterator<Item = OsString>) -> Result<(), String> {
    let args: Vec<OsString> = args.into_iter().collect();
    let [memory, writable, shell_command] = <[OsString; 3]>::try_from(args).map_err(|_| "MEMORY, DIRECTORY and COMMAND are needed")?;
    let memory = memory.to_str().and_then(|memory| memory.parse().ok()).ok_or("the memory is no number")?;
    let said = |what: &'static str| move |error: io::Error| format!("{what}: {error}");
    let socket = io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from).map_err(said("descriptor 0"))?;
    socket.peer_addr().map_err(said("descriptor 0 is no socket"))?;
    set_child_subreaper(Some(getpid())).map_err(|error| format!("orphans cannot be adopted: {error}"))?;
    // What it starts before is the first process of its namespace.
    let report = std::env::var(CONFINEMENT).unwrap_or_default();
    let init = confine::starts_in_namespace(&report).then(|| Init::start(Path::new(OURSELVES))).transpose();
    let init = init.map_err(said("the first process of the namespace of the command cannot be started"))?;
    let user = if geteuid().is_root() { JobUser::Root(WHY_ROOT.to_owned()) } else { JobUser::Same };
    let rights = JobRights { writable: PathBuf::from(writable), readable: Vec::new(), memory, user };
    let child = start(&rights, &shell_command).map_err(said("no process can be started"))?;
    let keeper = Keeper { socket, command: Pid::from_child(&child), init: init.as_ref().map(Init::pid) };
    let kept = keeper.watch(child).map_err(said("the processes cannot be watched"));
    tree::end(getpid(), &[], GONE);
    wait_for_dead();
    kept
}

/// Starts the command. What it is to write to is that of this process, which does not keep it.
fn start(rights: &JobRights, shell_command: &OsStr) -> io::Result<Child> {
    let shell = Path::new("/bin/sh");
    let profile = Profile::Job(rights.clone());
    let mut command: Command = confine::plain_command(Path::new(OURSELVES), &profile, shell, &[OsStr::new("-c"), shell_command]);
    command.stdin(Stdio::null());
    let child = command.spawn()?;
    let nothing = OwnedFd::from(std::fs::File::options().write(true).open("/dev/null")?);
    dup2_stdout(&nothing)?;
    dup2_stderr(&nothing)?;
    Ok(child)
}

struct Keeper {
    socket: UnixStream,
    command: Pid,
    /// The first process of their namespace, if they have one.
    init: Option<Pid>,
}

impl Keeper {
    /// Waits until nothing is left, or until the other end of the socket is closed.
    fn watch(mut self, mut child: Child) -> io::Result<()> {
        let end = pidfd_open(self.command, PidfdFlags::empty())?;
        let (mut ended, mut look_at, mut pause) = (false, Instant::now() + FIRST_LOOK, FIRST_LOOK);
        loop {
            let left = Timespec::try_from(look_at.saturating_duration_since(Instant::now())).ok();
            let mut watched = vec![PollFd::new(&self.socket, PollFlags::IN)];
            if !ended {
                watched.push(PollFd::new(&end, PollFlags::IN));
            }
            // Interrupted, or not: what is there is looked at.
            let _ = poll(&mut watched, left.as_ref());
            // Nothing is ever said to a keeper.
            if !watched[0].revents().is_empty() {
                return Ok(());
            }
            if !ended && let Some(status) = child.try_wait()? {
                ended = true;
                let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default());
                writeln!(self.socket, "{code}")?;
            }
            if ended {
                wait_for_dead();
                let nothing_below = |pid: Pid, own: usize| tree::children(pid).is_some_and(|children| children.len() == own);
                if nothing_below(getpid(), self.init.iter().count()) && self.init.is_none_or(|init| nothing_below(init, 0)) {
                    return Ok(());
                }
            }
            if Instant::now() >= look_at {
                pause = (pause * 2).min(LATER_LOOK);
                look_at = Instant::now() + pause;
                if tree::pids(getpid(), self.init.as_slice()).len() > MOST_PROCESSES {
                    return if ended { Ok(()) } else { writeln!(self.socket, "too many") };
                }
            }
        }
    }
}

/// Takes the status of orphans that have ended. That of the command was taken before.
fn wait_for_dead() {
    while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_keeper_says_is_understood() {
        assert_eq!(Said::read("137\n"), Some(Said::Ended(137)));
        assert_eq!(Said::read("too many\n"), Some(Said::TooMany));
        assert_eq!(Said::read(""), None);
    }
}
