use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, statat};

use super::BLOCK;
use crate::closed::open_closed;

/// The maximum size of a job's files on the disk, in bytes.
pub const MOST_BYTES: u64 = 1 << 30;
/// The maximum number of files and directories of a job.
pub const MOST_FILES: u64 = 100_000;
/// The maximum nesting of directories. A deeper directory counts as too many files.
pub const DEEPEST: usize = 128;
/// The files below a directory, counted until there are too many.
#[derive(Debug, Default)]
pub(super) struct Files {
    bytes: u64,
    count: u64,
    too_deep: bool,
}

impl Files {
    /// Counts the files below a directory, until there are too many or `is_awaited` returns false.
    pub(super) fn below(directory: &Path, is_awaited: &dyn Fn() -> bool) -> Self {
        let mut files = Self::default();
        if let Ok(directory) = open_closed(CWD, directory) {
            files.add_all(&directory, 0, is_awaited);
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

    /// Adds the content of a directory. A name that is gone, or replaced by a link, is skipped.
    fn add_all(&mut self, directory: &OwnedFd, depth: usize, is_awaited: &dyn Fn() -> bool) {
        if depth > DEEPEST {
            self.too_deep = true;
        }
        let Ok(entries) = Dir::read_from(directory) else { return };
        for entry in entries.flatten() {
            if self.are_too_many() || !is_awaited() {
                return;
            }
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            let Ok(stat) = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            self.count += 1;
            // A file with several names is found once by each of them.
            let names = i64::try_from(stat.st_nlink).unwrap_or(i64::MAX).max(1);
            self.bytes = self.bytes.saturating_add((stat.st_blocks / names).cast_unsigned().saturating_mul(BLOCK));
            if FileType::from_raw_mode(stat.st_mode) == FileType::Directory
                && let Ok(inner) = open_closed(directory, name)
            {
                self.add_all(&inner, depth + 1, is_awaited);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

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
        let files = Files::below(directory.path(), &|| true);
        assert!(files.count == 5 && (1 << 20..1 << 21).contains(&files.bytes), "{} {}", files.count, files.bytes);
        assert!(!files.are_too_many());
    }

    #[test]
    fn directories_that_lie_too_deep_are_too_many() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join("d/".repeat(DEEPEST))).unwrap();
        assert!(!Files::below(directory.path(), &|| true).are_too_many());
        fs::create_dir_all(directory.path().join("d/".repeat(DEEPEST + 1))).unwrap();
        assert!(Files::below(directory.path(), &|| true).are_too_many());
    }
}
