//! Resources that processes hold together and that no limit of a single process bounds: memory, and files without a
//! name.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use super::proc_file;

/// The maximum number of processes that may run together for a job.
pub const MOST_PROCESSES: usize = 256;
/// The maximum memory of these processes together, as a multiple of the limit of one process.
pub const MEMORIES: u64 = 4;
/// The unit in which the system counts the size of a file on the disk.
const BLOCK: u64 = 512;
/// The bytes counted for each item that an epoll watches. It takes much less memory, but the number of these items is
/// limited for each machine or user.
const IN_A_WATCH: u64 = 64 << 10;
/// The bytes counted for each lock on a part of a file. `RLIMIT_LOCKS` has no effect, and a search in a long list of
/// locks delays the caller.
const IN_A_LOCK: u64 = 16 << 10;
/// The maximum number of bytes read from the list of items that an epoll watches, and of locks. Each takes one line.
const LONGEST_LINES: u64 = 1 << 20;
/// The capacity of a pipe.
const IN_A_PIPE: u64 = 64 << 10;
/// The bytes that a full socket holds. Jobs cannot raise this.
static IN_A_SOCKET: LazyLock<u64> = LazyLock::new(|| {
    let set = fs::read_to_string("/proc/sys/net/core/wmem_default").ok();
    set.and_then(|bytes| bytes.trim().parse().ok()).unwrap_or(208 << 10)
});
/// The maximum number of bytes read from lists of mappings. A program has about 100 mappings, one per line.
const LONGEST_LISTS: usize = 32 << 20;

/// Time until the first look at what processes hold. It is short because most processes are. Later looks are less
/// frequent, depending on the time that a look takes.
pub const FIRST_LOOK: Duration = Duration::from_millis(5);
/// The usual time between two looks.
pub const LATER_LOOK: Duration = Duration::from_millis(250);
/// The maximum time between two looks.
pub const LATEST_LOOK: Duration = Duration::from_secs(1);
/// The pause after a look, as a multiple of the time that the look took.
const LOOKING: u32 = 4;

/// Returns the pause after a look that took this long: at least `least` and at most `most`.
pub fn pause_after(look: Duration, least: Duration, most: Duration) -> Duration {
    (look * LOOKING).clamp(least, most)
}

/// Returns the sum of the lines with these names in the status of a process, in bytes. It is 0 for a process that has
/// ended.
pub fn of_status(pid: i32, names: &[&str]) -> u64 {
    Process::read(pid).and_then(|process| sum(&process.status, names)).unwrap_or(0)
}

/// A process as the system shows it.
#[derive(Debug)]
struct Process {
    /// Its directory in `/proc`. If its first thread has ended, this is the directory of another thread: the first has
    /// no data left.
    place: PathBuf,
    status: String,
}

impl Process {
    fn read(pid: i32) -> Option<Self> {
        let read = |place: PathBuf| Some(Self { status: proc_file::read(place.join("status")).ok()?, place });
        let first = read(PathBuf::from(format!("/proc/{pid}")))?;
        if sum(&first.status, &["RssAnon:"]).is_some() {
            return Some(first);
        }
        let threads = fs::read_dir(first.place.join("task")).into_iter().flatten().flatten();
        let other = threads.filter_map(|thread| read(thread.path())).find(|thread| sum(&thread.status, &["RssAnon:"]).is_some());
        other.or(Some(first))
    }

    /// Returns its memory, including swapped memory and page tables, without memory shared by mappings, which [`Held`]
    /// counts. Other memory that processes share counts for each of them.
    fn memory(&self) -> u64 {
        sum(&self.status, &["RssAnon:", "VmSwap:", "VmPTE:"]).unwrap_or(0)
    }

    /// Returns the same, but divides shared memory among the processes that share it, if the system reports that.
    fn share(&self) -> u64 {
        let rollup = proc_file::read(self.place.join("smaps_rollup")).ok();
        match rollup.and_then(|rollup| sum(&rollup, &["Pss_Anon:", "SwapPss:"])) {
            Some(share) => share + sum(&self.status, &["VmPTE:"]).unwrap_or(0),
            None => self.memory(),
        }
    }
}

/// Returns the sum of the lines with these names, in bytes, or `None` if there are none.
fn sum(text: &str, names: &[&str]) -> Option<u64> {
    let lines = text.lines().filter_map(|line| names.iter().find_map(|name| line.strip_prefix(name)));
    let mut numbers = lines.filter_map(|kilobytes| kilobytes.trim().strip_suffix(" kB")?.parse::<u64>().ok()).peekable();
    numbers.peek()?;
    Some(numbers.sum::<u64>() << 10)
}

