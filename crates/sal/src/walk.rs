//! Walks whole directories, entry by entry, so that a walk can be cancelled.

use std::io;
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, MetadataExt as _};
use rustix::io::Errno;
use tokio_util::sync::CancellationToken;

use super::open::told;
use super::unless_cancelled;
use hero_process::closed::{open, open_closed};

/// The bytes counted for an entry besides its content, so that empty files are bounded, too.
pub(super) const ENTRY_OVERHEAD_BYTES: u64 = 1024;
/// The maximum number of entries that a walk visits. This many fill most quotas.
const MOST_VISITED: usize = 2_000_000;
/// The maximum number of directories open at once, besides the one that is read.
const MOST_OPEN: usize = 64;

/// The maximum depth of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// Unlimited: nested directories of one job must not block others.
    Any,
    /// The maximum depth of paths that scripts see or that are made anew. A deeper directory is an error.
    OfPaths,
}

impl Depth {
    const fn deepest(self) -> usize {
        match self {
            Self::Any => usize::MAX,
            Self::OfPaths => 128,
        }
    }
}

/// An entry of a directory, on a walk.
pub(super) struct Entry<'a> {
    /// The directory of the entry, and its path relative to the start of the walk.
    pub(super) dir: &'a Dir,
    above: &'a Path,
    pub(super) name: &'a Path,
    pub(super) is_dir: bool,
    pub(super) is_file: bool,
}

impl Entry<'_> {
    /// Returns the whole path, relative to the start of the walk. It may be longer than a path may be.
    pub(super) fn path(&self) -> PathBuf {
        self.above.join(self.name)
    }
}

/// Is called for each entry.
type Visitor<'v> = dyn FnMut(Entry<'_>) -> Result<(), String> + 'v;

/// Returns the bytes that everything in a directory takes.
pub(super) fn measure(root: &Dir, token: &CancellationToken) -> Result<u64, String> {
    let mut bytes = 0_u64;
    visit(root, Depth::Any, token, &mut |entry| {
        // Entries deleted meanwhile take nothing.
        let taken = entry.dir.symlink_metadata(entry.name).map_or(0, |found| found.blocks() * 512);
        bytes = bytes.saturating_add(ENTRY_OVERHEAD_BYTES + taken);
        Ok(())
    })?;
    Ok(bytes)
}

/// Visits everything below a directory: first its entries, then those of its subdirectories. Links are not followed,
/// and directories that a command has closed are opened. At any depth, few directories are open at once.
pub(super) fn visit(root: &Dir, depth: Depth, token: &CancellationToken, visitor: &mut Visitor<'_>) -> Result<(), String> {
    let root = root.try_clone().map_err(|error| told(".", &error))?;
    let mut walk = Walk { path: PathBuf::new(), visited: 0, token, visitor };
    let mut levels = vec![walk.read(root)?];
    while let Some(level) = levels.last_mut() {
        let (Some(dir), Some(name)) = (&level.dir, level.below.pop()) else {
            let left = levels.pop().and_then(|left| left.dir);
            walk.path.pop();
            if let (Some(above), Some(left)) = (levels.last_mut().filter(|above| above.dir.is_none()), left) {
                above.open_again(&left);
            }
            continue;
        };
        let opened = open_closed(dir, &name);
        walk.path.push(&name);
        match opened {
            Ok(_) if levels.len() > depth.deepest() => {
                let top = walk.path.components().next().map(|top| top.as_os_str().to_string_lossy().into_owned()).unwrap_or_default();
                return Err(format!("directories in {top:?} lie in each other more than {} deep; delete some", depth.deepest()));
            }
            Ok(inner) => {
                let inner = walk.read(Dir::from_std_file(inner.into()))?;
                if levels.len() > MOST_OPEN
                    && let Some(level) = levels.last_mut()
                {
                    level.dir = None;
                }
                levels.push(inner);
            }
            // The directory was deleted meanwhile.
            Err(Errno::NOENT) => {
                walk.path.pop();
            }
            Err(error) => return Err(walk.failed(&error.into())),
        }
    }
    Ok(())
}

/// A directory whose entries were visited, with its subdirectories that are still to visit.
struct Level {
    /// `None` while the walk is far below.
    dir: Option<Dir>,
    inode: (u64, u64),
    below: Vec<PathBuf>,
}

impl Level {
    /// Opens the directory again from a subdirectory. If that was moved away meanwhile, the rest of this directory is
    /// skipped: it counts the next time.
    fn open_again(&mut self, below: &Dir) {
        self.dir = open(below, "..").ok().map(|dir| Dir::from_std_file(dir.into())).filter(|dir| inode_of(dir).ok() == Some(self.inode));
    }
}

