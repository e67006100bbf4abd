use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::process::Pid;

use super::files::{FilesAnswer, FilesQuestion, TooMany, look_at_files};
use super::look::Look;
use super::memory::{Memory, Sums, too_much};
use super::process::Process;
use super::{MEMORIES, MOST_PROCESSES, Removed, total};
use crate::tree::Looked;

/// After this time a look at memory is not waited for any more. The memory that it found last counts, with all that the
/// processes have more by now, as if they shared none of it.
const OVERDUE: Duration = Duration::from_secs(5);
/// After this time they have too much: they may hide shared memory by delaying the look.
const HOPELESS: Duration = Duration::from_secs(20);

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
    hopeless: Duration,
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

/// The findings of the last looks.
#[derive(Debug, Default)]
struct Found {
    /// Memory of what the processes had open.
    of_open: u64,
    /// The removed files that they had open.
    open: Removed,
    /// The removed files that they had mapped.
    mapped: Arc<Removed>,
    /// The look at memory that found these.
    mapped_in: u64,
    memory: Sums,
    /// A process that hid what it had open.
    hidden: Option<i32>,
    /// The look at memory after which there are still too many files, if there were too many only with those that were
    /// mapped: they may be gone meanwhile.
    doubted_until: Option<u64>,
}

impl fmt::Debug for Checks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checks").field("job", &self.job).field("last", &self.last).finish_non_exhaustive()
    }
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
        Self::with(OVERDUE, HOPELESS, move |question, is_awaited| {
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

    fn with(
        overdue: Duration,
        hopeless: Duration,
        memory: impl FnMut(MemoryQuestion, &dyn Fn() -> bool) -> MemoryAnswer + Send + 'static,
    ) -> io::Result<Self> {
        let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        Ok(Self {
            files: Look::start("files", wake.clone(), |question, is_awaited| look_at_files(&question, is_awaited))?,
            memory: Look::start("memory", wake.clone(), memory)?,
            overdue,
            hopeless,
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
        if self.memory.takes_longer_than(self.hopeless) {
            return Err(Exceeded::Memory(self.of_one.saturating_mul(MEMORIES)));
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
        let shown = |pid: &i32| Process::read(*pid).map_or(0, |process| process.shown());
        let more = processes.iter().map(shown).fold(0, u64::saturating_add).saturating_sub(self.last.memory.shown);
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
        let (files, memory) = (self.files.answer(), self.memory.answer());
        if let Some(answer) = memory {
            (self.last.memory, self.last.mapped, self.last.mapped_in) = (answer.sums, answer.removed.into(), self.memory.number());
            self.check_memory(answer.sums.together)?;
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
        // It may have been about to end, or to become another program.
        if answer.hidden.is_some() && answer.hidden == self.last.hidden {
            return Err(Exceeded::Hidden);
        }
        self.last.hidden = answer.hidden;
        // A look at memory may take long.
        self.check_memory(0)
    }

    /// Looks at these processes, and returns the bytes on the disk of removed files that they have open or mapped. If
    /// that takes longer than `patience`, what was found last counts. Call [`Self::begin`] before other processes are
    /// looked at.
    pub fn removed(&mut self, processes: Vec<i32>, patience: Duration) -> u64 {
        let until = Instant::now() + patience;
        // No limit is set here, and what has been found meanwhile may be old.
        let _ = self.found();
        self.files.hurry();
        self.memory.hurry();
        self.look(processes.into());
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
mod tests {
    use std::process::{Child, Command, Stdio};
    use std::sync::mpsc;

    use super::*;

    const NEVER: Duration = Duration::from_secs(3600);

    /// A shell that waits for another process, which does nothing.
    fn shell() -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", "exec 3<&0; cat <&3 & wait"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    }

    /// Checks whose looks at memory never end. They do once the sender is dropped.
    fn held_up(overdue: Duration, hopeless: Duration) -> (mpsc::Sender<()>, Checks) {
        let (sender, ends) = mpsc::channel::<()>();
        let checks = Checks::with(overdue, hopeless, move |_, _| {
            let _ = ends.recv();
            MemoryAnswer { sums: Sums::default(), removed: Removed::new() }
        });
        (sender, checks.unwrap())
    }

    /// Counts what is below a process until something is exceeded.
    fn exceeded(checks: &mut Checks, root: &Child) -> Exceeded {
        let until = Instant::now() + Duration::from_secs(60);
        while Instant::now() < until {
            if let Err(exceeded) = checks.count(Pid::from_child(root), &[]).and_then(|_| checks.found()) {
                return exceeded;
            }
            let _ = poll(&mut [checks.awaited()], Some(&Timespec { tv_sec: 0, tv_nsec: 5_000_000 }));
        }
        panic!("nothing was found")
    }

    #[test]
    fn all_limits_hold_even_if_a_look_at_memory_never_ends() {
        let mut shell = shell();
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("d/".repeat(super::super::DEEPEST + 1))).unwrap();
        let (_sender, mut checks) = held_up(NEVER, NEVER);
        checks.begin(u64::MAX, Some(directory.path()));
        assert_eq!(exceeded(&mut checks, &shell), Exceeded::Disk);
        // What is open: the shell's child has a pipe of 64 KB.
        checks.begin(8 << 10, None);
        assert_eq!(exceeded(&mut checks, &shell), Exceeded::Memory(32 << 10));
        let (_sender, mut checks) = held_up(Duration::ZERO, NEVER);
        checks.begin(18 << 10, None);
        assert_eq!(exceeded(&mut checks, &shell), Exceeded::Memory(72 << 10), "what its status shows, with the pipe");
        let (_sender, mut checks) = held_up(NEVER, Duration::ZERO);
        checks.begin(1 << 30, None);
        assert_eq!(exceeded(&mut checks, &shell), Exceeded::Memory(4 << 30));
        drop(shell.stdin.take());
        shell.wait().unwrap();
    }

    #[test]
    fn memory_is_looked_at() {
        let mut shell = shell();
        let mut checks = Checks::start().unwrap();
        checks.begin(18 << 10, None);
        assert_eq!(exceeded(&mut checks, &shell), Exceeded::Memory(72 << 10));
        drop(shell.stdin.take());
        shell.wait().unwrap();
    }

    #[test]
    fn only_what_processes_have_more_is_added_to_what_was_found_last() {
        let own = vec![std::process::id().cast_signed(); 3];
        let (_sender, mut checks) = held_up(NEVER, NEVER);
        let shown = Process::read(own[0]).unwrap().shown();
        checks.begin(shown / 4, None);
        assert_eq!(checks.add_up(&own), Err(Exceeded::Memory(shown / 4 * 4)));
        // They shared it.
        checks.last.memory = Sums { shown: shown * 3, together: shown / 2 };
        assert_eq!(checks.add_up(&own), Ok(()));
        checks.last.of_open = shown;
        assert_eq!(checks.add_up(&own), Err(Exceeded::Memory(shown / 4 * 4)));
    }

    #[test]
    fn what_was_mapped_some_time_ago_and_who_hid_once_are_looked_at_again() {
        let (_sender, mut checks) = held_up(NEVER, NEVER);
        checks.begin(u64::MAX, None);
        let answer = |too_many, hidden| FilesAnswer { memory: 0, removed: Removed::new(), too_many, hidden };
        assert_eq!(checks.found_files(answer(TooMany::WithMapped, None)), Ok(()));
        assert_eq!(checks.found_files(answer(TooMany::WithMapped, None)), Ok(()));
        checks.last.mapped_in = checks.memory.number() + 1;
        assert_eq!(checks.found_files(answer(TooMany::WithMapped, None)), Err(Exceeded::Disk));
        assert_eq!(checks.found_files(answer(TooMany::No, None)), Ok(()));
        assert_eq!(checks.found_files(answer(TooMany::Yes, None)), Err(Exceeded::Disk));
        for (hidden, found) in [(1, Ok(())), (2, Ok(())), (2, Err(Exceeded::Hidden))] {
            assert_eq!(checks.found_files(answer(TooMany::No, Some(hidden))), found);
        }
    }

    #[test]
    fn removed_files_are_told_that_processes_have_open() {
        use std::io::Write as _;

        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![1; 1 << 20]).unwrap();
        let own = vec![std::process::id().cast_signed()];
        let mut checks = Checks::start().unwrap();
        assert!(checks.removed(own, Duration::from_secs(60)) >= 1 << 20);
        assert_eq!(checks.removed(Vec::new(), Duration::from_secs(60)), 0);
    }
}
