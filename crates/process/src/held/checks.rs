use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Mutex, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::process::Pid;

use super::files::{FilesAnswer, FilesRequest, TooMany, look_at_files};
use super::hold::{Completeness, Hold, LONGEST_STOP, Missed};
use super::look::Look;
use super::memory::{Memory, Sums, too_much};
use super::process::{Process, descriptors};
use super::processes::Processes;
use super::{MEMORY_FACTOR, MOST_DESCRIPTORS, MOST_PROCESSES, Removed, total};
use crate::tree::{Looked, StopOrder};

/// After this time nobody waits for a look at memory any more. Then hero adds what the processes have gained since the
/// last look to what that found, as if they shared none of it.
const LOOK_TIMEOUT: Duration = Duration::from_secs(5);
/// After this time hero ends the job for its memory: its processes may delay the look to hide shared memory.
const LOOK_DEADLINE: Duration = Duration::from_secs(20);
/// Pause before the next check whether processes have continued.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// After this number of looks that each found a process hiding what it has open, hero ends the job. A look that finds
/// none takes half of one back, so a job that runs such a program now and then continues.
const MOST_HIDDEN: u32 = 3;

/// A limit that processes exceed together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exceeded {
    /// More than [`MOST_PROCESSES`].
    Processes,
    /// More than [`MOST_DESCRIPTORS`].
    Descriptors,
    /// More than this number of bytes of memory.
    Memory(u64),
    /// More files than [`MOST_FILES`](super::MOST_FILES), larger ones than [`MOST_BYTES`](super::MOST_BYTES), or deeper
    /// ones than [`MAX_DIRECTORY_DEPTH`](super::MAX_DIRECTORY_DEPTH).
    Disk,
    /// Processes evade the looks. A process runs a program that its user may not read, so the system shows only root
    /// what it has open. Or processes start others and end before a look reaches them, or continue each other when hero
    /// stops them for a look.
    Hidden,
}

/// Checks what processes hold together. It counts the processes itself. Two threads look at the rest, which can take
/// long: one at memory, which the processes can delay for seconds, and one at files.
pub struct Checks {
    files: Look<FilesRequest, FilesAnswer>,
    memory: Look<MemoryRequest, MemoryAnswer>,
    overdue: Duration,
    hopeless: Duration,
    /// An eventfd to which the threads write.
    wake: Arc<OwnedFd>,
    looked: Looked,
    /// The look that stops the processes locks this.
    stops: Arc<Mutex<()>>,
    /// Whether the job is to end. Then no look stops its processes any more.
    is_ending: bool,
    /// The number of the jobs so far.
    job: u64,
    /// The maximum memory of one process, in bytes.
    of_one: u64,
    /// The directory whose files count, if any.
    directory: Option<Arc<Path>>,
    last: Found,
}

/// The findings of the last looks.
#[derive(Debug, Default)]
struct Found {
    /// The memory of pipes, sockets and the like that the processes had open.
    of_open: u64,
    /// The removed files that they had open.
    open: Removed,
    /// The removed files that they had mapped.
    mapped: Arc<Removed>,
    /// The number of the look at memory that found these.
    mapped_in: u64,
    memory: Sums,
    /// The process that hid what it had open in the last look.
    hidden: Option<i32>,
    /// Twice the number of looks that found such a process, less those that found none.
    hidden_looks: u32,
    /// What looks at files and at memory have missed.
    missed_files: Missed,
    missed_memory: Missed,
    /// Set if there were too many files only together with mapped ones, which may be gone by now: the look at memory
    /// that has to confirm this.
    doubted_until: Option<u64>,
}

impl fmt::Debug for Checks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checks").field("job", &self.job).field("last", &self.last).finish_non_exhaustive()
    }
}

struct MemoryRequest {
    processes: Processes,
    /// Set if the processes are stopped meanwhile, because looks have missed some.
    stops: Option<StopOrder>,
    job: u64,
    of_one: u64,
    of_open: u64,
}

struct MemoryAnswer {
    sums: Sums,
    removed: Removed,
    completeness: Completeness,
}

