//! What each kind of child may keep.

use std::ffi::{OsStr, OsString};
use std::iter;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rustix::process::{Resource, Signal};
use rustix::thread::CapabilitySet;

use super::user::{JobUser, OF_ROOT};

/// What a child may keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Profile {
    /// A script engine: no contents of files but the program and the system's libraries, no socket, no process, an empty environment.
    Engine {
        /// Bytes of address space; allocating more ends the engine.
        address_space: u64,
    },
    /// A redis-server: the system's programs and libraries to read, these directories to write, no socket but at a path.
    Redis {
        /// Its data and socket directories; they must exist.
        writable: Vec<PathBuf>,
    },
    /// What starts and watches the processes of jobs. It runs no script itself, so it may do what hero may, but has an empty environment, and sees
    /// no more than what its jobs may.
    Supervisor(SupervisorRights),
    /// The process of a job: the system's programs and libraries to read, a directory of its own to write, no socket but pairs.
    Job(JobRights),
}

/// What a supervisor and its jobs are to see, besides what all jobs do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SupervisorRights {
    /// Where they write.
    pub writable: PathBuf,
    /// Where they write, too, and are at home.
    pub home: Option<PathBuf>,
    /// That is removed with the supervisor, if nothing is in it any more.
    pub is_temporary: bool,
    /// What jobs may read and run.
    pub readable: Vec<PathBuf>,
    /// The [group](crate::cgroup) that they are in.
    pub group: Option<PathBuf>,
}

impl SupervisorRights {
    /// Where they write.
    pub(super) fn written(&self) -> impl Iterator<Item = &PathBuf> {
        iter::once(&self.writable).chain(&self.home)
    }
}

/// What the process of a job may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRights {
    /// Its own directory.
    pub writable: PathBuf,
    /// One more, in which it is at home.
    pub home: Option<PathBuf>,
    /// What it may read and run besides the system's programs.
    pub readable: Vec<PathBuf>,
    /// Bytes of memory that one process may have for data; asking for more fails.
    pub memory: u64,
    /// Whose process it is.
    pub user: JobUser,
    /// It forks for jobs, and its forks confine themselves further.
    pub confines_forks: bool,
}

impl JobRights {
    /// Those of a process that has one directory, and sees the system's programs only.
    pub fn new(writable: impl Into<PathBuf>, memory: u64, user: JobUser) -> Self {
        Self { writable: writable.into(), home: None, readable: Vec::new(), memory, user, confines_forks: false }
    }
}

/// Before the names of variables that are for the job only. `hero exec` takes it away: a name such as `LD_PRELOAD` must not
/// mean anything before the confinement is there.
pub const OF_JOB: &str = "HERO_OF_JOB_";
/// The variable in which a job finds the number of the descriptor for its result.
pub const RESULT: &str = "HERO_RESULT_FD";
/// The variable in which a job finds the number of the socket on which it asks, where it has one.
pub const HOST_CALLS: &str = "HERO_ASK_FD";
/// The bytes that one file of a job may have.
const LARGEST_FILE: u64 = 256 << 20;
/// The bytes that a process of a job may keep from being swapped out.
const LOCKED: u64 = 64 << 10;
/// The signals that may wait for processes of a job, and its timers, each of which keeps one ready.
const SIGNALS: u64 = 1024;
/// The processes and threads that a job may have: it is ended at a quarter of that, but not at once.
const MOST_TASKS: u64 = 1024;
/// The threads that engines of one user may have.
const MOST_TASKS_OF_AN_ENGINE: u64 = 64;

/// The arguments that say where somebody is at home, if that is a directory of its own.
pub(super) fn in_home(home: Option<&PathBuf>) -> impl Iterator<Item = &OsStr> {
    home.into_iter().flat_map(|home| [OsStr::new("--home"), home.as_os_str()])
}

impl Profile {
    pub(super) const fn word(&self) -> &'static str {
        match self {
            Self::Engine { .. } => "engine",
            Self::Redis { .. } => "redis",
            Self::Supervisor(_) => "supervisor",
            Self::Job(_) => "job",
        }
    }

    /// The signal that the child gets when its parent dies. Redis may have something to save, an engine has not. A supervisor
    /// has jobs to end, and sees that its socket is closed.
    pub(super) const fn death_signal(&self) -> Option<Signal> {
        match self {
            Self::Engine { .. } | Self::Job(_) => Some(Signal::KILL),
            Self::Redis { .. } => Some(Signal::TERM),
            Self::Supervisor(_) => None,
        }
    }

    /// The variables that are handed on.
    pub(super) fn environment(&self) -> Vec<(OsString, OsString)> {
        let handed_on = |names: &[&str]| names.iter().filter_map(|name| Some(((*name).into(), std::env::var_os(name)?))).collect();
        match self {
            Self::Engine { .. } => Vec::new(),
            // Those of jobs, for the jobs.
            Self::Supervisor(_) => std::env::vars_os().filter(|(name, _)| name.as_bytes().starts_with(OF_JOB.as_bytes())).collect(),
            Self::Redis { .. } => handed_on(&["PATH", "TZ"]),
            Self::Job(_) => {
                let of_job = |(name, value): (OsString, _)| {
                    Some((OsStr::from_bytes(name.as_bytes().strip_prefix(OF_JOB.as_bytes())?).into(), value))
                };
                std::env::vars_os().filter_map(of_job).collect()
            }
        }
    }

    /// What it keeps of the rights of root, if it stays root.
    pub(super) fn capabilities(&self) -> CapabilitySet {
        match self {
            Self::Engine { .. } | Self::Job(_) => CapabilitySet::empty(),
            // The data directory may be somebody else's.
            Self::Redis { .. } => CapabilitySet::DAC_OVERRIDE | CapabilitySet::FOWNER,
            // What its jobs have open it sees only so.
            Self::Supervisor(_) => OF_ROOT | CapabilitySet::SYS_PTRACE,
        }
    }

    /// How many processes and threads it may have, where these can be counted.
    pub(super) const fn most_tasks(&self) -> Option<u64> {
        match self {
            Self::Engine { .. } => Some(MOST_TASKS_OF_AN_ENGINE),
            Self::Job(_) => Some(MOST_TASKS),
            Self::Redis { .. } | Self::Supervisor(_) => None,
        }
    }

    /// The limits to set, if they are lower than those that the child has.
    pub(super) fn limits(&self) -> Vec<(Resource, u64)> {
        match self {
            Self::Engine { address_space } => {
                vec![(Resource::Core, 0), (Resource::Nofile, 64), (Resource::Fsize, 0), (Resource::As, *address_space)]
            }
            Self::Redis { .. } => vec![(Resource::Core, 0), (Resource::Nofile, 65_536)],
            Self::Supervisor(_) => vec![(Resource::Core, 0)],
            // Some interpreters reserve far more address space than they use, so only what is for data counts.
            Self::Job(JobRights { memory, .. }) => {
                vec![
                    (Resource::Core, 0),
                    (Resource::Nofile, 1024),
                    (Resource::Fsize, LARGEST_FILE),
                    (Resource::Data, *memory),
                    (Resource::Memlock, LOCKED),
                    (Resource::Msgqueue, 0),
                    (Resource::Sigpending, SIGNALS),
                ]
            }
        }
    }
}
