use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::process::Pid;

use super::disk::Files;
use super::look::Look;
use super::memory::{Memory, Sums, too_much};
use super::open::Open;
use super::{LATEST_LOOK, MEMORIES, MOST_PROCESSES, Removed, of_status, total};
use crate::tree::Looked;

/// After this time a look at memory is not waited for any more. The memory that it found last counts, with all that the
/// processes have more by now, as if they shared none of it.
const OVERDUE: Duration = Duration::from_secs(5);
/// After this multiple of it, they have too much: they may hide shared memory by delaying the look.
const HOPELESS: u32 = 4;

/// A limit that processes exceed together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exceeded {
    /// More than [`MOST_PROCESSES`].
    Processes,
    /// More than this number of bytes of memory.
    Memory(u64),
    /// More files than [`MOST_FILES`](super::MOST_FILES), larger ones than [`MOST_BYTES`](super::MOST_BYTES), or deeper ones than
    /// [`DEEPEST`](super::DEEPEST).
    Disk,
    /// A process hides what it has open: it runs a program that its user may not read. The system hides it from all but
    /// root.
    Hidden,
}

/// Checks what processes hold together. They are counted at once. Two threads look at the rest, since this can take
/// long: one at memory, which the processes themselves can delay for seconds, and one at files.
pub struct Checks {
    files: Look<FilesQuestion, FilesAnswer>,
    memory: Look<MemoryQuestion, MemoryAnswer>,
    overdue: Duration,
    /// An eventfd to which the threads write.
    wake: Arc<OwnedFd>,
    looked: Looked,
    /// The number of the jobs so far.
    job: u64,
    /// The maximum memory of one process, in bytes.
    of_one: u64,
    /// The directory whose files count, if any.
    directory: Option<Arc<Path>>,
    last: Found,
}

/// What was found last.
#[derive(Debug, Default)]
struct Found {
    /// Memory of what the processes had open.
    of_open: u64,
    /// The removed files that they had open.
    open: Removed,
    /// The removed files that they had mapped.
    mapped: Arc<Removed>,
    memory: Sums,
}

impl fmt::Debug for Checks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checks").field("job", &self.job).field("last", &self.last).finish_non_exhaustive()
    }
}

struct FilesQuestion {
    processes: Arc<[i32]>,
    directory: Option<Arc<Path>>,
    mapped: Arc<Removed>,
    of_one: u64,
}

struct FilesAnswer {
    memory: u64,
    removed: Removed,
    are_too_many: bool,
    is_hidden: bool,
}

struct MemoryQuestion {
    processes: Arc<[i32]>,
    job: u64,
    of_one: u64,
    of_open: u64,
}

struct MemoryAnswer {
    sums: Sums,
    removed: Removed,
}

impl Checks {
    /// Starts the threads. Call it before there are processes.
    pub fn start() -> io::Result<Self> {
        let mut of_job = (0, Memory::new());
        Self::with(OVERDUE, move |question, is_awaited| {
            // An object of another job may have the number of one of this job.
            if of_job.0 != question.job {
                of_job = (question.job, Memory::new());
            }
            let memory = &mut of_job.1;
            let rest = question.of_one.saturating_mul(MEMORIES).saturating_sub(question.of_open);
            memory.look(&question.processes, |memory| is_awaited() && memory.shared() <= rest);
            let sums = if is_awaited() { memory.sums(rest) } else { Sums::default() };
            MemoryAnswer { sums, removed: memory.removed() }
        })
    }

    fn with(overdue: Duration, memory: impl FnMut(MemoryQuestion, &dyn Fn() -> bool) -> MemoryAnswer + Send + 'static) -> io::Result<Self> {
        let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        Ok(Self {
            files: Look::start("files", wake.clone(), |question, is_awaited| look_at_files(&question, is_awaited))?,
            memory: Look::start("memory", wake.clone(), memory)?,
            overdue,
            wake,
            looked: Looked::default(),
            job: 0,
            of_one: u64::MAX,
            directory: None,
            last: Found::default(),
        })
    }