fn inode_of(dir: &Dir) -> io::Result<(u64, u64)> {
    dir.dir_metadata().map(|found| (found.dev(), found.ino()))
}

/// A walk in progress.
struct Walk<'w, 'v> {
    /// The current path, relative to the start.
    path: PathBuf,
    visited: usize,
    token: &'w CancellationToken,
    visitor: &'w mut Visitor<'v>,
}

impl Walk<'_, '_> {
    fn failed(&self, error: &io::Error) -> String {
        let path = if self.path.as_os_str().is_empty() { Path::new(".") } else { &self.path };
        told(&path.to_string_lossy(), error)
    }

    /// Visits the entries of a directory, without those of its subdirectories.
    fn read(&mut self, dir: Dir) -> Result<Level, String> {
        let is_gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        let (inode, mut below) = (inode_of(&dir).map_err(|error| self.failed(&error))?, Vec::new());
        let entries = match dir.entries() {
            // The directory was deleted meanwhile, as below.
            Err(error) if is_gone(&error) => None,
            entries => Some(entries.map_err(|error| self.failed(&error))?),
        };
        for entry in entries.into_iter().flatten() {
            unless_cancelled(self.token)?;
            let entry = match entry {
                Err(error) if is_gone(&error) => break,
                entry => entry.map_err(|error| self.failed(&error))?,
            };
            self.visited += 1;
            if self.visited > MOST_VISITED {
                return Err(format!("there are more than {MOST_VISITED} files in the directory of the context; delete some"));
            }
            let (name, kind) = (PathBuf::from(entry.file_name()), entry.file_type().map_err(|error| self.failed(&error))?);
            (self.visitor)(Entry { dir: &dir, above: &self.path, name: &name, is_dir: kind.is_dir(), is_file: kind.is_file() })?;
            if kind.is_dir() {
                below.push(name);
            }
        }
        Ok(Level { dir: Some(dir), inode, below })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt as _;

    use cap_std::ambient_authority;

    use super::*;

    #[test]
    fn files_at_any_depth_are_counted() {
        let top = tempfile::tempdir().unwrap();
        let (mut path, mut made) = (top.path().to_owned(), Vec::new());
        for _ in 0..300 {
            // Names before and after that of the directory that stays, in any order.
            for name in ["b", "m", "y"] {
                fs::create_dir(path.join(name)).unwrap();
            }
            for name in ["b/file", "y/file"] {
                fs::write(path.join(name), "x").unwrap();
            }
            made.extend(["b", "m", "y", "b/file", "y/file"].map(|name| path.join(name)));
            path.push("m");
        }
        let expected: u64 = made.iter().map(|path| ENTRY_OVERHEAD_BYTES + fs::symlink_metadata(path).unwrap().blocks() * 512).sum();
        let root = Dir::open_ambient_dir(top.path(), ambient_authority()).unwrap();
        assert_eq!(measure(&root, &CancellationToken::new()).unwrap(), expected);
        let mut found = Vec::new();
        let mut keep = |entry: Entry<'_>| {
            found.push(top.path().join(entry.path()));
            Ok(())
        };
        visit(&root, Depth::Any, &CancellationToken::new(), &mut keep).unwrap();
        found.sort_unstable();
        made.sort_unstable();
        assert_eq!(found, made);
        let deep = visit(&root, Depth::OfPaths, &CancellationToken::new(), &mut |_| Ok(())).unwrap_err();
        assert_eq!(deep, "directories in \"m\" lie in each other more than 128 deep; delete some");
    }

    #[test]
    fn no_link_is_followed_by_whoever_walks_and_a_closed_directory_is_opened() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let (top, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("secret"), "x".repeat(100_000)).unwrap();
        fs::create_dir_all(top.path().join("a/b")).unwrap();
        symlink(outside.path(), top.path().join("a/b/out")).unwrap();
        symlink("..", top.path().join("a/b/up")).unwrap();
        fs::set_permissions(top.path().join("a/b"), fs::Permissions::from_mode(0o000)).unwrap();
        let root = Dir::open_ambient_dir(top.path(), ambient_authority()).unwrap();
        for depth in [Depth::Any, Depth::OfPaths] {
            let mut found = Vec::new();
            let mut keep = |entry: Entry<'_>| {
                found.push((entry.path().to_string_lossy().into_owned(), entry.is_dir, entry.is_file));
                Ok(())
            };
            visit(&root, depth, &CancellationToken::new(), &mut keep).unwrap();
            found.sort_unstable();
            let of = |path: &str, is_dir| (path.to_owned(), is_dir, false);
            assert_eq!(found, [of("a", true), of("a/b", true), of("a/b/out", false), of("a/b/up", false)]);
        }
        assert!(measure(&root, &CancellationToken::new()).unwrap() < 50_000);
    }
}
