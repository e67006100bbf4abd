//! Whole directories, entry by entry, so that a walk can be ended.

use std::io;
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, MetadataExt as _};
use rustix::io::Errno;
use tokio_util::sync::CancellationToken;

use super::place::told;
use super::unless_cancelled;
use crate::process::closed::{open, open_closed};

/// What an entry takes besides what is in it, so that empty files are bounded, too.
pub(super) const ENTRY: u64 = 1024;
/// How many entries are measured. So many take all room of most.
const MOST_MEASURED: usize = 2_000_000;
/// How deep directories may lie in each other that are looked through by a script. Each is open while one looks further down.
const DEEPEST: usize = 128;

/// How many directories are open at once while all is measured, besides the one that is read.
const MOST_OPEN: usize = 64;

/// A directory that is measured, with the directories in it that are not measured yet.
struct Level {
    /// Not open while one looks far below.
    dir: Option<Dir>,
    inode: (u64, u64),
    below: Vec<PathBuf>,
}

/// The bytes that everything in a directory takes, however deep it lies: nobody is to be kept from writing because another has nested directories.
pub(super) fn measure(root: &Dir, token: &CancellationToken) -> Result<u64, String> {
    let failed = |error: io::Error| told(".", &error);
    let mut sum = Sum { bytes: 0, entries: 0 };
    let mut levels = vec![sum.read(root.try_clone().map_err(failed)?, token)?];
    while let Some(level) = levels.last_mut() {
        let (Some(dir), Some(name)) = (&level.dir, level.below.pop()) else {
            let left = levels.pop().and_then(|left| left.dir);
            if let (Some(above), Some(left)) = (levels.last_mut().filter(|above| above.dir.is_none()), left) {
                above.open_again(&left);
            }
            continue;
        };
        match open_closed(dir, &name) {
            Ok(inner) => {
                let inner = sum.read(Dir::from_std_file(inner.into()), token)?;
                if levels.len() > MOST_OPEN
                    && let Some(level) = levels.last_mut()
                {
                    level.dir = None;
                }
                levels.push(inner);
            }
            // It was deleted meanwhile.
            Err(Errno::NOENT) => {}
            Err(error) => return Err(told(&name.to_string_lossy(), &error.into())),
        }
    }
    Ok(sum.bytes)
}

impl Level {
    /// Opens it from a directory in it. Where that was moved away meanwhile, what is left here is not looked at: it counts the next time.
    fn open_again(&mut self, below: &Dir) {
        self.dir = open(below, "..").ok().map(|dir| Dir::from_std_file(dir.into())).filter(|dir| inode_of(dir).ok() == Some(self.inode));
    }
}

fn inode_of(dir: &Dir) -> io::Result<(u64, u64)> {
    dir.dir_metadata().map(|found| (found.dev(), found.ino()))
}

/// What was measured so far.
struct Sum {
    bytes: u64,
    entries: usize,
}

impl Sum {
    /// Adds what is in a directory, without what is in those in it.
    fn read(&mut self, dir: Dir, token: &CancellationToken) -> Result<Level, String> {
        let failed = |error: &io::Error| told("a directory", error);
        let is_gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        let (inode, mut below) = (inode_of(&dir).map_err(|error| failed(&error))?, Vec::new());
        let entries = match dir.entries() {
            // It was deleted meanwhile, as below.
            Err(error) if is_gone(&error) => None,
            entries => Some(entries.map_err(|error| failed(&error))?),
        };
        for entry in entries.into_iter().flatten() {
            unless_cancelled(token)?;
            let entry = match entry {
                Err(error) if is_gone(&error) => break,
                entry => entry.map_err(|error| failed(&error))?,
            };
            self.entries += 1;
            if self.entries > MOST_MEASURED {
                return Err(format!("there are more than {MOST_MEASURED} files in the directory of the context; delete some"));
            }
            let name = PathBuf::from(entry.file_name());
            // What was deleted meanwhile takes nothing.
            let taken = dir.symlink_metadata(&name).map_or(0, |found| found.blocks() * 512);
            self.bytes = self.bytes.saturating_add(ENTRY + taken);
            if entry.file_type().map_err(|error| failed(&error))?.is_dir() {
                below.push(name);
            }
        }
        Ok(Level { dir: Some(dir), inode, below })
    }
}

/// Something in a directory, on a walk.
pub(super) struct Entry<'a> {
    /// The directory that it is in.
    pub(super) dir: &'a Dir,
    pub(super) name: &'a Path,
    /// Its whole path, seen from where the walk began.
    pub(super) path: &'a Path,
    pub(super) is_dir: bool,
    pub(super) is_file: bool,
}

/// Visits everything below a directory, those in order that lie in one. Links are not followed, and directories that a command has closed are opened.
pub(super) fn visit(
    root: &Dir,
    path: &Path,
    token: &CancellationToken,
    visitor: &mut dyn FnMut(Entry<'_>) -> Result<(), String>,
) -> Result<(), String> {
    if path.components().count() > DEEPEST {
        let top = path.components().next().map(|top| top.as_os_str().to_string_lossy().into_owned()).unwrap_or_default();
        return Err(format!("directories in {top:?} lie in each other more than {DEEPEST} deep; delete some"));
    }
    let failed = |error: &io::Error| told(&path.to_string_lossy(), error);
    let is_gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    let entries = match root.entries() {
        // It was deleted meanwhile, as below.
        Err(error) if is_gone(&error) => return Ok(()),
        entries => entries.map_err(|error| failed(&error))?,
    };
    for entry in entries {
        unless_cancelled(token)?;
        let entry = match entry {
            Err(error) if is_gone(&error) => return Ok(()),
            entry => entry.map_err(|error| failed(&error))?,
        };
        let (name, kind) = (PathBuf::from(entry.file_name()), entry.file_type().map_err(|error| failed(&error))?);
        let below = path.join(&name);
        visitor(Entry { dir: root, name: &name, path: &below, is_dir: kind.is_dir(), is_file: kind.is_file() })?;
        if kind.is_dir() {
            match open_closed(root, &name) {
                Ok(dir) => visit(&Dir::from_std_file(dir.into()), &below, token, visitor)?,
                // It was deleted meanwhile.
                Err(Errno::NOENT) => {}
                Err(error) => return Err(told(&below.to_string_lossy(), &error.into())),
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt as _;

    use cap_std::ambient_authority;

    use super::*;

    #[test]
    fn what_lies_deep_counts_and_what_lies_beside_it() {
        let top = tempfile::tempdir().unwrap();
        let (mut path, mut made) = (top.path().to_owned(), Vec::new());
        for _ in 0..300 {
            // Names before and after that of the directory that goes on, whatever their order.
            for name in ["b", "m", "y"] {
                fs::create_dir(path.join(name)).unwrap();
            }
            for name in ["b/file", "y/file"] {
                fs::write(path.join(name), "x").unwrap();
            }
            made.extend(["b", "m", "y", "b/file", "y/file"].map(|name| path.join(name)));
            path.push("m");
        }
        let expected: u64 = made.iter().map(|path| ENTRY + fs::symlink_metadata(path).unwrap().blocks() * 512).sum();
        let root = Dir::open_ambient_dir(top.path(), ambient_authority()).unwrap();
        assert_eq!(measure(&root, &CancellationToken::new()).unwrap(), expected);
    }
}
