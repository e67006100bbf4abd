//! Whole directories, entry by entry, so that a walk can be ended.

use std::io;
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, MetadataExt as _};
use rustix::io::Errno;
use tokio_util::sync::CancellationToken;

use super::place::told;
use super::unless_cancelled;
use crate::process::closed::open_closed;

/// What an entry takes besides what is in it, so that empty files are bounded, too.
pub(super) const ENTRY: u64 = 1024;
/// How many entries are measured. So many take all room of most.
const MOST_MEASURED: usize = 2_000_000;
/// How deep directories may lie in each other. Each is open while one looks further down.
const DEEPEST: usize = 128;

/// The bytes that everything in a directory takes.
pub(super) fn measure(root: &Dir, token: &CancellationToken) -> Result<u64, String> {
    let (mut bytes, mut entries) = (0_u64, 0_usize);
    visit(root, Path::new(""), token, &mut |entry| {
        entries += 1;
        if entries > MOST_MEASURED {
            return Err(format!("there are more than {MOST_MEASURED} files in the directory of the context; delete some"));
        }
        // What was deleted meanwhile takes nothing.
        bytes = bytes.saturating_add(ENTRY + entry.dir.symlink_metadata(entry.name).map_or(0, |found| found.blocks() * 512));
        Ok(())
    })?;
    Ok(bytes)
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
        return Err(format!("directories lie in each other more than {DEEPEST} deep; delete some"));
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