impl Checks {
    /// Starts the threads. Call it before there are processes.
    pub fn start() -> io::Result<Self> {
        let mut of_job = (0, Memory::new());
        Self::with(LOOK_TIMEOUT, LOOK_DEADLINE, move |request, is_awaited| {
            // An object of another job may have the number of one of this job.
            if of_job.0 != request.job {
                of_job = (request.job, Memory::new());
            }
            let memory = &mut of_job.1;
            let rest = request.of_one.saturating_mul(MEMORY_FACTOR).saturating_sub(request.of_open);
            let mut hold = Hold::of(&request.processes, request.stops, is_awaited);
            memory.look(&request.processes, rest, |memory| {
                hold.go_on_in_time();
                is_awaited() && memory.shared() <= rest
            });
            let sums = if is_awaited() { memory.sums(rest, || hold.go_on_in_time()) } else { Sums::default() };
            hold.end();
            MemoryAnswer { sums, removed: memory.removed(), completeness: hold.completeness(sums.is_whole) }
        })
    }

    fn with(
        overdue: Duration,
        hopeless: Duration,
        memory: impl FnMut(MemoryRequest, &dyn Fn() -> bool) -> MemoryAnswer + Send + 'static,
    ) -> io::Result<Self> {
        let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        Ok(Self {
            files: Look::start("files", wake.clone(), |request, is_awaited| look_at_files(&request, is_awaited))?,
            memory: Look::start("memory", wake.clone(), memory)?,
            overdue,
            hopeless,
            wake,
            looked: Looked::default(),
            stops: Arc::default(),
            is_ending: false,
            job: 0,
            of_one: u64::MAX,
            directory: None,
            last: Found::default(),
        })
    }

    /// Starts over for the processes of another job. One process may have `memory` bytes, all together [a
    /// multiple](MEMORY_FACTOR) of that. If a directory is given, its files and removed files count.
    pub fn begin(&mut self, memory: u64, directory: Option<&Path>) {
        self.end();
        self.job += 1;
        (self.looked, self.of_one, self.directory) = (Looked::default(), memory, directory.map(Arc::from));
        (self.last, self.is_ending) = (Found::default(), false);
    }

