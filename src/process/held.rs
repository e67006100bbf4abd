//! What processes hold together, which no limit of a single process bounds: memory, and files that have no name any more. And the directories
//! that they closed to whoever looks.

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;

use rustix::fs::{Mode, OFlags, chmod, fchmod, fstat, openat};
use rustix::io::Errno;
use rustix::path::Arg;

/// How many processes may run together for a job.
pub const MOST_PROCESSES: usize = 256;
/// How much memory they may have together: so many times what one may have.
pub const MEMORIES: u64 = 4;
/// The unit in which the system counts what a file takes.
const BLOCK: u64 = 512;

/// What these processes may have together, in bytes, if they have more: [`MEMORIES`] times `memory`.
///
/// What files are in memory is not counted. What processes share, such as the memory of forks, is divided among them where the system tells that.
pub fn too_much_memory(processes: &[i32], memory: u64) -> Option<u64> {
    let most = memory.saturating_mul(MEMORIES);
    let have_more = |of: fn(i32) -> u64| processes.iter().map(|pid| of(*pid)).sum::<u64>() > most;
    // The second takes longer to find.
    (have_more(memory_of) && have_more(share_of)).then_some(most)
}

/// The memory of a process, with what the system needs to map it. What processes share is found in each of them.
fn memory_of(pid: i32) -> u64 {
    of_status(pid, &["RssAnon:", "RssShmem:", "VmPTE:"])
}

/// The same, with what processes share divided among them, where the system tells that.
fn share_of(pid: i32) -> u64 {
    match of_lines(pid, "smaps_rollup", &["Pss_Anon:", "Pss_Shmem:"]) {
        Some(share) => share + of_status(pid, &["VmPTE:"]),
        None => memory_of(pid),
    }
}

/// The sum of the lines with these names in the status of a process, in bytes. Nothing is known of one that has ended.
pub fn of_status(pid: i32, names: &[&str]) -> u64 {
    of_lines(pid, "status", names).unwrap_or(0)
}

/// The sum of the lines with these names in a file that the system keeps of a process, in bytes, if it has any.
fn of_lines(pid: i32, file: &str, names: &[&str]) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/{file}")).ok()?;
    let lines = text.lines().filter_map(|line| names.iter().find_map(|name| line.strip_prefix(name)));
    let mut numbers = lines.filter_map(|kilobytes| kilobytes.trim().strip_suffix(" kB")?.parse::<u64>().ok()).peekable();
    numbers.peek()?;
    Some(numbers.sum::<u64>() << 10)
}

/// Files that processes have open although they were removed, as far as they were counted.
#[derive(Debug, Default)]
pub struct Removed {
    bytes: u64,
    /// By device and number.
    known: BTreeSet<(u64, u64)>,
}

impl Removed {
    /// The bytes that they take.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds those of a process, each once. It ends as soon as there are more than `most` bytes.
    pub fn add(&mut self, pid: i32, most: u64) {
        for entry in fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten() {
            if self.bytes > most {
                return;
            }
            // Of what it leads to.
            if let Ok(file) = fs::metadata(entry.path())
                && file.is_file()
                && file.nlink() == 0
                && self.known.insert((file.dev(), file.ino()))
            {
                self.bytes = self.bytes.saturating_add(file.blocks() * BLOCK);
            }
        }
    }
}

/// Opens a directory in another one. A link is not followed.
pub fn open(directory: impl AsFd, name: impl Arg) -> rustix::io::Result<OwnedFd> {
    openat(directory, name, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

/// The same for one whose owner may have taken the rights from himself. He gets them back: who may not enter it does not see what is in it.
pub fn open_closed(directory: impl AsFd, name: impl Arg + Copy) -> rustix::io::Result<OwnedFd> {
    match open(&directory, name) {
        Err(Errno::ACCESS) => {
            let closed = openat(&directory, name, OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
            // Another one may have its name by now.
            chmod(format!("/proc/self/fd/{}", closed.as_raw_fd()), Mode::RWXU)?;
            open(&closed, ".")
        }
        Ok(opened) => {
            let mode = Mode::from_raw_mode(fstat(&opened)?.st_mode);
            if !mode.contains(Mode::RUSR | Mode::XUSR) {
                // It can be somebody else's, whom its rights are not for.
                let _ = fchmod(&opened, mode | Mode::RWXU);
            }
            Ok(opened)
        }
        failed => failed,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use rustix::fs::CWD;

    use super::*;

    #[test]
    fn a_file_without_a_name_counts_once_while_it_is_open() {
        let file = tempfile::tempfile().unwrap();
        rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, 1 << 20).unwrap();
        let mut removed = Removed::default();
        removed.add(std::process::id().cast_signed(), u64::MAX);
        assert!(removed.bytes() >= 1 << 20, "{}", removed.bytes());
        let device_and_number = (file.metadata().unwrap().dev(), file.metadata().unwrap().ino());
        assert!(removed.known.contains(&device_and_number));
        assert!(!removed.known.insert(device_and_number));
    }

    #[test]
    fn a_directory_is_opened_whoever_may_enter_it() {
        let directory = tempfile::tempdir().unwrap();
        let name = directory.path().join("d");
        fs::create_dir(&name).unwrap();
        fs::write(name.join("file"), "x").unwrap();
        for mode in [0o000, 0o200, 0o400, 0o100] {
            fs::set_permissions(&name, fs::Permissions::from_mode(mode)).unwrap();
            let opened = open_closed(CWD, &name).unwrap();
            assert!(rustix::fs::statat(&opened, "file", rustix::fs::AtFlags::empty()).is_ok(), "{mode:o}");
        }
        assert_eq!(fs::metadata(&name).unwrap().permissions().mode() & 0o700, 0o700);
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&name, &link).unwrap();
        assert!(open_closed(CWD, &link).is_err());
    }

    #[test]
    fn processes_have_too_much_memory_together() {
        let own = std::process::id().cast_signed();
        assert_eq!(too_much_memory(&[own], 1024), Some(4096));
        assert_eq!(too_much_memory(&[own], u64::MAX), None);
        assert_eq!(too_much_memory(&[], 0), None);
    }
}
