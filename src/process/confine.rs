//! `hero exec PROFILE --parent PID … -- program args…`: gives up everything a child does not need, then becomes the program.
//!
//! It is a program of its own, because the steps must be taken in the child between fork and exec, where a multi-threaded program
//! cannot run Rust code safely. Each step that the system does not offer is left out and *reported*: the program finds in the variable [`CONFINEMENT`]
//! what is missing and, behind a semicolon, the steps in force, such as `weak: no seccomp, no setuid; process_group,umask,environment,
//! descriptors,rlimits,no_new_privs,parent_death_signal,landlock:7`.

mod landlock;
mod request;

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};

use rustix::fs::Mode;
use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, geteuid, getppid, getrlimit, set_parent_process_death_signal, setpgid, setrlimit, setsid, umask,
};
use rustix::thread::set_no_new_privs;

use request::Request;

/// The variable in which a confined program finds the steps in force.
pub const CONFINEMENT: &str = "HERO_CONFINEMENT";

/// What this version does not do, each with what a program that broke out of its interpreter could therefore do.
const LACKS: [&str; 5] = [
    "seccomp",           // Make any system call.
    "network namespace", // Send UDP; connect to unix sockets, that of the private Redis too, whose password it does not know.
    "mount namespace",   // See the names, sizes and modes of files, and change the modes of its user's; landlock guards the contents.
    "PID namespace",     // Start processes that outlive it.
    "process limit",     // Start as many as its user may.
];

/// The steps that are missing in a report of a program's confinement although this version takes them: the system does not offer them,
/// or hero runs as root.
pub fn left_out(report: &str) -> Vec<&str> {
    let weak = report.strip_prefix("weak: ").map_or("", |rest| rest.split(';').next().unwrap_or(rest));
    let missing = weak.split(", ").filter_map(|name| name.strip_prefix("no "));
    missing.filter(|name| !LACKS.contains(name)).collect()
}

/// The exit code when confinement or exec failed, as `env` and `nohup` have it.
const FAILED: u8 = 125;

/// What a child may keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Profile {
    /// A script engine: no contents of files but the program and the system's libraries, no TCP, an empty environment.
    Engine {
        /// Bytes of address space; allocating more ends the engine.
        address_space: u64,
    },
    /// A redis-server: the system's programs and libraries to read, these directories to write, no TCP.
    Redis {
        /// Its data and socket directories; they must exist.
        writable: Vec<PathBuf>,
    },
    /// What starts and watches the processes of jobs. It runs no script itself, so it may do what hero may, but has an empty environment.
    Supervisor,
    /// The process of a job: the system's programs and libraries to read, a directory of its own to write, no TCP.
    Job(JobRights),
}

/// What the process of a job may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRights {
    /// Its own directory.
    pub writable: PathBuf,
    /// What it may read and run besides the system's programs.
    pub readable: Vec<PathBuf>,
    /// Bytes of memory that one process may have for data; asking for more fails.
    pub memory: u64,
}

/// Before the names of variables that are for the job only. `hero exec` takes it away: a name such as `LD_PRELOAD` must not
/// mean anything before the confinement is there.
pub const OF_JOB: &str = "HERO_OF_JOB_";
/// The variable in which a job finds the number of the descriptor for its result.
pub const RESULT: &str = "HERO_RESULT_FD";
/// The bytes that one file of a job may have.
const LARGEST_FILE: u64 = 256 << 20;
/// How much sooner than others the system ends the process of a job when it has no memory left, at most 1000.
const ENDED_SOONER: &str = "500";

