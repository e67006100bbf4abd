//! `hero keep`: starts a command, confined as the process of a job, and keeps what it starts together until it is told to end it.
//!
//! Descriptor 0 is a socket. The subreaper says there how the command ended; what that left running goes on below the subreaper, which adopts
//! it, until nothing is left or the other end of the socket is closed, or shut for writing. Then everything below is stopped and killed, in
//! whatever session it is, and the subreaper says what was used.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::time::TimeValLike as _;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, WaitOptions, getpid, pidfd_open, wait};
use rustix::stdio::{dup2_stderr, dup2_stdout};
use rustix::system::sysinfo;

use super::confine::{self, JobRights, JobUser, Profile, SupervisorRights};
use super::held::{FIRST_LOOK, Held, LATER_LOOK, LATEST_LOOK, MOST_PROCESSES, of_status, pause_after};
use super::tree::{self, Looked};
use super::{Init, OURSELVES};

/// The exit code when the subreaper itself failed.
const FAILED: u8 = 70;
/// How long what is killed may take to be gone. A subreaper that gave up would let go on what is left.
pub const GONE: Duration = Duration::from_secs(30);
/// How long it may take to end one after another, before all are ended at once.
const EACH: Duration = Duration::from_millis(500);
/// How often it is looked how many processes the whole machine has, which takes no time, and by how many they may grow until those are counted that are
/// below. So a bomb is noticed before it is in the way of others. Where all below end by one call, it is looked less often while they do not grow.
const GLANCE: Duration = Duration::from_millis(10);
const GROWTH: u16 = 64;
/// What is no growth: others of the machine come and go.
const FEW: u16 = 8;
/// How long those that were killed at once have to be gone before it is looked again.
const PAUSE: Duration = Duration::from_millis(1);

/// Before the number of bytes.
const TOO_MUCH_MEMORY: &str = "memory ";
/// Before what was used.
const USED: &str = "used ";

/// What a command and all that it started have used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Used {
    /// Processor time, in microseconds.
    pub cpu_us: u64,
    /// The most memory that one process had, in bytes.
    pub peak_memory: u64,
}

/// What a subreaper says on its socket, a line each. What was used comes last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// The command ended by itself, with this code, or 128 and the number of the signal that ended it.
    Ended(i32),
    /// There were more than [`MOST_PROCESSES`], so all were killed.
    TooMany,
    /// All processes together had more than so many bytes of memory, so all were killed.
    TooMuchMemory(u64),
    /// Nothing is left, and this was used.
    Used(Used),
}

impl Said {
    /// Reads a line.
    pub fn read(line: &str) -> Option<Self> {
        let line = line.trim_end();
        if let Some(used) = line.strip_prefix(USED) {
            let (cpu_us, peak_memory) = used.split_once(' ')?;
            return Some(Self::Used(Used { cpu_us: cpu_us.parse().ok()?, peak_memory: peak_memory.parse().ok()? }));
        }
        match line.strip_prefix(TOO_MUCH_MEMORY) {
            _ if line == "too many" => Some(Self::TooMany),
            Some(most) => most.parse().ok().map(Self::TooMuchMemory),
            None => line.parse().ok().map(Self::Ended),
        }
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended(code) => write!(f, "{code}"),
            Self::TooMany => f.write_str("too many"),
            Self::TooMuchMemory(most) => write!(f, "{TOO_MUCH_MEMORY}{most}"),
            Self::Used(used) => write!(f, "{USED}{} {}", used.cpu_us, used.peak_memory),
        }
    }
}

