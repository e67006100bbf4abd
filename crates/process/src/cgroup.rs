//! Control groups (cgroup v2): one for each supervisor and everything that it starts, if a subtree was delegated to
//! this process.
//!
//! The system limits a group at once, including the memory that the kernel keeps for it, and can kill it as a whole.
//! Without groups, [periodic checks](super::held) enforce the same limits.

mod delegation;

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};
use uuid::Uuid;

use self::delegation::{KILL, SERVER};
use super::closed;

/// Prefix of the names of supervisors' groups. A number follows.
const PREFIX: &str = "hero-jobs-";
/// The maximum number of names that are checked for abandoned groups.
const MAX_NAMES_CHECKED: usize = 10_000;
/// Timeout for the removal of abandoned groups.
const ABANDONED_REMOVAL_TIMEOUT: Duration = Duration::from_secs(2);
/// Timeout for the processes of a group to disappear after they were killed.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// The maximum number of processes and threads in a group: those of a job, and a few of its supervisor.
const MOST_TASKS: u64 = 1024 + 64;
/// The bytes reserved for the supervisor itself and the system's memory for it.
const SUPERVISOR_BYTES: u64 = 64 << 20;

/// The controllers that limit a group, the file that sets each limit, and its name in reports.
const LIMITS: [(&str, &str, &str); 2] = [("memory", "memory.max", "memory"), ("pids", "pids.max", "processes")];

/// The subtree in which groups are made. This process itself is in a group beside them.
#[derive(Debug, Clone)]
pub struct Groups {
    base: PathBuf,
}

impl Groups {
    /// Finds the subtree that was delegated to this process, moves this process out of its inner node, and removes
    /// groups that killed processes left behind. Returns the reason if there is no subtree. Call it before there are
    /// children.
    pub fn enter() -> Result<Self, String> {
        let delegation = delegation::find()?;
        let failed = |what: &Path| {
            let what = what.to_owned();
            move |error: io::Error| format!("{} cannot be used: {error}", what.display())
        };
        let server = delegation.base.join(SERVER);
        if !delegation.is_inside {
            match DirBuilder::new().create(&server) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(&delegation.base)(error)),
                _ => {}
            }
            if let Err(error) = fs::write(server.join("cgroup.procs"), "0") {
                let _ = fs::remove_dir(&server);
                return Err(failed(&server)(error));
            }
        }
        let offered = fs::read_to_string(delegation.base.join("cgroup.controllers")).map_err(failed(&delegation.base))?;
        for controller in offered.split_whitespace().filter(|name| LIMITS.iter().any(|(limited, ..)| limited == name)) {
            // Controllers that cannot be enabled are missing in the groups, and their reports say so.
            let _ = fs::write(delegation.base.join("cgroup.subtree_control"), format!("+{controller}"));
        }
        let groups = Self { base: delegation.base };
        groups.remove_left();
        Ok(groups)
    }

    /// Returns the directory in which a start from here would make groups, or why there would be none. It changes
    /// nothing. Call it before there are children.
    pub fn foresee() -> Result<PathBuf, String> {
        delegation::find().map(|delegation| delegation.base)
    }

    /// Uses a directory of a test.
    #[doc(hidden)]
    pub fn at(base: &Path) -> Self {
        Self { base: base.to_owned() }
    }

    /// The directory of the groups.
    pub fn base(&self) -> &Path {
        &self.base
    }

    /// Makes a group for a supervisor whose processes may have `memory` bytes together.
    pub fn create(&self, memory: u64) -> io::Result<Group> {
        let path = self.base.join(format!("{PREFIX}{}", Uuid::new_v4().simple()));
        DirBuilder::new().mode(0o700).create(&path)?;
        let made = lock(&path).and_then(|lock| {
            let most = memory.saturating_add(SUPERVISOR_BYTES).to_string();
            for (file, value) in
                [("memory.max", &*most), ("memory.swap.max", "0"), ("memory.oom.group", "1"), ("pids.max", &MOST_TASKS.to_string())]
            {
                set(&path.join(file), value)?;
            }
            Ok(lock)
        });
        match made {
            Ok(lock) => Ok(Group { path, memory, _lock: lock }),
            Err(error) => {
                let _ = fs::remove_dir(&path);
                Err(error)
            }
        }
    }

    /// Ends and removes groups that killed processes left behind. Groups in use are locked.
    fn remove_left(&self) {
        let names = fs::read_dir(&self.base).into_iter().flatten().take(MAX_NAMES_CHECKED).flatten();
        let ours = names.filter(|entry| entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX)));
        let left: Vec<Group> =
            ours.filter_map(|entry| Some(Group { _lock: lock(&entry.path()).ok()?, path: entry.path(), memory: 0 })).collect();
        // All at once. Groups where this fails are tried again below.
        left.iter().for_each(|group| drop(group.kill()));
        let until = Instant::now() + ABANDONED_REMOVAL_TIMEOUT;
        for group in left {
            let (path, is_removed) = (group.path.clone(), group.remove_until(until));
            if is_removed {
                tracing::info!(group = %path.display(), "removed a control group that processes that were killed had left");
            }
        }
    }
}

/// The group of a supervisor. It is locked while it is in use.
#[derive(Debug)]
pub struct Group {
    path: PathBuf,
    memory: u64,
    _lock: OwnedFd,
}

impl Group {
    /// The directory of the group.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes that its processes may have together.
    pub fn memory(&self) -> u64 {
        self.memory
    }

    /// Kills everything in it at once, so that no process starts another meanwhile.
    pub fn kill(&self) -> io::Result<()> {
        // A group that is gone is empty.
        set(&self.path.join(KILL), "1")
    }

