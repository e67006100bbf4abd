use std::collections::VecDeque;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

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

/// Removes a directory with everything in it.
///
/// A script may have nested directories deeper than there are descriptors, or than a path may be long. So each is moved
/// up to the top before its turn comes.
pub(super) fn remove(directory: &Path) -> io::Result<()> {
    let (mut waiting, mut moved) = (VecDeque::from([directory.to_owned()]), 0_u64);
    let mut emptied = Vec::new();
    while let Some(next) = waiting.pop_front() {
        // Its owner may have taken the rights from himself.
        fs::set_permissions(&next, Permissions::from_mode(PRIVATE))?;
        for entry in fs::read_dir(&next)? {
            let entry = entry?;
            if !entry.file_type()?.is_dir() {
                fs::remove_file(entry.path())?;
            } else if next == directory {
                waiting.push_back(entry.path());
            } else {
                fs::set_permissions(entry.path(), Permissions::from_mode(PRIVATE))?;
                let top = loop {
                    moved += 1;
                    let top = directory.join(format!("{moved}.removed"));
                    if top.symlink_metadata().is_err() {
                        break top;
                    }
                };
                fs::rename(entry.path(), &top)?;
                waiting.push_back(top);
            }
        }
        emptied.push(next);
    }
    emptied.iter().rev().try_for_each(fs::remove_dir)
}

#[cfg(test)]
mod tests {
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
}