/// The command that starts a subreaper for a command of the shell with these rights, but for what is readable: it reads no more than what all
/// jobs do. `hero` is this program; `working` is the directory to run in.
///
/// All processes together have a [fixed multiple](super::held::MEMORIES) of the memory of one. Descriptor 0 has to be a socket. The variables
/// that are set with [`confine::OF_JOB`] before their names are those of the command. All are in the group, if one is given.
pub fn command(hero: &Path, rights: &JobRights, working: &Path, group: Option<&Path>, shell_command: &str) -> tokio::process::Command {
    let (memory, user) = (rights.memory.to_string(), rights.user.to_string());
    let at_home = rights.home.as_ref().unwrap_or(&rights.writable);
    let args: [&OsStr; 6] =
        ["keep".as_ref(), memory.as_ref(), rights.writable.as_os_str(), at_home.as_ref(), user.as_ref(), shell_command.as_ref()];
    let (writable, home, group) = (rights.writable.clone(), rights.home.clone(), group.map(Path::to_owned));
    let seen = SupervisorRights { writable, home, is_temporary: false, readable: Vec::new(), group };
    let mut command = confine::command(hero, &Profile::Supervisor(seen), hero, &args);
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
    let needed = |_| "MEMORY, DIRECTORY, HOME, USER and COMMAND are needed";
    let [memory, writable, home, user, shell_command] = <[OsString; 5]>::try_from(args).map_err(needed)?;
    let memory = memory.to_str().and_then(|memory| memory.parse().ok()).ok_or("the memory is no number")?;
    let said = |what: &'static str| move |error: io::Error| format!("{what}: {error}");
    let socket = io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from).map_err(said("descriptor 0"))?;
    socket.peer_addr().map_err(said("descriptor 0 is no socket"))?;
    let init = Init::for_children()?;
    let user: JobUser = user.to_string_lossy().parse()?;
    let rights = JobRights { home: Some(home.into()), ..JobRights::new(writable, memory, user) };
    let child = start(&rights, &shell_command).map_err(said("no process can be started"))?;
    let mut subreaper = Subreaper { socket, command: Pid::from_child(&child), init: init.as_ref().map(Init::pid), memory, ended: None };
    let kept = subreaper.watch().map_err(said("the processes cannot be watched"));
    subreaper.clear();
    // Nobody listens any more where the server is gone.
    let _ = subreaper.say(Said::Used(used()));
    kept
}

