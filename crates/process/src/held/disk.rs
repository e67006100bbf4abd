use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::ffi::{CStr, CString};
use std::hash::BuildHasher as _;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Stat, fstat, statat};

use super::{BLOCK_BYTES, Id};
use crate::closed::open_closed;

/// The maximum size of a job's files on the disk, in bytes.
pub const MOST_BYTES: u64 = 1 << 30;
/// The maximum number of files and directories of a job.
pub const MOST_FILES: u64 = 100_000;
/// The maximum nesting of directories. A deeper directory counts as too many files.
pub const MAX_DIRECTORY_DEPTH: usize = 128;

/// The maximum number of checks whether a directory has changed since it was read.
const MOST_CHECKS: usize = 4;
/// The steps of the system's times, at most. The time of a directory does not show changes within the step in which it
/// was read.
const CLOCK_STEP: Duration = Duration::from_millis(20);

/// The files below a directory, counted until there are too many.
#[derive(Debug, Default)]
pub(super) struct Files {
    top: Option<OwnedFd>,
    read: Directory,
    bytes: u64,
    count: u64,
    too_deep: bool,
    /// Whether the count has all files that were there when the last check began. A process may move a directory from a
    /// place that the check has not reached to one that it has left behind.
    pub(super) is_settled: bool,
    hasher: RandomState,
}

/// A directory as it was when it was read.
#[derive(Debug, Default)]
struct Directory {
    /// Its identity and its ctime: programs can set the mtime, but not the ctime.
    version: Option<Version>,
    /// Whether it may have changed since then although its ctime is the same.
    is_recent: bool,
    /// Its entries, without those of its subdirectories: a number that tells whether they changed, their bytes and count.
    entries: u64,
    bytes: u64,
    count: u64,
    below: BTreeMap<CString, Self>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Version {
    id: Id,
    changed: (i64, u64),
}

impl Version {
    fn of(stat: &Stat) -> Self {
        Self { id: (stat.st_ino, stat.st_dev), changed: (stat.st_ctime, stat.st_ctime_nsec) }
    }

    fn is_recent(&self) -> bool {
        let (seconds, nanoseconds) = (self.changed.0.try_into().unwrap_or(0), self.changed.1.try_into().unwrap_or(0));
        let changed = UNIX_EPOCH + Duration::new(seconds, nanoseconds);
        SystemTime::now().duration_since(changed).is_ok_and(|ago| ago < CLOCK_STEP)
    }
}

impl Files {
    pub(super) fn none() -> Self {
        Self { is_settled: true, ..Self::default() }
    }

    /// Counts the files below a directory, until there are too many or `is_awaited` returns false.
    pub(super) fn below(directory: &Path, is_awaited: &dyn Fn() -> bool) -> Self {
        let mut files = Self { top: open_closed(CWD, directory).ok(), ..Self::default() };
        files.check(is_awaited);
        for _ in 0..MOST_CHECKS {
            if files.is_settled || files.are_too_many() || !is_awaited() {
                break;
            }
            files.check(is_awaited);
        }
        files
    }

    fn are_too_many(&self) -> bool {
        self.are_too_many_with(0)
    }

    /// Whether there are too many with this number of bytes elsewhere.
    pub(super) fn are_too_many_with(&self, others: u64) -> bool {
        self.bytes.saturating_add(others) > MOST_BYTES || self.count > MOST_FILES || self.too_deep
    }

    /// Reads what has changed since it was read.
    pub(super) fn check(&mut self, is_awaited: &dyn Fn() -> bool) {
        self.is_settled = true;
        let Some(top) = self.top.take() else { return };
        let mut read = std::mem::take(&mut self.read);
        self.check_one(&top, &mut read, 0, is_awaited);
        (self.top, self.read) = (Some(top), read);
    }

    fn check_one(&mut self, directory: &OwnedFd, known: &mut Directory, depth: usize, is_awaited: &dyn Fn() -> bool) {
        if depth > MAX_DIRECTORY_DEPTH {
            self.too_deep = true;
        }
        let Ok(version) = fstat(directory).map(|stat| Version::of(&stat)) else { return };
        let is_same = known.version == Some(version);
        if !is_same || known.is_recent {
            let before = known.entries;
            // What changes while it is read has a later time.
            (known.version, known.is_recent) = (Some(version), version.is_recent());
            self.read(directory, known, is_awaited);
            self.is_settled &= is_same && known.entries == before;
        }
        for (name, inner) in &mut known.below {
            if self.are_too_many() || !is_awaited() {
                return;
            }
            let is_leaf = inner.below.is_empty() && !inner.is_recent && inner.version.is_some();
            let now = || statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| Version::of(&stat)).ok();
            if is_leaf && now() == inner.version {
                continue;
            }
            // If it is gone, its directory has changed.
            if let Ok(opened) = open_closed(directory, name) {
                self.check_one(&opened, inner, depth + 1, is_awaited);
            }
        }
    }

    /// Counts the entries of a directory instead of those that it had. A name that is gone is skipped.
    fn read(&mut self, directory: &OwnedFd, known: &mut Directory, is_awaited: &dyn Fn() -> bool) {
        self.forget(known.bytes, known.count);
        (known.bytes, known.count, known.entries) = (0, 0, 0);
        let mut before = std::mem::take(&mut known.below);
        for entry in Dir::read_from(directory).into_iter().flatten().flatten() {
            if self.are_too_many() || !is_awaited() {
                // The next check reads it whole.
                known.version = None;
                break;
            }
            let name = entry.file_name();
            if name != c"." && name != c".." {
                self.add(directory, known, name, &mut before);
            }
        }
        before.values().for_each(|gone| self.forget_all(gone));
    }

