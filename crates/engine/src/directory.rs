use std::env;
use std::ffi::{CStr, CString, OsStr};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, RenameFlags, chmod, flock, fstat, fstatfs, openat, renameat, renameat_with,
    statat, unlinkat,
};
use rustix::io::Errno;
use rustix::path::Arg;
use rustix::process::geteuid;
use uuid::Uuid;

use hero_process::closed;

/// Only the owner may enter it.
const PRIVATE: u32 = 0o700;
/// Prefix of the names of engines' directories. A number of 32 hexadecimal digits follows.
const PREFIX: &str = "hero-jobs-";
/// The maximum number of attempts to make a directory, in case another process removes it as abandoned before it is
/// locked.
const MAX_CREATE_ATTEMPTS: usize = 3;
/// The maximum number of names in the directory for temporary files that are checked for abandoned directories.
const MAX_NAMES_CHECKED: usize = 100_000;
/// The maximum number of directories removed at once. Each has the files of one job, which are bounded, and those that
/// its engine needs.
const MAX_REMOVED_AT_ONCE: usize = 4;
/// The maximum number of directories that it tries to remove: some may not be removable.
const MAX_REMOVAL_ATTEMPTS: usize = 64;

/// Local file systems: ext, XFS, Btrfs, tmpfs, overlayfs, ZFS and F2FS. On others, locks of another machine may be
/// invisible.
const LOCAL_FILE_SYSTEMS: [i64; 7] = [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0x794c_7630, 0x2fc1_2fc1, 0xf2f5_2010];

/// The directory of an engine whose jobs are processes, below the directory for temporary files. It contains the
/// directories of jobs. Or one made for a job elsewhere.
///
/// The process that made it and the process that works in it hold a lock on it. A lock ends with its process, however
/// that ends, and is also visible in other namespaces. So a directory without a lock was left behind by processes that
/// were killed together, and later processes remove it. Programs that clean up old temporary files also spare a locked
/// directory.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    _lock: OwnedFd,
}

impl Directory {
    pub(super) fn create() -> io::Result<Self> {
        // Confinement rules use real paths.
        Self::create_in(&env::temp_dir().canonicalize()?)
    }

