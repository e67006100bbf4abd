//! The jobs that own each log file, so that a file is removed when the last of its jobs is gone.
//!
//! Each job has an entry `.jobs/{digest of the path}/{identity}@{job}`, and `.jobs/{digest}.path` contains the path.
//! The identity is that of the Redis that has the job: several may share a directory, and only servers that use that
//! Redis know whether the job is gone. A file without such an entry was not written by hero and is never touched. A
//! lock in the same directory keeps processes that create files from processes that remove them.

use std::fs::{DirBuilder, File, ReadDir};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, ResolveFlags, flock};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use super::{Error, LogDirectory, LogFile};
use hero_model::{JobId, hex};

/// The directory of the entries. No `log_path` leads there.
pub(super) const OWNERS: &str = ".jobs";
/// Separates identity and job in the name of an entry. Neither contains it.
const OF: char = '@';
/// Timeout for the lock. It is needed for a few system calls only, so a process that holds it longer hangs.
const LONGEST_LOCK: Duration = Duration::from_secs(2);
/// The pause between two attempts to get the lock.
const LOCK_RETRY_DELAY: Duration = Duration::from_millis(5);

/// A job that has a log file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    digest: String,
    /// The identity of the Redis that has the job.
    pub identity: String,
    /// The job.
    pub job: JobId,
}

/// A log file and the older one that was rotated.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogFileSet {
    /// The time of the last write.
    pub written: SystemTime,
    /// The number of bytes it takes on the disk, with its directories and entries.
    pub bytes: u64,
    digest: String,
}

/// A walk through all entries, in steps.
#[derive(Debug)]
pub struct Walk {
    directory: LogDirectory,
    paths: Option<ReadDir>,
    jobs: Option<(String, ReadDir)>,
    /// The files found so far.
    pub files: Vec<LogFileSet>,
}

impl LogDirectory {
    /// Opens the log file of a job to append to, and writes an entry for the job. `identity` is that of the Redis with
    /// the job.
    ///
    /// Waits for the lock, so it must not be called on a thread that serves connections.
    pub fn append_for(&self, identity: &str, job: &JobId, path: &str) -> Result<LogFile, Error> {
        let resolved = self.resolve(path)?;
        self.make_root()?;
        let _lock = self.lock()?;
        let digest = digest(&resolved);
        let file = self.owners().join(format!("{digest}.path"));
        private_directory(&self.owners().join(&digest))?;
        if path_in(&file, &digest).is_none() {
            std::fs::write(&file, resolved.as_os_str().as_encoded_bytes())?;
        }
        let owner = Owner { digest, identity: identity.to_owned(), job: job.clone() };
        private_file(&self.owners().join(&owner.digest).join(owner.name()))?;
        self.append(path)
    }

    /// Removes the entry of a job that no longer exists, and the file if no other job owns it. Returns whether the file
    /// was removed.
    pub fn forget(&self, identity: &str, job: &JobId, path: &str) -> Result<bool, Error> {
        self.forget_owner(&Owner { digest: digest(&self.resolve(path)?), identity: identity.to_owned(), job: job.clone() })
    }

