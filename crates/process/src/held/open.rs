use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;
use std::sync::LazyLock;

use super::process::Process;
use super::processes::Processes;
use super::{BLOCK_BYTES, Id, Removed};
use crate::proc_file;

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

/// What processes have open, each item once. They cannot delay the look at it.
#[derive(Debug, Default)]
pub(super) struct Open {
    /// The removed files and directories.
    pub(super) removed: Removed,
    /// Their bytes.
    pub(super) removed_bytes: u64,
    /// Pipes and sockets, by inode and device, with their bytes.
    channels: BTreeMap<Id, u64>,
    /// The bytes counted for these, and for what epolls watch and locks.
    pub(super) memory: u64,
    /// A process that hides what it has open by running a program that its user may not read.
    pub(super) hidden: Option<i32>,
}

impl Open {
    /// Counts what these processes have open, until `goes_on` returns false, which this calls before each descriptor:
    /// reading what an epoll watches can take a tenth of a second. Also returns whether it looked at all.
    pub(super) fn by(processes: &Processes, mut goes_on: impl FnMut(&Self) -> bool) -> (Self, bool) {
        let mut open = Self::default();
        let seen = processes.each(|pid| open.add_all(pid, &mut goes_on));
        (open, seen.is_whole)
    }

    /// Adds what a process has open. Returns false if `goes_on` does.
    fn add_all(&mut self, pid: i32, goes_on: &mut impl FnMut(&Self) -> bool) -> bool {
        let Some(process) = Process::read(pid) else { return true };
        let user = process.user();
        // A program may remove its own file, and the directory in which it is.
        for name in ["exe", "cwd"] {
            self.add_file(fs::metadata(process.place.join(name)).ok().as_ref(), user);
        }
        match fs::read_dir(process.place.join("fd")) {
            Ok(entries) => {
                for entry in entries.flatten() {
                    if !goes_on(self) {
                        return false;
                    }
                    self.add(&process.place, &entry, user);
                }
            }
            // That of a process that ends may not be read, either.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && process.is_there() => self.hidden = Some(pid),
            Err(_) => {}
        }
        true
    }

    fn add(&mut self, place: &Path, entry: &fs::DirEntry, user: Option<u32>) {
        // The metadata is that of the link's target.
        let Ok(file) = fs::metadata(entry.path()) else { return };
        self.memory = self.memory.saturating_add(told(place, entry));
        let (id, kind) = ((file.ino(), file.dev()), file.file_type());
        let bytes = match () {
            () if kind.is_socket() => *IN_A_SOCKET,
            () if kind.is_fifo() => IN_A_PIPE,
            () => return self.add_file(Some(&file), user),
        };
        if self.channels.insert(id, bytes).is_none() {
            self.memory = self.memory.saturating_add(bytes);
        }
    }

    /// Adds a file or directory of this user, if it has no name any more. A file of another user was replaced, as by an
    /// upgrade.
    fn add_file(&mut self, file: Option<&fs::Metadata>, user: Option<u32>) {
        let Some(file) = file.filter(|file| file.nlink() == 0).filter(|file| user.is_none_or(|user| file.uid() == user)) else { return };
        let bytes = file.blocks().saturating_mul(BLOCK_BYTES);
        let before = self.removed.insert((file.ino(), file.dev()), bytes).unwrap_or(0);
        self.removed_bytes = self.removed_bytes.saturating_sub(before).saturating_add(bytes);
    }
}