/// Everything that processes hold: their memory, removed files that are open or mapped, shared mappings, pipes and
/// sockets.
#[derive(Debug, Default)]
pub struct Held {
    processes: Vec<Process>,
    removed: u64,
    memory: u64,
    /// Bytes of lists of mappings that may still be read.
    patience: usize,
    /// Files, pipes and sockets already counted, by device and inode, with their bytes.
    known: BTreeMap<(u64, u64), u64>,
}

impl Held {
    /// Counts everything that these processes hold, each item once. Stops as soon as `is_awaited` returns false.
    pub fn by(processes: &[i32], is_awaited: impl Fn() -> bool) -> Self {
        let mut held = Self { patience: LONGEST_LISTS, ..Self::default() };
        for process in processes.iter().take_while(|_| is_awaited()).filter_map(|pid| Process::read(*pid)) {
            held.add_open(&process.place);
            if held.add_mapped(&process.place).is_err() {
                // Nobody may read the mappings of this program. The size of its mapped shared memory is known.
                held.memory = held.memory.saturating_add(sum(&process.status, &["RssShmem:"]).unwrap_or(0));
            }
            held.processes.push(process);
        }
        held
    }

    /// Returns the maximum number of bytes that the processes may have together, [`MEMORIES`] times `memory`, if they
    /// have more.
    ///
    /// Memory that holds files does not count. Shared memory, such as that of forks, is divided among the processes if
    /// the system reports that.
    pub fn too_much_memory(&self, memory: u64) -> Option<u64> {
        let most = memory.saturating_mul(MEMORIES);
        let have_more = |of: fn(&Process) -> u64| self.processes.iter().map(of).sum::<u64>().saturating_add(self.memory) > most;
        // The second check is slower.
        (have_more(Process::memory) && have_more(Process::share)).then_some(most)
    }

    /// Returns the bytes on the disk that removed files take.
    pub fn removed(&self) -> u64 {
        self.removed
    }

    fn add_open(&mut self, place: &Path) {
        for entry in fs::read_dir(place.join("fd")).into_iter().flatten().flatten() {
            // The metadata is that of the link's target.
            let Ok(open) = fs::metadata(entry.path()) else { continue };
            self.memory = self.memory.saturating_add(told(place, &entry));
            let (id, kind) = ((open.dev(), open.ino()), open.file_type());
            let bytes = match () {
                () if kind.is_file() && open.nlink() == 0 => open.blocks() * BLOCK,
                () if kind.is_socket() => *IN_A_SOCKET,
                () if kind.is_fifo() => IN_A_PIPE,
                () => continue,
            };
            if self.known.insert(id, bytes).is_none() {
                let sum = if kind.is_file() { &mut self.removed } else { &mut self.memory };
                *sum = sum.saturating_add(bytes);
            }
        }
    }

    /// The system does not report how much of a mapping is present, so all of it counts.
    fn add_mapped(&mut self, place: &Path) -> io::Result<()> {
        let file = fs::File::open(place.join("maps"))?;
        let mut lines = String::new();
        let read = file.take(self.patience as u64).read_to_string(&mut lines).unwrap_or(0);
        self.patience = self.patience.saturating_sub(read);
        if self.patience == 0 {
            // A process with this many mappings tries to avoid the check.
            self.memory = u64::MAX;
        }
        for mapped in lines.lines().filter_map(Mapped::read) {
            let known = self.known.entry(mapped.id).or_default();
            let more = mapped.end.saturating_sub(*known);
            *known = mapped.end.max(*known);
            let sum = if mapped.is_memory { &mut self.memory } else { &mut self.removed };
            *sum = sum.saturating_add(more);
        }
        Ok(())
    }
}

/// Returns the bytes counted for the items that a descriptor watches and for the locks that this process holds by it.
fn told(place: &Path, entry: &fs::DirEntry) -> u64 {
    let Ok(told) = fs::File::open(place.join("fdinfo").join(entry.file_name())) else { return 0 };
    let mut lines = Vec::new();
    let _ = told.take(LONGEST_LINES).read_to_end(&mut lines);
    let count = |name: &[u8]| lines.split(|byte| *byte == b'\n').filter(|line| line.starts_with(name)).count() as u64;
    count(b"tfd:").saturating_mul(IN_A_WATCH).saturating_add(count(b"lock:").saturating_mul(IN_A_LOCK))
}

/// A shared mapping of a file or memory that has no name any more.
struct Mapped {
    id: (u64, u64),
    /// The offset in the mapped file at which the mapping ends.
    end: u64,
    /// True if it maps memory and no file.
    is_memory: bool,
}