    /// Like [`Self::forget`], for an entry that a walk has found.
    pub(crate) fn forget_owner(&self, owner: &Owner) -> Result<bool, Error> {
        let entries = self.owners().join(&owner.digest);
        // No job ever had this file.
        if !entries.exists() {
            return Ok(false);
        }
        let _lock = self.lock()?;
        gone(std::fs::remove_file(entries.join(owner.name())))?;
        match std::fs::remove_dir(&entries) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => return Ok(false),
            removed => gone(removed)?,
        }
        let removed = self.remove(&owner.digest)? > 0;
        gone(std::fs::remove_file(self.owners().join(format!("{}.path", owner.digest))))?;
        Ok(removed)
    }

    /// Removes a file although its jobs still exist. Returns the number of bytes it freed.
    pub(crate) fn remove_kept(&self, file: &LogFileSet) -> Result<u64, Error> {
        let _lock = self.lock()?;
        self.remove(&file.digest)
    }

    /// Starts a walk through all entries.
    pub fn walk(&self) -> Walk {
        Walk { directory: self.clone(), paths: std::fs::read_dir(self.owners()).ok(), jobs: None, files: Vec::new() }
    }

    fn owners(&self) -> PathBuf {
        self.root.join(OWNERS)
    }

    fn lock(&self) -> Result<File, Error> {
        private_directory(&self.owners())?;
        let path = self.owners().join("lock");
        let (file, until) = (private_file(&path)?, Instant::now() + LONGEST_LOCK);
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(file),
                Err(Errno::WOULDBLOCK | Errno::INTR) if Instant::now() < until => std::thread::sleep(LOCK_RETRY_DELAY),
                Err(Errno::WOULDBLOCK) => return Err(Error::Busy { path: path.display().to_string(), waited: LONGEST_LOCK }),
                Err(error) => return Err(io::Error::from(error).into()),
            }
        }
    }

    /// The paths of the file of a digest and of its rotated file. The latter is left out if another job owns that path.
    fn names(&self, digest: &str) -> Vec<PathBuf> {
        let Some(path) = path_in(&self.owners().join(format!("{digest}.path")), digest) else { return Vec::new() };
        let mut older = path.clone().into_os_string();
        older.push(".1");
        let older = PathBuf::from(older);
        let taken = self.owners().join(self::digest(&older)).exists();
        [path].into_iter().chain((!taken).then_some(older)).collect()
    }

    /// Removes the files of a digest, and the directories that become empty. Returns the number of bytes it freed.
    fn remove(&self, digest: &str) -> Result<u64, Error> {
        let mut bytes = 0;
        for path in self.names(digest) {
            // Anything else at the path, such as a symbolic link, is not ours.
            let Ok(file) = self.open(&path, OFlags::RDONLY) else { continue };
            let size = file.metadata()?.len();
            match self.unlink(&path) {
                Ok(()) => bytes += size.max(1),
                Err(Errno::NOENT) => {}
                Err(error) => return Err(io::Error::from(error).into()),
            }
        }
        Ok(bytes)
    }

    fn unlink(&self, path: &Path) -> rustix::io::Result<()> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(&self.root, flags, Mode::empty())?;
        let beneath = |at: &Path| {
            let at = if at.as_os_str().is_empty() { Path::new(".") } else { at };
            rustix::fs::openat2(&root, at, flags, Mode::empty(), ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS)
        };
        let parent = path.parent().unwrap_or(Path::new(""));
        rustix::fs::unlinkat(beneath(parent)?, path.file_name().unwrap_or_default(), AtFlags::empty())?;
        for empty in parent.ancestors().filter(|at| !at.as_os_str().is_empty()) {
            let above = beneath(empty.parent().unwrap_or(Path::new("")))?;
            if rustix::fs::unlinkat(above, empty.file_name().unwrap_or_default(), AtFlags::REMOVEDIR).is_err() {
                break;
            }
        }
        Ok(())
    }
}

impl Owner {
    /// The name of the entry.
    fn name(&self) -> String {
        format!("{}{OF}{}", self.identity, self.job)
    }

    fn named(digest: &str, name: &str) -> Option<Self> {
        let (identity, job) = name.split_once(OF)?;
        Some(Self { digest: digest.to_owned(), identity: identity.to_owned(), job: job.parse().ok()? })
    }
}

impl Walk {
    /// Drops the file of an entry from the files found, because it was removed.
    pub fn removed(&mut self, owner: &Owner) {
        // The search starts at the end, because the walk found the file a short while ago.
        if let Some(at) = self.files.iter().rposition(|file| file.digest == owner.digest) {
            self.files.remove(at);
        }
    }

    /// Returns the next entries, at most `limit`; none at the end of the walk.
    pub fn step(&mut self, limit: usize) -> Vec<Owner> {
        let mut found = Vec::new();
        while found.len() < limit {
            if let Some((digest, jobs)) = &mut self.jobs {
                match jobs.next() {
                    Some(Ok(entry)) => {
                        // Entries with other names are skipped, because nobody knows whether their jobs are gone.
                        found.extend(entry.file_name().to_str().and_then(|name| Owner::named(digest, name)));
                    }
                    Some(Err(_)) | None => self.jobs = None,
                }
                continue;
            }
            let Some(Ok(entry)) = self.paths.as_mut().and_then(Iterator::next) else { break };
            let name = entry.file_name();
            let Some(digest) = name.to_str().filter(|name| is_digest(name)) else { continue };
            let names = self.directory.names(digest);
            let around = names.first().map_or(0, |path| around(path));
            let sizes = names.into_iter().filter_map(|path| {
                let metadata = self.directory.open(&path, OFlags::RDONLY).ok()?.metadata().ok()?;
                // The space on the disk, not the length: a file may have holes.
                Some((metadata.modified().ok()?, metadata.blocks() * 512))
            });
            let (written, bytes) = sizes.fold((None, 0), |(last, sum), (written, bytes)| (last.max(Some(written)), sum + bytes));
            if let Some(written) = written {
                self.files.push(LogFileSet { written, bytes: bytes + around, digest: digest.to_owned() });
            }
            self.jobs = std::fs::read_dir(entry.path()).ok().map(|jobs| (digest.to_owned(), jobs));
        }
        found
    }
}