    fn add(&mut self, directory: &OwnedFd, known: &mut Directory, name: &CStr, before: &mut BTreeMap<CString, Directory>) {
        let Ok(stat) = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) else { return };
        let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        // A file with several names is found once by each of them. The links to a directory are its subdirectories.
        let names = if is_directory { 1 } else { i64::try_from(stat.st_nlink).unwrap_or(i64::MAX).max(1) };
        let bytes = (stat.st_blocks / names).cast_unsigned().saturating_mul(BLOCK_BYTES);
        (self.count, self.bytes) = (self.count + 1, self.bytes.saturating_add(bytes));
        (known.count, known.bytes) = (known.count + 1, known.bytes.saturating_add(bytes));
        known.entries = known.entries.wrapping_add(self.hasher.hash_one((stat.st_ino, name)));
        if is_directory {
            let id = Version::of(&stat).id;
            let same = before.remove(name).filter(|inner| inner.version.is_none_or(|version| version.id == id) || self.forgets(inner));
            known.below.insert(name.to_owned(), same.unwrap_or_default());
        }
    }

    /// Forgets a directory that another one has replaced. Returns false.
    fn forgets(&mut self, gone: &Directory) -> bool {
        self.forget_all(gone);
        false
    }

    fn forget_all(&mut self, gone: &Directory) {
        self.forget(gone.bytes, gone.count);
        gone.below.values().for_each(|inner| self.forget_all(inner));
    }

    fn forget(&mut self, bytes: u64, count: u64) {
        (self.bytes, self.count) = (self.bytes.saturating_sub(bytes), self.count.saturating_sub(count));
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt};

    use super::*;

    #[test]
    fn files_are_counted_once_wherever_they_are_and_whoever_may_read_them() {
        let directory = tempfile::tempdir().unwrap();
        let inner = directory.path().join("a/b");
        fs::create_dir_all(&inner).unwrap();
        fs::write(inner.join("file"), vec![1; 1 << 20]).unwrap();
        fs::hard_link(inner.join("file"), directory.path().join("same")).unwrap();
        std::os::unix::fs::symlink("/", directory.path().join("link")).unwrap();
        fs::set_permissions(&inner, fs::Permissions::from_mode(0o000)).unwrap();
        let mut files = Files::below(directory.path(), &|| true);
        for _ in 0..2 {
            assert!(files.count == 5 && (1 << 20..1 << 21).contains(&files.bytes), "{} {}", files.count, files.bytes);
            assert!(!files.are_too_many());
            files.check(&|| true);
        }
    }

    #[test]
    fn directories_that_lie_too_deep_are_too_many() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join("d/".repeat(MAX_DIRECTORY_DEPTH))).unwrap();
        assert!(!Files::below(directory.path(), &|| true).are_too_many());
        fs::create_dir_all(directory.path().join("d/".repeat(MAX_DIRECTORY_DEPTH + 1))).unwrap();
        assert!(Files::below(directory.path(), &|| true).are_too_many());
    }

    #[test]
    fn what_moves_to_where_it_was_counted_already_counts() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        for name in ["a", "b", "c"] {
            fs::create_dir(path(name)).unwrap();
        }
        // All are read in the order of their names.
        fs::create_dir_all(path("c/moving/inner")).unwrap();
        fs::write(path("c/moving/file"), vec![1; 1 << 20]).unwrap();
        for i in 0..20 {
            fs::write(path(&format!("b/{i}")), "x").unwrap();
        }
        // It moves once "a" was read.
        let calls = Cell::new(0);
        let moves = |at: i32| {
            calls.set(calls.get() + 1);
            if calls.get() == at {
                fs::rename(path("c/moving"), path("a/moving")).unwrap();
            }
            true
        };
        let files = Files::below(directory.path(), &|| moves(15));
        assert!(files.count == 26 && files.bytes >= 1 << 20 && files.is_settled, "{} {}: {}", files.count, files.bytes, calls.get());
        let mut files = Files::below(directory.path(), &|| true);
        fs::rename(path("a/moving"), path("c/moving")).unwrap();
        fs::remove_file(path("c/moving/file")).unwrap();
        files.check(&|| true);
        assert!(files.count == 25 && files.bytes < 1 << 20 && !files.is_settled, "{} {}", files.count, files.bytes);
        fs::remove_dir_all(path("c")).unwrap();
        fs::write(path("b/more"), "x").unwrap();
        files.check(&|| false);
        files.check(&|| true);
        assert_eq!(files.count, 23);
    }

    #[test]
    fn a_directory_that_always_changes_is_never_settled() {
        let directory = tempfile::tempdir().unwrap();
        let calls = Cell::new(0);
        let files = Files::below(directory.path(), &|| {
            calls.set(calls.get() + 1);
            fs::write(directory.path().join(calls.get().to_string()), "").unwrap();
            true
        });
        assert!(!files.is_settled && files.count > 0, "{files:?}");
    }

    #[test]
    fn a_directory_counts_whole_however_many_others_are_in_it() {
        let directory = tempfile::tempdir().unwrap();
        let inner = directory.path().join("d");
        fs::create_dir(&inner).unwrap();
        for i in 0..100 {
            fs::create_dir(inner.join(format!("{i}{}", "x".repeat(200)))).unwrap();
        }
        let files = Files::below(directory.path(), &|| true);
        let names = fs::read_dir(&inner).unwrap().flatten().map(|entry| entry.metadata().unwrap().blocks());
        let expected = (inner.metadata().unwrap().blocks() + names.sum::<u64>()) * BLOCK_BYTES;
        assert_eq!((files.count, files.bytes), (101, expected));
    }
}
