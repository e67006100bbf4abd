use std::ffi::CString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, RenameFlags, chmod, openat, renameat_with, statat, unlinkat};
use rustix::io::Errno;
use rustix::path::Arg;
use uuid::Uuid;

/// Nobody else may enter it.
const PRIVATE: u32 = 0o700;

/// The directory of an engine whose jobs are processes, below that for temporary files. The jobs have theirs in it.
#[derive(Debug)]
pub(super) struct Directory(PathBuf);

impl Directory {
    pub(super) fn create() -> io::Result<Self> {
        let directory = std::env::temp_dir().join(format!("hero-{}", Uuid::new_v4().simple()));
        make_private(&directory)?;
        // Rules of confinement are about real paths.
        Ok(Self(directory.canonicalize()?))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Removes it with everything in it. Nobody may be at work in it any more.
    pub(super) fn remove(self) {
        if let Err(error) = remove(&self.0)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(directory = %self.0.display(), %error, "the directory of an engine could not be removed");
        }
    }
}

/// Makes a directory that must not exist yet.
pub(super) fn make_private(directory: &Path) -> io::Result<()> {
    DirBuilder::new().mode(PRIVATE).create(directory)
}

/// Opens a directory whose owner has all rights to it from then on, also if he had taken them from himself. A link is not followed.
pub(super) fn open_private(parent: impl AsFd, name: impl Arg) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let place = openat(parent, name, OFlags::PATH | OFlags::NOFOLLOW | flags, Mode::empty())?;
    // What is only a place has no rights to change by itself.
    chmod(format!("/proc/self/fd/{}", place.as_raw_fd()), Mode::from_raw_mode(PRIVATE))?;
    openat(&place, c".", OFlags::RDONLY | flags, Mode::empty())
}

/// Removes a directory with everything in it, and nothing elsewhere, whatever somebody who is still at work in it does.
///
/// A script may have nested directories deeper than there are descriptors, or than a path may be long. So each is moved
/// up to the top before its turn comes.
pub(super) fn remove(directory: &Path) -> io::Result<()> {
    let top = open_private(CWD, directory)?;
    let (mut waiting, mut moved) = (directories(&top)?, 0_u64);
    while let Some(next) = waiting.pop() {
        let inner = open_private(&top, &next)?;
        for name in directories(&inner)? {
            // Only who may write to it may move it.
            drop(open_private(&inner, &name)?);
            let name_at_top = loop {
                moved += 1;
                let free = CString::new(format!("{moved}.removed"))?;
                match renameat_with(&inner, &name, &top, &free, RenameFlags::NOREPLACE) {
                    Err(Errno::EXIST) => {}
                    renamed => break renamed.map(|()| free)?,
                }
            };
            waiting.push(name_at_top);
        }
        unlinkat(&top, &next, AtFlags::REMOVEDIR)?;
    }
    fs::remove_dir(directory)
}

/// Removes what is in a directory, but for the directories, and gives the names of these.
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
}
