//! `hero keep`: starts a command, confined like the process of a job, and holds everything that it starts until it is
//! told to end it.
//!
//! Descriptor 0 is a socket. The subreaper reports there how the command ended. Processes that the command left running
//! continue below the subreaper, which adopts them, until none is left or the other end of the socket is closed or shut
//! for writing. Then the subreaper stops and kills everything below it, in any session, and reports the usage.

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
use super::held::{Checks, Exceeded, FIRST_LOOK, LATER_LOOK, LATEST_LOOK, MOST_PROCESSES, of_status, pause_after};
use super::tree;
use super::{Init, OURSELVES};

/// The exit code when the subreaper itself failed.
const FAILED: u8 = 70;
/// Timeout for killed processes to disappear. A subreaper that gave up would release the rest.
pub const KILL_TIMEOUT: Duration = Duration::from_secs(30);
/// Timeout for ending processes one by one, before all are ended at once.
const END_EACH_TIMEOUT: Duration = Duration::from_millis(500);
/// Interval of checks of the number of processes of the whole machine, which are cheap, and the growth that triggers a
/// count of the processes below. So a fork bomb is noticed before it disturbs others. If one call can end everything
/// below, the checks are less frequent while the number does not grow.
const GLANCE_INTERVAL: Duration = Duration::from_millis(10);
const COUNT_AT_GROWTH: u16 = 64;
/// Changes up to this number are not growth: other processes of the machine come and go.
const IGNORED_CHANGE: u16 = 8;
/// Pause before the next look at processes that were killed at once.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// Prefix of the number of bytes.
const TOO_MUCH_MEMORY: &str = "memory ";
/// Prefix of the usage.
const USED: &str = "used ";

/// The usage of a command and everything that it started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Used {
    /// Processor time, in microseconds.
    pub cpu_us: u64,
    /// The peak memory of a single process, in bytes.
    pub peak_memory: u64,
}

/// A report of a subreaper on its socket, one per line. The usage comes last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubreaperReport {
    /// The command ended by itself, with this code, or 128 plus the number of the signal that ended it.
    Ended(i32),
    /// There were more than [`MOST_PROCESSES`], so all were killed.
    TooMany,
    /// They had more than [`MOST_DESCRIPTORS`](super::held::MOST_DESCRIPTORS) together, so all were killed.
    TooManyDescriptors,
    /// All processes together had more than this number of bytes of memory, so all were killed.
    TooMuchMemory(u64),
    /// A process hid what it had open, so all were killed.
    Hidden,
    /// No process is left. This is the usage.
    Used(Used),
}

impl SubreaperReport {
    /// Reads a line.
    pub fn read(line: &str) -> Option<Self> {
        let line = line.trim_end();
        if let Some(used) = line.strip_prefix(USED) {
            let (cpu_us, peak_memory) = used.split_once(' ')?;
            return Some(Self::Used(Used { cpu_us: cpu_us.parse().ok()?, peak_memory: peak_memory.parse().ok()? }));
        }
        match line.strip_prefix(TOO_MUCH_MEMORY) {
            _ if line == "too many" => Some(Self::TooMany),
            _ if line == "too many descriptors" => Some(Self::TooManyDescriptors),
            _ if line == "hidden" => Some(Self::Hidden),
            Some(most) => most.parse().ok().map(Self::TooMuchMemory),
            None => line.parse().ok().map(Self::Ended),
        }
    }
}

impl From<Exceeded> for SubreaperReport {
    fn from(exceeded: Exceeded) -> Self {
        match exceeded {
            Exceeded::Processes => Self::TooMany,
            Exceeded::Descriptors => Self::TooManyDescriptors,
            Exceeded::Memory(most) => Self::TooMuchMemory(most),
            Exceeded::Hidden => Self::Hidden,
            Exceeded::Disk => unreachable!("no directory is counted here"),
        }
    }
}

impl fmt::Display for SubreaperReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended(code) => write!(f, "{code}"),
            Self::TooMany => f.write_str("too many"),
            Self::TooManyDescriptors => f.write_str("too many descriptors"),
            Self::Hidden => f.write_str("hidden"),
            Self::TooMuchMemory(most) => write!(f, "{TOO_MUCH_MEMORY}{most}"),
            Self::Used(used) => write!(f, "{USED}{} {}", used.cpu_us, used.peak_memory),
        }
    }
}

/// Returns the command that starts a subreaper for a shell command with these rights. `readable` is not used: the
/// command reads only the paths that all jobs may read. `hero` is this program; `working` is the directory to run in.
///
/// All processes together may have a [fixed multiple](super::held::MEMORY_FACTOR) of the memory of one. Descriptor 0 has to
/// be a socket. Variables whose names begin with [`confine::OF_JOB`] are passed to the command. All processes are in
/// `group`, if one is given.
pub fn command(hero: &Path, rights: &JobRights, working: &Path, group: Option<&Path>, shell_command: &str) -> tokio::process::Command {
    let (memory, user) = (rights.memory.to_string(), rights.user.to_string());
    let at_home = rights.home.as_ref().unwrap_or(&rights.writable);
    let args: [&OsStr; 6] =
        ["keep".as_ref(), memory.as_ref(), rights.writable.as_os_str(), at_home.as_ref(), user.as_ref(), shell_command.as_ref()];
    let (writable, home, group) = (rights.writable.clone(), rights.home.clone(), group.map(Path::to_owned));
    let seen = SupervisorRights { writable, home, is_temporary: false, readable: Vec::new(), group };
    let mut command = confine::command(hero, &Profile::Supervisor(seen), hero, &args);
    // It ends by itself when the socket is closed, and ends everything that the command started.
    command.current_dir(working).env_clear().kill_on_drop(false);
    command
}