    /// Notes that the job has ended, or that hero has asked it to. This drops the findings so far. The processes
    /// continue, and no look stops them any more, so they have time to end by themselves. The limits still apply.
    pub fn end(&mut self) {
        self.is_ending = true;
        self.files.forget();
        self.memory.forget();
        // A look ends soon, unless it waits for a process that does not stay stopped.
        let until = Instant::now() + LONGEST_STOP;
        while matches!(self.stops.try_lock(), Err(TryLockError::WouldBlock)) && Instant::now() < until {
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Counts the processes below `root`, without the spared ones, and begins the looks that are due. Returns false if
    /// no process has run since the last count.
    pub fn count(&mut self, root: Pid, spared: &[Pid]) -> Result<bool, Exceeded> {
        let Some(processes) = self.looked.fresh(root, spared) else { return Ok(false) };
        if processes.len() > MOST_PROCESSES {
            return Err(Exceeded::Processes);
        }
        if processes.iter().map(|pid| descriptors(*pid)).fold(0, u64::saturating_add) > MOST_DESCRIPTORS {
            return Err(Exceeded::Descriptors);
        }
        if self.memory.takes_longer_than(self.overdue) {
            self.add_up(&processes)?;
        }
        if self.memory.takes_longer_than(self.hopeless) {
            return Err(Exceeded::Memory(self.of_one.saturating_mul(MEMORY_FACTOR)));
        }
        self.look(&Processes::Below { root, spared: spared.into(), stops: self.stops.clone() });
        Ok(true)
    }

    /// Begins the looks that are due.
    fn look(&mut self, processes: &Processes) {
        let (of_one, of_open, job) = (self.of_one, self.last.of_open, self.job);
        let stops = self.last.missed_memory.stops().filter(|_| !self.is_ending);
        self.memory.ask(|| MemoryRequest { processes: processes.clone(), stops, job, of_one, of_open });
        let (directory, mapped) = (self.directory.clone(), self.last.mapped.clone());
        let stops = self.last.missed_files.stops().filter(|_| !self.is_ending);
        self.files.ask(|| FilesRequest { processes: processes.clone(), stops, directory, mapped, of_one });
    }

    /// Adds up the memory of these processes. No process can delay this.
    fn add_up(&self, processes: &[i32]) -> Result<(), Exceeded> {
        let shown = |pid: &i32| Process::read(*pid).map_or(0, |process| process.shown());
        let more = processes.iter().map(shown).fold(0, u64::saturating_add).saturating_sub(self.last.memory.shown);
        self.check_memory(self.last.memory.together.saturating_add(more))
    }

    /// Checks this number of bytes together with the memory of what the processes have open.
    fn check_memory(&self, bytes: u64) -> Result<(), Exceeded> {
        too_much(bytes.saturating_add(self.last.of_open), self.of_one).map_or(Ok(()), |most| Err(Exceeded::Memory(most)))
    }

    /// Returns what is readable once a look has ended.
    pub fn awaited(&self) -> PollFd<'_> {
        PollFd::new(&*self.wake, PollFlags::IN)
    }

    /// Takes the findings of the looks that have ended. Returns the limit that the processes exceed, if any.
    pub fn found(&mut self) -> Result<(), Exceeded> {
        // It may not have been written to.
        let _ = rustix::io::read(&*self.wake, &mut [0_u8; 8]);
        let (files, memory) = (self.files.answer(), self.memory.answer());
        if let Some(answer) = memory {
            (self.last.memory, self.last.mapped, self.last.mapped_in) = (answer.sums, answer.removed.into(), self.memory.number());
            match self.check_memory(answer.sums.together) {
                // More is open by now than when this look began.
                Err(_) if !answer.sums.is_divided => self.memory.hurry(),
                checked => checked?,
            }
            if self.last.missed_memory.note(answer.completeness) {
                return Err(Exceeded::Hidden);
            }
        }
        files.map_or(Ok(()), |answer| self.found_files(answer))
    }

    fn found_files(&mut self, answer: FilesAnswer) -> Result<(), Exceeded> {
        (self.last.of_open, self.last.open) = (answer.memory, answer.removed);
        match (answer.too_many, self.last.doubted_until) {
            (TooMany::Yes, _) => return Err(Exceeded::Disk),
            (TooMany::WithMapped, Some(look)) if self.last.mapped_in >= look => return Err(Exceeded::Disk),
            (TooMany::WithMapped, Some(_)) => {}
            (TooMany::WithMapped, None) => self.last.doubted_until = Some(self.memory.number() + 1),
            (TooMany::No, _) => self.last.doubted_until = None,
        }
        if self.last.missed_files.note(answer.completeness) {
            return Err(Exceeded::Hidden);
        }
        // One may have been about to become another program. Or each starts the next, which inherits what it has open.
        self.last.hidden_looks = match answer.hidden {
            Some(_) => self.last.hidden_looks + 2,
            None => self.last.hidden_looks.saturating_sub(1),
        };
        if answer.hidden.is_some() && answer.hidden == self.last.hidden || self.last.hidden_looks >= 2 * MOST_HIDDEN {
            return Err(Exceeded::Hidden);
        }
        self.last.hidden = answer.hidden;
        // A look at memory may take long.
        self.check_memory(0)
    }

    /// Looks at the processes below these, and returns the bytes on the disk of removed files that they have open or
    /// mapped. If that takes longer than `patience`, returns the findings of the last look. Call [`Self::begin`] before
    /// the first look at other processes.
    pub fn removed(&mut self, below: &[Pid], patience: Duration) -> u64 {
        let until = Instant::now() + patience;
        // No limit is set here, and what has been found meanwhile may be old.
        let _ = self.found();
        self.files.hurry();
        self.memory.hurry();
        self.look(&Processes::BelowAll(below.into()));
        while self.files.is_running() || self.memory.is_running() && !self.memory.takes_longer_than(patience) {
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

#[cfg(test)]
mod tests;