/// What the processes used that have ended, which were waited for here or below. A program that is smaller than this one was this one first,
/// so of its memory nothing is known.
fn used() -> Used {
    let least = of_status(getpid().as_raw_nonzero().get(), &["VmHWM:"]) / 4 * 5;
    getrusage(UsageWho::RUSAGE_CHILDREN).map_or_else(
        |_| Used::default(),
        |usage| {
            let microseconds = usage.user_time().num_microseconds().saturating_add(usage.system_time().num_microseconds());
            let most = u64::try_from(usage.max_rss()).unwrap_or_default().saturating_mul(1024);
            Used { cpu_us: microseconds.try_into().unwrap_or_default(), peak_memory: if most > least { most } else { 0 } }
        },
    )
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

/// Can be read when a child has ended, or an orphan that became one. The command was started before, and those that are started have all signals.
fn deaths() -> io::Result<SignalFd> {
    let mut ends = SigSet::empty();
    ends.add(Signal::SIGCHLD);
    ends.thread_block()?;
    Ok(SignalFd::with_flags(&ends, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?)
}

struct Subreaper {
    socket: UnixStream,
    command: Pid,
    /// The first process of their namespace, if they have one.
    init: Option<Pid>,
    /// The bytes that one process may have.
    memory: u64,
    /// How the command ended, once it has.
    ended: Option<ExitStatus>,
}

impl Subreaper {
    /// Waits until nothing is left, or until the other end of the socket is closed.
    fn watch(&mut self) -> io::Result<()> {
        let end = pidfd_open(self.command, PidfdFlags::empty())?;
        let deaths = deaths()?;
        let (mut look_at, mut pause, mut known) = (Instant::now() + FIRST_LOOK, FIRST_LOOK, sysinfo().procs);
        let (mut glance, mut seen, mut looked) = (GLANCE, known, Looked::default());
        loop {
            let left = Timespec::try_from(look_at.saturating_duration_since(Instant::now()).min(glance)).ok();
            let mut watched = vec![PollFd::new(&self.socket, PollFlags::IN), PollFd::new(&deaths, PollFlags::IN)];
            if self.ended.is_none() {
                watched.push(PollFd::new(&end, PollFlags::IN));
            }
            // Interrupted, or not: what is there is looked at.
            let _ = poll(&mut watched, left.as_ref());
            // Nothing is ever said to a subreaper.
            if !watched[0].revents().is_empty() {
                return Ok(());
            }
            // Who has ended is found below.
            while let Ok(Some(_)) = deaths.read_signal() {}
            let had_ended = self.ended.is_some();
            let is_last = self.wait_for_dead();
            if let Some(status) = self.ended.filter(|_| !had_ended) {
                let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default());
                self.say(Said::Ended(code))?;
            }
            if is_last || self.ended.is_some() && self.is_alone() {
                return Ok(());
            }
            let of_machine = sysinfo().procs;
            let is_calm = tree::is_first() && of_machine.saturating_sub(seen) <= FEW;
            (glance, seen) = (if is_calm { (glance * 2).min(LATER_LOOK) } else { GLANCE }, of_machine);
            let has_grown = of_machine.saturating_sub(known) > GROWTH;
            if has_grown || Instant::now() >= look_at {
                known = if has_grown { of_machine } else { known.min(of_machine) };
                pause = (pause * 2).min(LATER_LOOK);
                let began = Instant::now();
                if let Some(exceeded) = self.exceeded(&mut looked) {
                    return self.say(exceeded);
                }
                look_at = Instant::now() + pause_after(began.elapsed(), pause, LATEST_LOOK);
            }
        }
    }

    fn say(&mut self, said: Said) -> io::Result<()> {
        writeln!(self.socket, "{said}")
    }

    /// What the processes have too much of, if anything. It is looked up now and then, so for a moment they may have more.
    fn exceeded(&self, looked: &mut Looked) -> Option<Said> {
        let processes = looked.fresh(getpid(), self.init.as_slice())?;
        if processes.len() > MOST_PROCESSES {
            return Some(Said::TooMany);
        }
        Held::by(&processes, || true).too_much_memory(self.memory).map(Said::TooMuchMemory)
    }

    /// Takes the status of the command and of orphans, once they have ended, and says whether there are no others.
    fn wait_for_dead(&mut self) -> bool {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.command => self.ended = Some(ExitStatus::from_raw(status.as_raw())),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return false,
                Err(_) => return true,
            }
        }
    }

    /// Whether there is nothing but the first process of the namespace.
    fn is_alone(&self) -> bool {
        let has = |pid: Pid, count: usize| tree::children(pid).is_some_and(|children| children.len() == count);
        has(getpid(), self.init.iter().count()) && self.init.is_none_or(|init| has(init, 0))
    }

    /// Ends everything below this process, until it has no child left.
    fn clear(&mut self) {
        // What ends with the first process of its namespace tells nobody what it used, unless there are too many to wait for each.
        if let Some(init) = self.init
            && !self.is_alone()
            && tree::pids(getpid(), &[init]).len() <= MOST_PROCESSES
        {
            tree::end(getpid(), &[init], EACH);
        }
        let until = Instant::now() + GONE;
        if tree::is_first() {
            tree::end_all();
            while !self.wait_for_dead() && Instant::now() < until {
                thread::sleep(PAUSE);
            }
            return;
        }
        loop {
            tree::end(getpid(), &[], GONE);
            // Orphans have become children of this process.
            if self.wait_for_dead() || Instant::now() > until {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_subreaper_says_is_understood() {
        for said in [Said::Ended(137), Said::TooMany, Said::TooMuchMemory(1 << 30), Said::Used(Used { cpu_us: 12, peak_memory: 34 })] {
            assert_eq!(Said::read(&format!("{said}\n")), Some(said));
        }
        assert_eq!(Said::read(""), None);
    }
}