    /// Whether a running process is in it. A process that could not join continues outside of it.
    pub fn holds(&self, pid: Pid) -> bool {
        self.processes().contains(&pid)
    }

    fn processes(&self) -> Vec<Pid> {
        let list = fs::read_to_string(self.path.join("cgroup.procs")).unwrap_or_default();
        list.lines().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect()
    }

    /// Whether the group reached its own limit of memory, so that the system killed a process in it.
    ///
    /// `oom` counts how often a limit was reached. `oom_kill` would also count kills because a group above or the whole
    /// machine had no memory left. These are not the fault of the job, which is run again. The same holds if the file
    /// cannot be read.
    pub fn is_out_of_memory(&self) -> bool {
        let read = |file: &str| fs::read_to_string(self.path.join(file)).ok();
        let events = read("memory.events.local").or_else(|| read("memory.events")).unwrap_or_default();
        events.lines().filter_map(|line| line.strip_prefix("oom ")).any(|count| count != "0")
    }

    /// Kills everything in it and removes it. Blocks until all processes are gone.
    pub fn remove(self) {
        let path = self.path.clone();
        if !self.remove_until(Instant::now() + KILL_TIMEOUT) {
            tracing::warn!(group = %path.display(), "a control group could not be removed; a later start does");
        }
    }

    /// Kills everything in it and removes it. Returns whether it was removed.
    fn remove_until(self, until: Instant) -> bool {
        let killed = self.kill();
        if let Err(error) = &killed {
            tracing::warn!(group = %self.path.display(), %error, "a control group cannot be ended as a whole; its processes are killed one by one");
        }
        loop {
            match fs::remove_dir(&self.path) {
                Ok(()) => return true,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return true,
                // A process is still in it.
                Err(_) if killed.is_err() => {
                    for pid in self.processes() {
                        // The process may have ended just now.
                        let _ = kill_process(pid, Signal::KILL);
                    }
                }
                Err(_) => {}
            }
            if Instant::now() >= until {
                return false;
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
}

/// Writes to a file of a group, if the group has it.
fn set(file: &Path, value: &str) -> io::Result<()> {
    match File::options().write(true).open(file).and_then(|mut file| io::Write::write_all(&mut file, value.as_bytes())) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Locks a group that nobody has locked.
fn lock(path: &Path) -> io::Result<OwnedFd> {
    let held = closed::open(CWD, path)?;
    flock(&held, FlockOperation::NonBlockingLockExclusive)?;
    Ok(held)
}

/// How a report says that memory and processes are limited: `memory:cgroup` by a group, `memory:counted` by periodic
/// checks.
const BY_GROUP: &str = "cgroup";
const BY_LOOKING: &str = "counted";
/// How a report says that everything is ended as a whole.
const ENDED: &str = "end:cgroup";

/// Puts this process into a group, if there is one. Returns the steps for the report.
pub(super) fn join(group: Option<&Path>) -> io::Result<Vec<String>> {
    if let Some(group) = group {
        fs::write(group.join("cgroup.procs"), "0")?;
    }
    let has = |file: &str| group.is_some_and(|group| group.join(file).exists());
    let limits = LIMITS.iter().map(|(_, file, name)| format!("{name}:{}", if has(file) { BY_GROUP } else { BY_LOOKING }));
    Ok(limits.chain(has(KILL).then(|| ENDED.to_owned())).collect())
}

/// The step that a report calls missing if [`join`] failed.
pub(super) const GROUP: &str = "control group";

/// Whether this is a step that [`join`] returns, or the one that is missing without it.
pub(super) fn is_step(step: &str) -> bool {
    let is_limit =
        |name: &str| step.strip_prefix(name).and_then(|rest| rest.strip_prefix(':')).is_some_and(|by| [BY_GROUP, BY_LOOKING].contains(&by));
    step == ENDED || step == GROUP || LIMITS.iter().any(|(_, _, name)| is_limit(name))
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::Command;

    use super::*;

    #[test]
    fn only_a_group_whose_own_limit_was_reached_is_out_of_memory() {
        let base = tempfile::tempdir().unwrap();
        let group = Groups::at(base.path()).create(1 << 20).unwrap();
        let tell = |file: &str, text: &str| fs::write(group.path().join(file), text).unwrap();
        assert!(!group.is_out_of_memory(), "nothing can be read");
        // A group above, or the machine, had no memory left.
        tell("memory.events", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 3\noom_group_kill 1\n");
        assert!(!group.is_out_of_memory());
        tell("memory.events", "low 0\nhigh 0\nmax 9\noom 1\noom_kill 3\noom_group_kill 1\n");
        assert!(group.is_out_of_memory());
        // The count of the group alone takes precedence over the count that includes the groups below.
        tell("memory.events.local", "max 0\noom 0\noom_kill 3\n");
        assert!(!group.is_out_of_memory());
        tell("memory.events.local", "max 9\noom 2\noom_kill 0\n");
        assert!(group.is_out_of_memory());
    }

    #[test]
    fn what_is_in_a_group_that_cannot_be_ended_as_a_whole_is_killed_one_by_one() {
        let base = tempfile::tempdir().unwrap();
        let group = Groups::at(base.path()).create(1 << 20).unwrap();
        fs::create_dir(group.path().join(KILL)).unwrap();
        let mut sleeper = Command::new("sleep").arg("60").spawn().unwrap();
        fs::write(group.path().join("cgroup.procs"), format!("0\n{}\n", sleeper.id())).unwrap();
        assert!(group.kill().is_err() && group.holds(Pid::from_child(&sleeper)));
        group.remove_until(Instant::now());
        assert_eq!(sleeper.wait().unwrap().signal(), Some(9));
    }
}