impl Mapped {
    /// Reads a line such as `7f0d-7f0e rw-s 00000000 00:01 1031 /dev/zero (deleted)`.
    fn read(line: &str) -> Option<Self> {
        // A process may name its shared memory.
        let is_named = line.ends_with(']') && line.contains(" [anon_shmem:");
        let path = if is_named { line } else { line.strip_suffix(" (deleted)")? };
        let mut fields = path.split_ascii_whitespace();
        let (from, to) = fields.next()?.split_once('-')?;
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        let length = number(to)?.checked_sub(number(from)?)?;
        fields.next().filter(|rights| rights.ends_with('s'))?;
        let offset = number(fields.next()?)?;
        let (major, minor) = fields.next()?.split_once(':')?;
        let device = rustix::fs::makedev(number(major)?.try_into().ok()?, number(minor)?.try_into().ok()?);
        let is_memory = is_named || path.ends_with(" /dev/zero") || path.contains(" /memfd:") || path.contains(" /SYSV");
        Some(Self { id: (device, fields.next()?.parse().ok()?), end: offset.saturating_add(length), is_memory })
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd as _;

    use super::*;

    #[test]
    fn a_file_without_a_name_counts_once_while_it_is_open() {
        let file = tempfile::tempfile().unwrap();
        rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, 1 << 20).unwrap();
        let own = std::process::id().cast_signed();
        let id = (file.metadata().unwrap().dev(), file.metadata().unwrap().ino());
        let held = Held::by(&[own, own], || true);
        assert!(held.removed() >= 1 << 20 && held.known[&id] >= 1 << 20, "{held:?}");
        assert!(held.removed() <= held.known.values().sum(), "{held:?}");
        assert_eq!(Held::by(&[own], || false).removed(), 0);
    }

    #[test]
    fn what_an_epoll_watches_and_locks_on_a_file_count() {
        let own = [std::process::id().cast_signed()];
        let epoll = rustix::event::epoll::create(rustix::event::epoll::CreateFlags::CLOEXEC).unwrap();
        let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        let told = |descriptor: i32| {
            let entries = fs::read_dir("/proc/self/fd").unwrap().flatten();
            entries
                .filter(|entry| entry.file_name() == *descriptor.to_string())
                .map(|entry| super::told(Path::new("/proc/self"), &entry))
                .sum::<u64>()
        };
        assert_eq!(told(epoll.as_raw_fd()), 0);
        let data = rustix::event::epoll::EventData::new_u64(0);
        rustix::event::epoll::add(&epoll, &one, data, rustix::event::epoll::EventFlags::IN).unwrap();
        assert_eq!(told(epoll.as_raw_fd()), IN_A_WATCH);
        assert!(Held::by(&own, || true).memory >= IN_A_WATCH);
        let file = tempfile::tempfile().unwrap();
        assert_eq!(told(file.as_raw_fd()), 0);
        rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive).unwrap();
        assert_eq!(told(file.as_raw_fd()), IN_A_LOCK);
    }

    #[test]
    fn sockets_hold_memory() {
        let own = [std::process::id().cast_signed()];
        let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        let id = fs::metadata(format!("/proc/self/fd/{}", one.as_raw_fd())).map(|found| (found.dev(), found.ino())).unwrap();
        let held = Held::by(&own, || true);
        assert!(held.known[&id] == *IN_A_SOCKET && held.memory >= 2 * *IN_A_SOCKET, "{held:?}");
    }

    #[test]
    fn what_is_shared_without_a_name_is_found_among_mappings() {
        let read = |line: &str| Mapped::read(line).map(|mapped| (mapped.id.1, mapped.end, mapped.is_memory));
        assert_eq!(
            read("7f00000000-7f00010000 rw-s 00001000 00:01 1031                       /dev/zero (deleted)"),
            Some((1031, 0x11000, true))
        );
        assert_eq!(read("7f00000000-7f00010000 r--s 00000000 fe:00 77 /tmp/a b (deleted)"), Some((77, 0x10000, false)));
        assert_eq!(read("7f00000000-7f00010000 rw-s 00000000 00:01 1031 [anon_shmem:a (b)]"), Some((1031, 0x10000, true)));
        for other in [
            "7f00000000-7f00010000 rw-p 00000000 fe:00 77 /tmp/a (deleted)",
            "7f00000000-7f00010000 rw-s 00000000 fe:00 77 /tmp/a",
            "7f00000000-7f00010000 rw-p 00000000 00:00 0",
            " (deleted)",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }

    #[test]
    fn processes_have_too_much_memory_together() {
        let own = std::process::id().cast_signed();
        let with = |processes| Held { processes, ..Held::default() };
        assert_eq!(with(Process::read(own).into_iter().collect()).too_much_memory(1024), Some(4096));
        assert_eq!(with(Process::read(own).into_iter().collect()).too_much_memory(u64::MAX), None);
        assert_eq!(with(Vec::new()).too_much_memory(0), None);
        assert_eq!(Held { memory: 5000, ..Held::default() }.too_much_memory(1024), Some(4096));
    }
}
