//! The rights of each kind of child.

use std::ffi::{OsStr, OsString};
use std::iter;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rustix::process::{Resource, Signal};
use rustix::thread::CapabilitySet;

use super::user::{JobUser, OF_ROOT};

/// The rights of a child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Profile {
    /// A script engine: reads only the program and the system's libraries; no socket, no process, an empty environment.
    Engine {
        /// Bytes of address space; allocating more ends the engine.
        address_space: u64,
    },
    /// A redis-server: reads the system's programs and libraries, writes to these directories, and uses only sockets
    /// with a path.
    Redis {
        /// Its data and socket directories; they must exist.
        writable: Vec<PathBuf>,
    },
    /// The process that starts and watches the processes of jobs. It runs no script itself, so it may do what hero may.
    /// But it has an empty environment, and sees only what its jobs may see.
    Supervisor(SupervisorRights),
    /// The process of a job: reads the system's programs and libraries, writes to a directory of its own, and uses only
    /// socket pairs.
    Job(JobRights),
}

/// Directories of a supervisor and its jobs, besides those that all jobs see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SupervisorRights {
    /// The directory to which they write.
    pub writable: PathBuf,
    /// The home directory of the job, to which they also write.
    pub home: Option<PathBuf>,
    /// True if the directory is removed with the supervisor, provided that it is empty.
    pub is_temporary: bool,
    /// The paths that jobs may read and run.
    pub readable: Vec<PathBuf>,
    /// Their [group](crate::cgroup).
    pub group: Option<PathBuf>,
}

impl SupervisorRights {
    /// The directories to which they write.
    pub(super) fn written(&self) -> impl Iterator<Item = &PathBuf> {
        iter::once(&self.writable).chain(&self.home)
    }
}

/// The rights of the process of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRights {
    /// Its own directory.
    pub writable: PathBuf,
    /// A second directory, its home.
    pub home: Option<PathBuf>,
    /// Paths that it may read and run besides the system's programs.
    pub readable: Vec<PathBuf>,
    /// Bytes of memory that one process may have for data; asking for more fails.
    pub memory: u64,
    /// The user of the process.
    pub user: JobUser,
    /// True for a process that forks for jobs, whose forks confine themselves further.
    pub confines_forks: bool,
}

impl JobRights {
    /// Returns the rights of a process that has one directory, and sees only the system's programs.
    pub fn new(writable: impl Into<PathBuf>, memory: u64, user: JobUser) -> Self {
        Self { writable: writable.into(), home: None, readable: Vec::new(), memory, user, confines_forks: false }
    }
}

/// Prefix of the names of variables for the job only. `hero exec` removes it: a name such as `LD_PRELOAD` must have no
/// effect before the confinement is complete.
pub const OF_JOB: &str = "HERO_OF_JOB_";
/// The variable with the number of the descriptor for the job's result.
pub const RESULT: &str = "HERO_RESULT_FD";
/// The variable with the number of the socket for host calls, if the job has one.
pub(crate) const HOST_CALLS: &str = "HERO_ASK_FD";
/// The maximum size of a file of a job, in bytes.
const LARGEST_FILE: u64 = 256 << 20;
/// The maximum memory that a process of a job may lock, in bytes.
const MAX_LOCKED_BYTES: u64 = 64 << 10;
/// The maximum number of pending signals of a job's processes, including its timers, each of which reserves one.
const MAX_PENDING_SIGNALS: u64 = 1024;
/// The maximum number of processes and threads of a job. It is killed at a quarter of this, but not at once.
const MOST_TASKS: u64 = 1024;
/// The maximum number of threads of engines of one user.
const MOST_TASKS_OF_AN_ENGINE: u64 = 64;

/// Returns the arguments for the home directory, if there is one.
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

    /// Returns the signal that the child gets when its parent dies. Redis may have data to save, an engine has none. A
    /// supervisor has jobs to end, and notices that its socket is closed.
    pub(super) const fn death_signal(&self) -> Option<Signal> {
        match self {
            Self::Engine { .. } | Self::Job(_) => Some(Signal::KILL),
            Self::Redis { .. } => Some(Signal::TERM),
            Self::Supervisor(_) => None,
        }
    }

    /// Returns the variables that are handed on.
    pub(super) fn environment(&self) -> Vec<(OsString, OsString)> {
        let handed_on = |names: &[&str]| names.iter().filter_map(|name| Some(((*name).into(), std::env::var_os(name)?))).collect();
        match self {
            Self::Engine { .. } => Vec::new(),
            // Variables of jobs, for the jobs.
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

    /// Returns the capabilities that it keeps if it stays root.
    pub(super) fn capabilities(&self) -> CapabilitySet {
        match self {
            Self::Engine { .. } | Self::Job(_) => CapabilitySet::empty(),
            // The data directory may belong to another user.
            Self::Redis { .. } => CapabilitySet::DAC_OVERRIDE | CapabilitySet::FOWNER,
            // It needs these to see what its jobs have open and how much of what they mapped exists.
            Self::Supervisor(_) => OF_ROOT | CapabilitySet::SYS_PTRACE | CapabilitySet::CHECKPOINT_RESTORE,
        }
    }

    /// Returns the maximum number of processes and threads, if these can be counted.
    pub(super) const fn most_tasks(&self) -> Option<u64> {
        match self {
            Self::Engine { .. } => Some(MOST_TASKS_OF_AN_ENGINE),
            Self::Job(_) => Some(MOST_TASKS),
            Self::Redis { .. } | Self::Supervisor(_) => None,
        }
    }

    /// Returns the limits to set, if they are lower than those of the child.
    pub(super) fn limits(&self) -> Vec<(Resource, u64)> {
        match self {
            Self::Engine { address_space } => {
                vec![(Resource::Core, 0), (Resource::Nofile, 64), (Resource::Fsize, 0), (Resource::As, *address_space)]
            }
            Self::Redis { .. } => vec![(Resource::Core, 0), (Resource::Nofile, 65_536)],
            Self::Supervisor(_) => vec![(Resource::Core, 0)],
            // Some interpreters reserve far more address space than they use, so only memory for data counts.
            Self::Job(JobRights { memory, .. }) => {
                vec![
                    (Resource::Core, 0),
                    (Resource::Nofile, 1024),
                    (Resource::Fsize, LARGEST_FILE),
                    (Resource::Data, *memory),
                    (Resource::Memlock, MAX_LOCKED_BYTES),
                    (Resource::Msgqueue, 0),
                    (Resource::Sigpending, MAX_PENDING_SIGNALS),
                ]
            }
        }
    }
}
