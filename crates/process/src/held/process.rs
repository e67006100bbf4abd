use std::fs;
use std::path::{Path, PathBuf};

use crate::proc_file;

/// A process as the system shows it.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) pid: i32,
    /// Its directory in `/proc`. If its first thread has ended, this is that of another thread, because the first has
    /// no data left. `/proc` does not list it, but has it with everything that a process has.
    pub(super) place: PathBuf,
    status: String,
}

impl Process {
    /// Reads its state. No process can delay that.
    pub(super) fn read(pid: i32) -> Option<Self> {
        let read = |place: PathBuf| Some(Self { pid, status: proc_file::read(place.join("status")).ok()?, place });
        let first = read(PathBuf::from(format!("/proc/{pid}")))?;
        if sum(&first.status, &["RssAnon:"]).is_some() {
            return Some(first);
        }
        let threads = fs::read_dir(first.place.join("task")).into_iter().flatten().flatten();
        let mut threads = threads.filter_map(|thread| read(Path::new("/proc").join(thread.file_name())));
        let other = threads.find(|thread| sum(&thread.status, &["RssAnon:"]).is_some());
        other.or(Some(first))
    }

    /// Whether it still has memory, or has ended.
    pub(super) fn is_there(&self) -> bool {
        proc_file::read(self.place.join("status")).is_ok_and(|status| sum(&status, &["RssAnon:"]).is_some())
    }

    /// Returns the sum of the lines of its status with these names, in bytes.
    pub(super) fn sum(&self, names: &[&str]) -> u64 {
        sum(&self.status, names).unwrap_or(0)
    }

    /// Returns the user that owns the files it creates.
    pub(super) fn user(&self) -> Option<u32> {
        let users = self.status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
        users.split_whitespace().next_back()?.parse().ok()
    }

    /// Returns all memory that its status shows. Shared memory counts for each process.
    pub(super) fn shown(&self) -> u64 {
        self.sum(&["RssAnon:", "RssShmem:", "VmSwap:", "VmPTE:"])
    }

    /// Returns its memory, including swapped memory and page tables, without memory shared by mappings. Other memory
    /// that processes share counts for each of them.
    pub(super) fn memory(&self) -> u64 {
        self.sum(&["RssAnon:", "VmSwap:", "VmPTE:"])
    }

    /// Returns the same, but divides shared memory among the processes that share it, if the system reports that. `None`
    /// if the process has ended.
    pub(super) fn share(&self) -> Option<u64> {
        let rollup = proc_file::read(self.place.join("smaps_rollup")).ok();
        match rollup.and_then(|rollup| sum(&rollup, &["Pss_Anon:", "SwapPss:"])) {
            Some(share) => Some(share.saturating_add(self.sum(&["VmPTE:"]))),
            None if !self.is_there() => None,
            None => Some(self.memory()),
        }
    }
}

/// Returns the number of descriptors of a process. No process can delay that.
pub(super) fn descriptors(pid: i32) -> u64 {
    let told = |place: &Path| fs::metadata(place.join("fd")).map_or(0, |directory| directory.len());
    match told(Path::new(&format!("/proc/{pid}"))) {
        // Linux before 6.2 tells nobody, and of a first thread that has ended there is nothing to tell.
        0 => Process::read(pid).map_or(0, |process| match told(&process.place) {
            0 => fs::read_dir(process.place.join("fd")).map_or(0, |names| names.count() as u64),
            count => count,
        }),
        count => count,
    }
}

/// Returns the sum of the lines with these names in the status of a process, in bytes. It is 0 for a process that has
/// ended.
pub fn of_status(pid: i32, names: &[&str]) -> u64 {
    Process::read(pid).map_or(0, |process| process.sum(names))
}

/// Returns the sum of the lines with these names, in bytes, or `None` if there are none.
fn sum(text: &str, names: &[&str]) -> Option<u64> {
    let lines = text.lines().filter_map(|line| names.iter().find_map(|name| line.strip_prefix(name)));
    let mut numbers = lines.filter_map(|kilobytes| kilobytes.trim().strip_suffix(" kB")?.parse::<u64>().ok()).peekable();
    numbers.peek()?;
    Some(numbers.fold(0, u64::saturating_add).saturating_mul(1 << 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_are_counted() {
        let own = std::process::id().cast_signed();
        let files: Vec<_> = (0..1000).map(|_| fs::File::open("/dev/null").unwrap()).collect();
        // Other tests open some, too.
        let before = descriptors(own);
        assert!((1000..2000).contains(&before), "{before}");
        drop(files);
        assert!(descriptors(own) < before);
        assert_eq!(descriptors(i32::MAX), 0);
    }
}