    /// Begins with the processes of another job. One of them may have `memory` bytes, all together [a
    /// multiple](MEMORIES). If a directory is given, the files in it and removed files count.
    pub fn begin(&mut self, memory: u64, directory: Option<&Path>) {
        self.end();
        self.job += 1;
        (self.looked, self.of_one, self.directory) = (Looked::default(), memory, directory.map(Arc::from));
        self.last = Found::default();
    }

    /// The job has ended: nobody awaits what is found.
    pub fn end(&mut self) {
        self.files.forget();
        self.memory.forget();
    }

    /// Counts the processes below `root`, without the spared ones, and begins the looks whose time has come. Returns
    /// false if no process has run since the last count.
    pub fn count(&mut self, root: Pid, spared: &[Pid]) -> Result<bool, Exceeded> {
        let Some(processes) = self.looked.fresh(root, spared) else { return Ok(false) };
        if processes.len() > MOST_PROCESSES {
            return Err(Exceeded::Processes);
        }
        if self.memory.takes_longer_than(self.overdue) {
            self.add_up(&processes)?;
        }
        if self.memory.takes_longer_than(self.overdue * HOPELESS) {
            self.check_memory(u64::MAX)?;
        }
        self.look(processes.into());
        Ok(true)
    }

    /// Begins the looks whose time has come.
    fn look(&mut self, processes: Arc<[i32]>) {
        let (of_one, of_open, job) = (self.of_one, self.last.of_open, self.job);
        self.memory.ask(|| MemoryQuestion { processes: processes.clone(), job, of_one, of_open });
        let (directory, mapped) = (&self.directory, &self.last.mapped);
        self.files.ask(|| FilesQuestion { processes, directory: directory.clone(), mapped: mapped.clone(), of_one });
    }

    /// Adds up the memory of these processes, for which nobody waits.
    fn add_up(&self, processes: &[i32]) -> Result<(), Exceeded> {
        let status = |process: &i32| of_status(*process, &["RssAnon:", "RssShmem:", "VmSwap:", "VmPTE:"]);
        let alone = processes.iter().map(status).fold(0, u64::saturating_add);
        let more = alone.saturating_sub(self.last.memory.alone);
        self.check_memory(self.last.memory.together.saturating_add(more))
    }

    /// Checks this number of bytes, with the memory of what the processes have open.
    fn check_memory(&self, bytes: u64) -> Result<(), Exceeded> {
        too_much(bytes.saturating_add(self.last.of_open), self.of_one).map_or(Ok(()), |most| Err(Exceeded::Memory(most)))
    }

    /// Returns what is readable once a look has ended.
    pub fn awaited(&self) -> PollFd<'_> {
        PollFd::new(&*self.wake, PollFlags::IN)
    }

    /// Takes what the looks that have ended found. Returns the limit that is exceeded, if any.
    pub fn found(&mut self) -> Result<(), Exceeded> {
        // It may not have been written to.
        let _ = rustix::io::read(&*self.wake, &mut [0_u8; 8]);
        if let Some(answer) = self.files.answer() {
            (self.last.of_open, self.last.open) = (answer.memory, answer.removed);
            if answer.are_too_many {
                return Err(Exceeded::Disk);
            }
            if answer.is_hidden {
                return Err(Exceeded::Hidden);
            }
            // A look at memory may take long.
            self.check_memory(0)?;
        }
        if let Some(answer) = self.memory.answer() {
            (self.last.memory, self.last.mapped) = (answer.sums, answer.removed.into());
            self.check_memory(answer.sums.together)?;
        }
        Ok(())
    }

    /// Looks at these processes, and returns the bytes on the disk of removed files that they have open or mapped. If
    /// that takes longer than `patience`, what was found last counts.
    pub fn removed(&mut self, processes: Vec<i32>, patience: Duration) -> u64 {
        let until = Instant::now() + patience;
        // No limit is set here, and what has been found meanwhile may be old.
        let _ = self.found();
        self.files.hurry();
        self.memory.hurry();
        self.look(processes.into());
        while self.files.is_running() || self.memory.is_running() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let _ = poll(&mut [self.awaited()], Timespec::try_from(left).ok().as_ref());
            let _ = self.found();
        }
        total(&self.last.open, &self.last.mapped)
    }
}