/// The body of the hidden `hero keep`: `args` follow that word.
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
    let mut checks = Checks::start().map_err(said("no thread can be started"))?;
    // Whoever asked for the command counts its files.
    checks.begin(memory, None);
    let child = start(&rights, &shell_command).map_err(said("no process can be started"))?;
    let mut subreaper = Subreaper { socket, command: Pid::from_child(&child), init: init.as_ref().map(Init::pid), checks, ended: None };
    let kept = subreaper.watch().map_err(said("the processes cannot be watched"));
    subreaper.clear();
    // If the server is gone, nobody reads this.
    let _ = subreaper.say(SubreaperReport::Used(used()));
    kept
}

/// Returns the usage of processes that have ended and were reaped here or below. Before its exec, each process was a
/// copy of this program, so the peak memory of a smaller program is unknown.
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

/// Starts the command. It inherits stdout and stderr of this process, which does not keep them.
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

/// Returns a descriptor that is readable when a child or an adopted orphan has ended. It blocks SIGCHLD here, so it is
/// called after the start of the command, which has no signal blocked.
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
    checks: Checks,
    /// The exit status of the command, once it has ended.
    ended: Option<ExitStatus>,
}

impl Subreaper {
    /// Waits until no process is left, or until the other end of the socket is closed.
    fn watch(&mut self) -> io::Result<()> {
        let end = pidfd_open(self.command, PidfdFlags::empty())?;
        let deaths = deaths()?;
        let (mut look_at, mut pause, mut known) = (Instant::now() + FIRST_LOOK, FIRST_LOOK, sysinfo().procs);
        let (mut glance, mut seen) = (GLANCE_INTERVAL, known);
        loop {
            let left = Timespec::try_from(look_at.saturating_duration_since(Instant::now()).min(glance)).ok();
            let mut watched = vec![PollFd::new(&self.socket, PollFlags::IN), PollFd::new(&deaths, PollFlags::IN), self.checks.awaited()];
            if self.ended.is_none() {
                watched.push(PollFd::new(&end, PollFlags::IN));
            }
            // It makes no difference whether the call was interrupted.
            let _ = poll(&mut watched, left.as_ref());
            // Nothing is ever sent to a subreaper.
            if !watched[0].revents().is_empty() {
                return Ok(());
            }
            if let Err(exceeded) = self.checks.found() {
                return self.say(exceeded.into());
            }
            // The processes that ended are found below.
            while let Ok(Some(_)) = deaths.read_signal() {}
            let had_ended = self.ended.is_some();
            let is_last = self.wait_for_dead();
            if let Some(status) = self.ended.filter(|_| !had_ended) {
                let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default());
                self.say(SubreaperReport::Ended(code))?;
            }
            if is_last || self.ended.is_some() && self.is_alone() {
                return Ok(());
            }
            let of_machine = sysinfo().procs;
            let is_calm = tree::is_first() && of_machine.saturating_sub(seen) <= IGNORED_CHANGE;
            (glance, seen) = (if is_calm { (glance * 2).min(LATER_LOOK) } else { GLANCE_INTERVAL }, of_machine);
            let has_grown = of_machine.saturating_sub(known) > COUNT_AT_GROWTH;
            if has_grown || Instant::now() >= look_at {
                known = if has_grown { of_machine } else { known.min(of_machine) };
                pause = (pause * 2).min(LATER_LOOK);
                let began = Instant::now();
                if let Err(exceeded) = self.checks.count(getpid(), self.init.as_slice()) {
                    return self.say(exceeded.into());
                }
                look_at = Instant::now() + pause_after(began.elapsed(), pause, LATEST_LOOK);
            }
        }
    }

    fn say(&mut self, said: SubreaperReport) -> io::Result<()> {
        writeln!(self.socket, "{said}")
    }

    /// Reaps the command and orphans that have ended. Returns true if no child is left.
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

    /// Whether only the first process of the namespace is left.
    fn is_alone(&self) -> bool {
        let has = |pid: Pid, count: usize| tree::children(pid).is_some_and(|children| children.len() == count);
        has(getpid(), self.init.iter().count()) && self.init.is_none_or(|init| has(init, 0))
    }

    /// Ends everything below this process, until it has no child left.
    fn clear(&mut self) {
        // A look that lets go on what it had stopped would let processes start others while they are ended.
        self.checks.end();
        // The usage of processes that end with the first process of their namespace is lost. So end them one by one,
        // unless there are too many.
        if let Some(init) = self.init
            && !self.is_alone()
            && tree::pids(getpid(), &[init]).len() <= MOST_PROCESSES
        {
            tree::end(getpid(), &[init], END_EACH_TIMEOUT);
        }
        let until = Instant::now() + KILL_TIMEOUT;
        if tree::is_first() {
            tree::end_all();
            while !self.wait_for_dead() && Instant::now() < until {
                thread::sleep(POLL_INTERVAL);
            }
            return;
        }
        loop {
            tree::end(getpid(), &[], KILL_TIMEOUT);
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
        for said in [
            SubreaperReport::Ended(137),
            SubreaperReport::TooMany,
            SubreaperReport::TooManyDescriptors,
            SubreaperReport::Hidden,
            SubreaperReport::TooMuchMemory(1 << 30),
            SubreaperReport::Used(Used { cpu_us: 12, peak_memory: 34 }),
        ] {
            assert_eq!(SubreaperReport::read(&format!("{said}\n")), Some(said));
        }
        assert_eq!(SubreaperReport::read(""), None);
    }
}