/// Returns the bytes counted for the items that a descriptor watches and for the locks that this process holds by it.
fn told(place: &Path, entry: &fs::DirEntry) -> u64 {
    let told = place.join("fdinfo").join(entry.file_name());
    let Ok(lines) = proc_file::read_at_most(told, LONGEST_LINES) else { return 0 };
    let count = |name: &str| lines.lines().filter(|line| line.starts_with(name)).count() as u64;
    count("tfd:").saturating_mul(IN_A_WATCH).saturating_add(count("lock:").saturating_mul(IN_A_LOCK))
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::fd::AsRawFd as _;
    use std::process::Stdio;

    use super::*;

    #[test]
    fn a_file_without_a_name_counts_once_while_it_is_open() {
        let file = tempfile::tempfile().unwrap();
        rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, 1 << 20).unwrap();
        let own = std::process::id().cast_signed();
        let id = (file.metadata().unwrap().ino(), file.metadata().unwrap().dev());
        let own = Processes::These([own, own].into());
        let (open, is_whole) = Open::by(&own, |_| true);
        assert!(is_whole);
        assert!(open.removed[&id] >= 1 << 20, "{open:?}");
        let (open, mapped) = (Removed::from([(id, 5), ((1, 0), 7)]), Removed::from([(id, 9), ((2, 0), 11)]));
        assert_eq!(super::super::total(&open, &mapped), 5 + 7 + 11);
        // Another device may be another name of the same.
        let mapped = Removed::from([((id.0, id.1 + 1), 9), ((1, 5), 6)]);
        assert_eq!(super::super::total(&open, &mapped), 9 + 7);
        let (open, is_whole) = Open::by(&own, |_| false);
        assert!(open.removed.len() <= 1 && !is_whole, "{open:?}");
    }

    #[test]
    fn a_directory_without_a_name_counts_while_it_is_open_or_somebody_is_in_it() {
        let top = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let path = top.path().join(name);
            fs::create_dir(&path).unwrap();
            // Some file systems keep the blocks of a directory that had many names.
            (0..1000).for_each(|i| fs::write(path.join(format!("{i}{}", "x".repeat(200))), "").unwrap());
            (0..1000).for_each(|i| fs::remove_file(path.join(format!("{i}{}", "x".repeat(200)))).unwrap());
            (fs::File::open(&path).unwrap(), path)
        };
        let ((kept, path), (lived_in, home)) = (make("kept"), make("home"));
        let mut shell = std::process::Command::new("sh");
        let mut shell =
            shell.args(["-c", "echo; exec cat"]).current_dir(&home).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        shell.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        fs::remove_dir(path).unwrap();
        fs::remove_dir(home).unwrap();
        let of = |file: &fs::File| file.metadata().map(|file| ((file.ino(), file.dev()), file.blocks() * BLOCK_BYTES)).unwrap();
        let (kept, lived_in) = (of(&kept), of(&lived_in));
        let (open, _) = Open::by(&Processes::These([std::process::id().cast_signed()].into()), |_| true);
        assert_eq!(open.removed.get(&kept.0), Some(&kept.1), "{open:?}");
        let (open, _) = Open::by(&Processes::These([shell.id().cast_signed()].into()), |_| true);
        assert_eq!(open.removed.get(&lived_in.0), Some(&lived_in.1), "{open:?}");
        drop(shell.stdin.take());
        shell.wait().unwrap();
    }

    #[test]
    fn what_an_epoll_watches_and_locks_on_a_file_count() {
        let own = Processes::These([std::process::id().cast_signed()].into());
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
        assert!(Open::by(&own, |_| true).0.memory >= IN_A_WATCH);
        let file = tempfile::tempfile().unwrap();
        assert_eq!(told(file.as_raw_fd()), 0);
        rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive).unwrap();
        assert_eq!(told(file.as_raw_fd()), IN_A_LOCK);
    }

    #[test]
    fn sockets_hold_memory() {
        let own = Processes::These([std::process::id().cast_signed()].into());
        let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        let id = fs::metadata(format!("/proc/self/fd/{}", one.as_raw_fd())).map(|found| (found.ino(), found.dev())).unwrap();
        let (open, _) = Open::by(&own, |_| true);
        assert!(open.channels[&id] == *IN_A_SOCKET && open.memory >= 2 * *IN_A_SOCKET, "{open:?}");
    }
}