impl Profile {
    const fn word(&self) -> &'static str {
        match self {
            Self::Engine { .. } => "engine",
            Self::Redis { .. } => "redis",
            Self::Supervisor => "supervisor",
            Self::Job(_) => "job",
        }
    }

    /// The signal that the child gets when its parent dies. Redis may have something to save, an engine has not. A supervisor
    /// has jobs to end, and sees that its socket is closed.
    const fn death_signal(&self) -> Option<Signal> {
        match self {
            Self::Engine { .. } | Self::Job(_) => Some(Signal::KILL),
            Self::Redis { .. } => Some(Signal::TERM),
            Self::Supervisor => None,
        }
    }

    /// The variables that are handed on.
    fn environment(&self) -> Vec<(OsString, OsString)> {
        let handed_on = |names: &[&str]| names.iter().filter_map(|name| Some(((*name).into(), std::env::var_os(name)?))).collect();
        match self {
            Self::Engine { .. } | Self::Supervisor => Vec::new(),
            Self::Redis { .. } => handed_on(&["PATH", "TZ"]),
            Self::Job(_) => {
                let of_job = |(name, value): (OsString, _)| {
                    Some((OsStr::from_bytes(name.as_bytes().strip_prefix(OF_JOB.as_bytes())?).into(), value))
                };
                std::env::vars_os().filter_map(of_job).collect()
            }
        }
    }

    /// The limits to set, if they are lower than those that the child has.
    fn limits(&self) -> Vec<(Resource, u64)> {
        match self {
            Self::Engine { address_space } => {
                vec![(Resource::Core, 0), (Resource::Nofile, 64), (Resource::Fsize, 0), (Resource::As, *address_space)]
            }
            Self::Redis { .. } => vec![(Resource::Core, 0), (Resource::Nofile, 65_536)],
            Self::Supervisor => vec![(Resource::Core, 0)],
            // Some interpreters reserve far more address space than they use, so only what is for data counts.
            Self::Job(JobRights { memory, .. }) => {
                vec![(Resource::Core, 0), (Resource::Nofile, 1024), (Resource::Fsize, LARGEST_FILE), (Resource::Data, *memory)]
            }
        }
    }
}

/// The command that runs `program` confined by `profile`, as a child of this process. `hero` is this program.
///
/// The child is killed when its handle is dropped. Start it through a [`Spawner`](super::Spawner): it dies with the thread
/// that spawned it.
pub fn command(hero: &Path, profile: &Profile, program: &Path, args: &[impl AsRef<OsStr>]) -> tokio::process::Command {
    let mut command = tokio::process::Command::from(plain_command(hero, profile, program, args));
    command.kill_on_drop(true);
    command
}

/// The same for a program that has no runtime and looks after its children itself.
pub fn plain_command(hero: &Path, profile: &Profile, program: &Path, args: &[impl AsRef<OsStr>]) -> std::process::Command {
    let mut command = std::process::Command::new(hero);
    command.args(["exec", profile.word(), "--parent"]).arg(std::process::id().to_string());
    match profile {
        Profile::Engine { address_space } => {
            command.arg("--address-space").arg(address_space.to_string());
        }
        Profile::Redis { writable } => {
            for directory in writable {
                command.arg("--rw").arg(directory);
            }
        }
        Profile::Supervisor => {}
        Profile::Job(rights) => {
            command.arg("--memory").arg(rights.memory.to_string()).arg("--rw").arg(&rights.writable);
            for path in &rights.readable {
                command.arg("--ro").arg(path);
            }
        }
    }
    command.arg("--").arg(program).args(args);
    command
}

/// The body of the hidden `hero exec`: `args` are what follows the word `exec`. Returns only when it failed.
#[expect(clippy::disallowed_macros, reason = "a child says why it failed to its parent, which shows it harmless")]
pub fn exec_main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let failure = match Request::parse(args) {
        Ok(request) => exec(&request),
        Err(usage) => usage,
    };
    eprintln!("hero exec: {failure}");
    ExitCode::from(FAILED)
}