/// Counts files, until there are too many, or too much else is open. What the processes have open can take seconds, so
/// the directory is counted again meanwhile.
fn look_at_files(question: &FilesQuestion, is_awaited: &dyn Fn() -> bool) -> FilesAnswer {
    let in_directory = || question.directory.as_deref().map(|directory| Files::below(directory, is_awaited)).unwrap_or_default();
    let (mut files, mut counted_at) = (in_directory(), Instant::now());
    let of_mapped = question.mapped.values().copied().fold(0, u64::saturating_add);
    let mut are_too_many = |open: &Open| {
        if counted_at.elapsed() > LATEST_LOOK {
            (files, counted_at) = (in_directory(), Instant::now());
        }
        // To find those that are both takes longer.
        let may_be = files.are_too_many_with(open.removed_bytes.saturating_add(of_mapped));
        question.directory.is_some() && may_be && files.are_too_many_with(total(&open.removed, &question.mapped))
    };
    let goes_on = |open: &Open| is_awaited() && too_much(open.memory, question.of_one).is_none() && !are_too_many(open);
    let open = Open::by(&question.processes, goes_on);
    FilesAnswer { memory: open.memory, are_too_many: are_too_many(&open), is_hidden: open.is_hidden, removed: open.removed }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::sync::mpsc;

    use rustix::process::getpid;

    use super::*;

    /// Counts until something is exceeded.
    fn exceeded(checks: &mut Checks) -> Exceeded {
        let until = Instant::now() + Duration::from_secs(60);
        while Instant::now() < until {
            if let Err(exceeded) = checks.count(getpid(), &[]).and_then(|_| checks.found()) {
                return exceeded;
            }
            let _ = poll(&mut [checks.awaited()], Some(&Timespec { tv_sec: 0, tv_nsec: 5_000_000 }));
        }
        panic!("nothing was found")
    }

    #[test]
    fn files_and_memory_are_checked_even_if_a_look_at_memory_never_ends() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("d/".repeat(super::super::DEEPEST + 1))).unwrap();
        let (_at_the_end, ends) = mpsc::channel::<()>();
        let checks = Checks::with(Duration::ZERO, move |_, _| {
            let _ = ends.recv();
            MemoryAnswer { sums: Sums::default(), removed: Removed::new() }
        });
        let mut checks = checks.unwrap();
        checks.begin(u64::MAX, Some(directory.path()));
        assert_eq!(exceeded(&mut checks), Exceeded::Disk);
        // What the child has open is less than this, and its memory is more.
        checks.begin(64 << 10, None);
        assert_eq!(exceeded(&mut checks), Exceeded::Memory(256 << 10));
        // A pipe is more than this.
        checks.begin(1024, None);
        assert_eq!(exceeded(&mut checks), Exceeded::Memory(4096));
        let mut checks = Checks::start().unwrap();
        checks.begin(64 << 10, None);
        assert_eq!(exceeded(&mut checks), Exceeded::Memory(256 << 10));
        drop(child.stdin.take());
        child.wait().unwrap();
    }

    #[test]
    fn what_processes_share_counts_once_also_if_the_last_look_is_long_ago() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let pid = [child.id().cast_signed()];
        let mut checks = Checks::with(OVERDUE, |_, _| unreachable!("nothing is asked")).unwrap();
        checks.begin(1 << 20, None);
        assert_eq!(checks.add_up(&[pid[0]; 1000]), Err(Exceeded::Memory(4 << 20)));
        checks.last.memory = Sums { alone: 1 << 40, together: 1 << 20 };
        assert_eq!(checks.add_up(&[pid[0]; 1000]), Ok(()));
        checks.last.of_open = 8 << 20;
        assert_eq!(checks.add_up(&pid), Err(Exceeded::Memory(4 << 20)));
        drop(child.stdin.take());
        child.wait().unwrap();
    }

    #[test]
    fn removed_files_are_told_that_processes_have_open() {
        let file = tempfile::tempfile().unwrap();
        std::fs::write(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file)), vec![1; 1 << 20]).unwrap();
        let own = vec![std::process::id().cast_signed()];
        let mut checks = Checks::start().unwrap();
        assert!(checks.removed(own, Duration::from_secs(60)) >= 1 << 20);
        assert_eq!(checks.removed(Vec::new(), Duration::from_secs(60)), 0);
    }
}