    /// Makes it below another directory.
    pub fn create_in(parent: &Path) -> io::Result<Self> {
        let mut tries = 0;
        loop {
            tries += 1;
            let path = parent.join(format!("{PREFIX}{}", Uuid::new_v4().simple()));
            make_private(&path)?;
            match lock(&path) {
                Ok(lock) => return Ok(Self { path, _lock: lock }),
                Err(Errno::WOULDBLOCK | Errno::NOENT) if tries < MAX_CREATE_ATTEMPTS => {}
                Err(error) => {
                    let _ = fs::remove_dir(&path);
                    return Err(error.into());
                }
            }
        }
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it with everything in it. No process may work in it any more; files added meanwhile are removed by a
    /// later process.
    pub fn remove(self) {
        if let Err(error) = remove(&self.path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(directory = %self.path.display(), %error, "the directory of an engine or a job could not be removed");
        }
    }
}

/// Locks the directory of an engine until the returned descriptor is dropped. Fails if another process has removed it,
/// or is removing it.
pub(super) fn lock(directory: &Path) -> rustix::io::Result<OwnedFd> {
    let held = closed::open(CWD, directory)?;
    match flock(&held, FlockOperation::NonBlockingLockShared) {
        // Without support for locks, no other process can get a lock to remove it.
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => {}
        Err(error) => return Err(error),
    }
    // Another process may have removed it before it was locked.
    let (there, ours) = (statat(CWD, directory, AtFlags::SYMLINK_NOFOLLOW)?, fstat(&held)?);
    if (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino) { Ok(held) } else { Err(Errno::NOENT) }
}

/// Removes directories of engines that killed processes of this user left behind, a few at each call.
pub(super) fn remove_left() {
    let _ = remove_left_in(&env::temp_dir());
}

/// The same below another directory. Returns whether there may be more.
pub fn remove_left_in(parent: &Path) -> bool {
    let names = fs::read_dir(parent).into_iter().flatten().take(MAX_NAMES_CHECKED).flatten().map(|entry| entry.file_name());
    let left = names.filter(|name| is_ours(name)).filter_map(|name| {
        let path = parent.join(name);
        Some((lock_left(&path).ok()?, path))
    });
    let mut removed = 0;
    for (top, path) in left.take(MAX_REMOVAL_ATTEMPTS) {
        match empty(&top).map_err(io::Error::from).and_then(|()| fs::remove_dir(&path)) {
            Ok(()) => {
                tracing::info!(directory = %path.display(), "removed what processes that were killed had left");
                removed += 1;
                if removed == MAX_REMOVED_AT_ONCE {
                    return true;
                }
            }
            Err(error) => {
                tracing::warn!(directory = %path.display(), %error, "what processes that were killed had left could not be removed");
            }
        }
    }
    false
}

/// Whether this is the name of an engine's directory.
fn is_ours(name: &OsStr) -> bool {
    let number = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
    number.is_some_and(|number| number.len() == 32 && number.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Locks a directory of this user that no process holds, so that no other process removes it. Does not follow a link.
fn lock_left(directory: &Path) -> rustix::io::Result<OwnedFd> {
    let top = closed::open(CWD, directory)?;
    if fstat(&top)?.st_uid != geteuid().as_raw() || !LOCAL_FILE_SYSTEMS.contains(&fstatfs(&top)?.f_type) {
        return Err(Errno::PERM);
    }
    flock(&top, FlockOperation::NonBlockingLockExclusive)?;
    Ok(top)
}

/// Makes a directory that must not exist yet.
pub(super) fn make_private(directory: &Path) -> io::Result<()> {
    DirBuilder::new().mode(PRIVATE).create(directory)
}

/// Opens a directory and gives its owner all permissions, even if he had removed them. Does not follow a link.
pub(super) fn open_private(parent: impl AsFd, name: impl Arg) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let place = openat(parent, name, OFlags::PATH | OFlags::NOFOLLOW | flags, Mode::empty())?;
    // A descriptor opened as a path only cannot change permissions itself.
    chmod(format!("/proc/self/fd/{}", place.as_raw_fd()), Mode::from_raw_mode(PRIVATE))?;
    openat(&place, c".", OFlags::RDONLY | flags, Mode::empty())
}

/// Removes a directory with everything in it, and nothing elsewhere, even if another process still changes it.
pub(super) fn remove(directory: &Path) -> io::Result<()> {
    empty(&open_private(CWD, directory)?)?;
    fs::remove_dir(directory)
}

/// Moves an entry to a free name.
fn move_to_free(from: &OwnedFd, name: &CStr, to: &OwnedFd, free: &CStr) -> rustix::io::Result<()> {
    match renameat_with(from, name, to, free, RenameFlags::NOREPLACE) {
        // Some file systems, such as NFS, cannot do that in one step.
        Err(Errno::INVAL | Errno::NOSYS) => match statat(to, free, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => Err(Errno::EXIST),
            Err(_) => renameat(from, name, to, free),
        },
        moved => moved,
    }
}

/// Removes everything in a directory.
///
/// A script may have nested directories deeper than there are descriptors, or than a path may be long. So each is moved
/// to the top before it is emptied.
fn empty(top: &OwnedFd) -> rustix::io::Result<()> {
    let (mut waiting, mut moved) = (directories(top)?, 0_u64);
    while let Some(next) = waiting.pop() {
        let inner = open_private(top, &next)?;
        for name in directories(&inner)? {
            // Only a user with write permission may move it.
            drop(open_private(&inner, &name)?);
            let name_at_top = loop {
                moved += 1;
                let free = CString::new(format!("{moved}.removed")).expect("a number has no zero byte");
                match move_to_free(&inner, &name, top, &free) {
                    Err(Errno::EXIST) => {}
                    renamed => break renamed.map(|()| free)?,
                }
            };
            waiting.push(name_at_top);
        }
        unlinkat(top, &next, AtFlags::REMOVEDIR)?;
    }
    Ok(())
}

/// Removes everything in a directory except directories, and returns their names.
fn directories(directory: &OwnedFd) -> rustix::io::Result<Vec<CString>> {
    let mut directories = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let mode = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode;
        if FileType::from_raw_mode(mode) == FileType::Directory {
            directories.push(name.to_owned());
        } else {
            unlinkat(directory, name, AtFlags::empty())?;
        }
    }
    Ok(directories)
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_a_script_left_is_removed_however_deep_and_whoever_may_read_it() {
        let directory = Directory::create().unwrap();
        assert_eq!(fs::metadata(directory.path()).unwrap().permissions().mode() & 0o777, PRIVATE);
        let outside = Directory::create().unwrap();
        fs::write(outside.path().join("kept"), "x").unwrap();
        let mut deep = directory.path().to_owned();
        for _ in 0..500 {
            deep.push("d");
            fs::create_dir(&deep).unwrap();
            fs::write(deep.join("file"), "x").unwrap();
        }
        fs::write(directory.path().join("1.removed"), "").unwrap();
        std::os::unix::fs::symlink(outside.path(), deep.join("link")).unwrap();
        fs::set_permissions(&deep, Permissions::from_mode(0o000)).unwrap();
        let path = directory.path().to_owned();
        directory.remove();
        assert!(!path.exists());
        assert!(outside.path().join("kept").exists(), "a link is not followed");
        outside.remove();
    }

    #[test]
    fn nothing_is_done_to_what_a_link_leads_to() {
        let (directory, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("kept"), "x").unwrap();
        fs::set_permissions(outside.path(), Permissions::from_mode(0o755)).unwrap();
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(outside.path(), &link).unwrap();
        assert_eq!(open_private(CWD, &link).unwrap_err(), Errno::NOTDIR);
        assert!(remove(&link).is_err() && outside.path().join("kept").exists());
        assert_eq!(fs::metadata(outside.path()).unwrap().permissions().mode() & 0o777, 0o755);
    }

    #[test]
    fn abandoned_directories_are_removed_a_few_at_a_time_and_nothing_else() {
        let (parent, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let made = || Directory::create_in(parent.path()).unwrap();
        let names = || fs::read_dir(parent.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>();
        let held = made();
        let (supervisor, of_supervisor) = {
            // The process that made it is gone, but one still works in it.
            let made = made();
            (lock(made.path()).unwrap(), made.path)
        };
        fs::write(outside.path().join("kept"), "x").unwrap();
        std::os::unix::fs::symlink(outside.path(), parent.path().join(format!("{PREFIX}{:032x}", 1))).unwrap();
        fs::write(parent.path().join(format!("{PREFIX}{:032x}", 2)), "a file").unwrap();
        for other in [format!("{PREFIX}1"), format!("hero-{:032x}", 3), format!("{PREFIX}{:032x}.x", 4)] {
            fs::create_dir(parent.path().join(other)).unwrap();
        }
        let kept = names().len();
        for _ in 0..=MAX_REMOVED_AT_ONCE {
            let left = made().path;
            fs::create_dir_all(left.join("jobs/1")).unwrap();
            fs::write(left.join("jobs/1/script"), "x").unwrap();
        }
        assert!(remove_left_in(parent.path()));
        assert_eq!(names().len(), kept + 1);
        assert!(!remove_left_in(parent.path()));
        assert_eq!(names().len(), kept);
        assert!(held.path().exists() && of_supervisor.exists() && outside.path().join("kept").exists());
        drop(supervisor);
        assert!(!remove_left_in(parent.path()));
        assert!(!of_supervisor.exists() && held.path().exists() && names().len() == kept - 1);
    }

    #[test]
    fn a_directory_removed_during_its_start_is_reported() {
        let parent = tempfile::tempdir().unwrap();
        let directory = Directory::create_in(parent.path()).unwrap().path;
        let remover = lock_left(&directory).unwrap();
        assert_eq!(lock(&directory).unwrap_err(), Errno::WOULDBLOCK);
        fs::remove_dir(&directory).unwrap();
        drop(remover);
        assert_eq!(lock(&directory).unwrap_err(), Errno::NOENT);
    }
}
