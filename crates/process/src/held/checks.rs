use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd};
use rustix::process::Pid;

use super::disk::Files;
use super::look::Look;
use super::memory::Memory;
use super::open::Open;
use super::{LATEST_LOOK, MEMORIES, MOST_PROCESSES, Removed, of_status, total};
use crate::tree::Looked;

/// After this time a look at memory is not waited for any more, and the memory of the processes is added up as if they
/// shared none.
const OVERDUE: Duration = Duration::from_secs(5);

/// A limit that processes exceed together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exceeded {
    /// More than [`MOST_PROCESSES`].
    Processes,
    /// More than this number of bytes of memory.
    Memory(u64),
    /// More files than [`MOST_FILES`](super::MOST_FILES), larger ones than [`MOST_BYTES`](super::MOST_BYTES), or deeper
    /// ones than [`DEEPEST`](super::DEEPEST).
    Disk,
}

/// Checks what processes hold together. They are counted at once. Two threads look at the rest, since this can take
/// long: one at memory, which the processes themselves can delay for seconds, and one at files.
pub struct Checks {
    files: Look<FilesQuestion, FilesAnswer>,
    memory: Look<MemoryQuestion, MemoryAnswer>,
    /// An eventfd to which the threads write.
    wake: Arc<OwnedFd>,
    looked: Looked,
    /// The number of the jobs so far.
    job: u64,
    /// The maximum memory of one process, in bytes.
    of_one: u64,
    /// The directory whose files count, if any.
    directory: Option<Arc<Path>>,
    /// Memory of what the processes had open last.
    of_open: u64,
    /// Removed files that they had mapped last.
    mapped: Arc<Removed>,
}

struct FilesQuestion {
    processes: Arc<[i32]>,
    directory: Option<Arc<Path>>,
    mapped: Arc<Removed>,
}

struct FilesAnswer {
    memory: u64,
    are_too_many: bool,
}

struct MemoryQuestion {
    processes: Arc<[i32]>,
    job: u64,
    of_one: u64,
    of_open: u64,
}

struct MemoryAnswer {
    too_much: Option<u64>,
    removed: Removed,
}

impl Checks {
    /// Starts the threads. Call it before there are processes.
    pub fn start() -> io::Result<Self> {
        let mut of_job = (0, Memory::default());
        Self::with(move |question, is_awaited| {
            // An object of another job may have the number of one of this job.
            if of_job.0 != question.job {
                of_job = (question.job, Memory::default());
            }
            let memory = &mut of_job.1;
            memory.look(&question.processes, |_| is_awaited());
            MemoryAnswer { too_much: memory.too_much(question.of_one, question.of_open), removed: memory.removed.clone() }
        })
    }

    fn with(memory: impl FnMut(MemoryQuestion, &dyn Fn() -> bool) -> MemoryAnswer + Send + 'static) -> io::Result<Self> {
        let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        Ok(Self {
            files: Look::start("files", wake.clone(), |question, is_awaited| look_at_files(&question, is_awaited))?,
            memory: Look::start("memory", wake.clone(), memory)?,
            wake,
            looked: Looked::default(),
            job: 0,
            of_one: u64::MAX,
            directory: None,
            of_open: 0,
            mapped: Arc::default(),
        })
    }

    /// Begins with the processes of another job. One of them may have `memory` bytes, all together [a
    /// multiple](MEMORIES). If a directory is given, the files in it and removed files count.
    pub fn begin(&mut self, memory: u64, directory: Option<&Path>) {
        self.end();
        self.job += 1;
        (self.looked, self.of_one, self.directory) = (Looked::default(), memory, directory.map(Arc::from));
        (self.of_open, self.mapped) = (0, Arc::default());
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
        if self.memory.takes_longer_than(OVERDUE) {
            self.add_up(&processes)?;
        }
        let processes: Arc<[i32]> = processes.into();
        let (of_one, of_open, job) = (self.of_one, self.of_open, self.job);
        self.memory.ask(|| MemoryQuestion { processes: processes.clone(), job, of_one, of_open });
        self.files.ask(|| FilesQuestion { processes, directory: self.directory.clone(), mapped: self.mapped.clone() });
        Ok(true)
    }

    /// Adds up the memory of these processes, for which nobody waits.
    fn add_up(&self, processes: &[i32]) -> Result<(), Exceeded> {
        let most = self.of_one.saturating_mul(MEMORIES);
        let sum: u64 = processes.iter().map(|process| of_status(*process, &["RssAnon:", "RssShmem:", "VmSwap:"])).sum();
        if sum > most { Err(Exceeded::Memory(most)) } else { Ok(()) }
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
            self.of_open = answer.memory;
            if answer.are_too_many {
                return Err(Exceeded::Disk);
            }
        }
        if let Some(answer) = self.memory.answer() {
            self.mapped = answer.removed.into();
            if let Some(most) = answer.too_much {
                return Err(Exceeded::Memory(most));
            }
        }
        Ok(())
    }
}

/// Counts files, until there are too many. What the processes have open can take seconds, so the directory is counted
/// again meanwhile.
fn look_at_files(question: &FilesQuestion, is_awaited: &dyn Fn() -> bool) -> FilesAnswer {
    let in_directory = || question.directory.as_deref().map(Files::below).unwrap_or_default();
    let (mut files, mut counted_at) = (in_directory(), Instant::now());
    let mut are_too_many = |open: &Open| {
        if counted_at.elapsed() > LATEST_LOOK {
            (files, counted_at) = (in_directory(), Instant::now());
        }
        question.directory.is_some() && files.are_too_many_with(total(&open.removed, &question.mapped))
    };
    let open = Open::by(&question.processes, |open| is_awaited() && !are_too_many(open));
    FilesAnswer { memory: open.memory, are_too_many: are_too_many(&open) }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::sync::mpsc;

    use rustix::event::poll;
    use rustix::process::getpid;

    use super::*;

    /// Counts until something is exceeded.
    fn exceeded(checks: &mut Checks) -> Exceeded {
        let until = Instant::now() + Duration::from_secs(60);
        while Instant::now() < until {
            if let Err(exceeded) = checks.count(getpid(), &[]).and_then(|_| checks.found()) {
                return exceeded;
            }
            let _ = poll(&mut [checks.awaited()], Some(&rustix::event::Timespec { tv_sec: 0, tv_nsec: 5_000_000 }));
        }
        panic!("nothing was found")
    }

    #[test]
    fn files_and_memory_are_checked_even_if_a_look_at_memory_never_ends() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("d/".repeat(super::super::DEEPEST + 1))).unwrap();
        let (_never, ends) = mpsc::channel::<MemoryAnswer>();
        let mut checks = Checks::with(move |_, _| ends.recv().unwrap()).unwrap();
        checks.begin(u64::MAX, Some(directory.path()));
        assert_eq!(exceeded(&mut checks), Exceeded::Disk);
        checks.begin(1024, None);
        assert_eq!(checks.add_up(&[child.id().cast_signed()]), Err(Exceeded::Memory(4096)));
        checks.begin(u64::MAX, None);
        assert_eq!(checks.add_up(&[child.id().cast_signed()]), Ok(()));
        let mut checks = Checks::start().unwrap();
        checks.begin(1024, None);
        assert_eq!(exceeded(&mut checks), Exceeded::Memory(4096));
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}