/// The number of bytes that the directories of a file take, which other files may share, and its entries.
fn around(path: &Path) -> u64 {
    const BLOCK: u64 = 4096;
    const ENTRIES: usize = 2;
    (path.components().count() - 1 + ENTRIES) as u64 * BLOCK
}

fn digest(path: &Path) -> String {
    hex(&Sha256::digest(path.as_os_str().as_encoded_bytes()))
}

fn is_digest(name: &str) -> bool {
    name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the path in a `.path` file, if it has this digest. A half-written file has another digest.
fn path_in(file: &Path, digest: &str) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt as _;
    let path = PathBuf::from(std::ffi::OsString::from_vec(std::fs::read(file).ok()?));
    (self::digest(&path) == digest).then_some(path)
}

fn private_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn private_file(path: &Path) -> io::Result<File> {
    File::options().write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// Treats a file that is already gone as removed.
fn gone(removed: io::Result<()>) -> io::Result<()> {
    removed.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: &str = "00000000000000000000000000000001";

    fn all(directory: &LogDirectory) -> Vec<Owner> {
        let mut walk = directory.walk();
        std::iter::from_fn(|| Some(walk.step(1)).filter(|step| !step.is_empty())).flatten().collect()
    }

    #[test]
    fn a_file_goes_with_the_last_of_its_jobs_and_takes_empty_directories_along() {
        let root = tempfile::tempdir().unwrap();
        let logs = LogDirectory::new(root.path());
        let (first, second) = (JobId::random(), JobId::random());
        for job in [&first, &second, &first] {
            logs.append_for(HERE, job, "a/b/x.log").unwrap().write_line("one").unwrap();
        }
        std::fs::write(root.path().join("a/b/x.log.1"), "older").unwrap();
        std::fs::write(root.path().join("a/mine"), "not a job's").unwrap();
        assert_eq!(all(&logs).len(), 2);
        assert!(!logs.forget(HERE, &first, "a/b/x.log").unwrap());
        assert!(root.path().join("a/b/x.log").exists());
        assert!(logs.forget(HERE, &second, "a/b/x.log").unwrap());
        assert!(!root.path().join("a/b").exists() && root.path().join("a/mine").exists());
        assert!(all(&logs).is_empty() && !logs.forget(HERE, &second, "a/b/x.log").unwrap());
        let left: Vec<_> = std::fs::read_dir(logs.owners()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["lock"]);
    }

    #[test]
    fn what_another_job_calls_its_own_is_no_older_file() {
        let root = tempfile::tempdir().unwrap();
        let logs = LogDirectory::new(root.path());
        let (first, second) = (JobId::random(), JobId::random());
        logs.append_for(HERE, &first, "x").unwrap().write_line("one").unwrap();
        logs.append_for(HERE, &second, "x.1").unwrap().write_line("two").unwrap();
        assert!(logs.forget(HERE, &first, "x").unwrap());
        assert!(root.path().join("x.1").exists() && !root.path().join("x").exists());
    }

    #[test]
    fn no_path_leads_to_the_entries_and_no_entry_out_of_the_directory() {
        let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (logs, job) = (LogDirectory::new(root.path()), JobId::random());
        assert!(logs.append_for(HERE, &job, ".jobs/lock").is_err());
        logs.append_for(HERE, &job, "d/x").unwrap().write_line("one").unwrap();
        std::fs::write(outside.path().join("x"), "theirs").unwrap();
        std::fs::remove_dir_all(root.path().join("d")).unwrap();
        std::os::unix::fs::symlink(outside.path(), root.path().join("d")).unwrap();
        assert!(!logs.forget(HERE, &job, "d/x").unwrap());
        assert!(outside.path().join("x").exists());
    }
}