/// Takes the steps and becomes the program. Gives what went wrong.
fn exec(request: &Request) -> String {
    let of_job = matches!(request.profile, Profile::Job(_));
    let mut steps = Steps { silent: of_job, ..Steps::default() };
    steps.missing.extend(LACKS.map(ToOwned::to_owned));
    if geteuid().is_root() {
        // It stays root, with every capability.
        steps.missing.push("setuid".to_owned());
    }
    // The process of a job is in a session of its own, without the terminal that hero may have been started at.
    steps.take("process_group", if of_job { setsid().map(drop) } else { setpgid(None, None) });
    umask(Mode::RWXG | Mode::RWXO);
    steps.done.push("umask".to_owned());

    let mut command = std::process::Command::new(&request.program);
    command.args(&request.args).env_clear().envs(request.profile.environment());
    steps.take("environment", Ok::<_, io::Error>(()));
    // Descriptors that hero opened are closed at exec anyway. Others may have been left open by a shell, make or a service manager.
    close_fds::set_fds_cloexec(3, &[]);
    steps.take("descriptors", Ok::<_, io::Error>(()));
    // What a job is to write its result to has come as descriptor 0.
    let result = of_job.then(result_descriptor).transpose();
    match &result {
        Ok(Some(result)) => drop(command.env(RESULT, result.as_raw_fd().to_string()).stdin(Stdio::null())),
        Ok(None) => {}
        Err(error) => return format!("no descriptor for the result: {error}"),
    }
    if of_job {
        // So a job ends before its supervisor, which could not end the rest of the job any more.
        let _ = std::fs::write("/proc/self/oom_score_adj", ENDED_SOONER);
    }

    steps.take("rlimits", request.profile.limits().into_iter().try_for_each(|(resource, most)| lower(resource, most)));
    steps.take("no_new_privs", set_no_new_privs(true));
    steps.take("parent_death_signal", set_parent_process_death_signal(request.profile.death_signal()));
    // If the parent died before the signal was set, it is never sent.
    if getppid() != Pid::from_raw(request.parent) {
        return format!("the parent {} is gone", request.parent);
    }
    let restricted = match &request.profile {
        Profile::Supervisor => None,
        profile => Some(landlock::restrict(profile, &request.program)),
    };
    match restricted {
        None => {}
        Some(Ok(abi)) => {
            steps.done.push(format!("landlock:{abi}"));
            for (name, since, kernel) in [("TCP rules", 4, "6.7"), ("signal rules", 6, "6.12")] {
                if abi < since {
                    steps.miss(name, &format!("they need Linux {kernel}"));
                }
            }
        }
        Some(Err(why)) => steps.miss("landlock", &why),
    }

    command.env(CONFINEMENT, steps.report());
    let error = command.exec();
    format!("{} can't be run: {error}", request.program.display())
}

/// Makes the descriptor of the result from descriptor 0. It is 3, the first that is free, and stays open in the program.
fn result_descriptor() -> io::Result<OwnedFd> {
    let result = fcntl_dupfd_cloexec(io::stdin(), 3)?;
    fcntl_setfd(&result, FdFlags::empty())?;
    Ok(result)
}

/// Lowers a limit to `most`; one that is lower already stays.
fn lower(resource: Resource, most: u64) -> rustix::io::Result<()> {
    let most = getrlimit(resource).maximum.map_or(most, |maximum| maximum.min(most));
    setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
}

#[derive(Default)]
struct Steps {
    done: Vec<String>,
    missing: Vec<String>,
    /// Whether stderr is somebody else's: the log of a job.
    silent: bool,
}

impl Steps {
    fn take<E: std::fmt::Display>(&mut self, name: &str, result: Result<(), E>) {
        match result {
            Ok(()) => self.done.push(name.to_owned()),
            Err(error) => self.miss(name, &error),
        }
    }

    #[expect(clippy::disallowed_macros, reason = "a child says why it failed to its parent, which shows it harmless")]
    fn miss(&mut self, name: &str, why: &dyn std::fmt::Display) {
        self.missing.push(name.to_owned());
        if self.silent {
            return;
        }
        eprintln!("hero exec: without {name}: {why}");
    }

    fn report(&self) -> String {
        let missing: Vec<String> = self.missing.iter().map(|name| format!("no {name}")).collect();
        let weak = if missing.is_empty() { String::new() } else { format!("weak: {}; ", missing.join(", ")) };
        format!("{weak}{}", self.done.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_version_of_ours_does_is_not_left_out() {
        let report = |more: &[&str]| {
            let mut steps = Steps { done: vec!["umask".into(), "landlock:2".into()], ..Steps::default() };
            steps.missing.extend(LACKS.iter().chain(more).map(ToString::to_string));
            steps.report()
        };
        assert_eq!(left_out(&report(&[])), Vec::<&str>::new());
        assert_eq!(left_out(&report(&["setuid", "TCP rules"])), ["setuid", "TCP rules"]);
        assert_eq!(left_out("umask,landlock:7"), Vec::<&str>::new());
    }
}
