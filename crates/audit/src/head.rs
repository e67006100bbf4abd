//! The head of a log: where it begins and ends, in a file of its own. By it shows what was cut off at either end.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::chain::Link;
use super::files;
use super::key::AuditKey;

/// How many bytes of it are read: more than it has.
const LONGEST: u64 = 1024;

/// What the file says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// The first record that is kept, and the last one that was written, or one shortly before.
    At { first: u64, last: Link },
    /// There is none.
    Missing,
    /// It was changed by somebody without the key, or damaged.
    Wrong,
}

impl Head {
    /// The first record that is kept, if that is known.
    pub(super) fn first(&self) -> Option<u64> {
        if let Self::At { first, .. } = self { Some(*first) } else { None }
    }
}

/// Where it is.
pub(super) fn path(directory: &Path) -> PathBuf {
    directory.join("head")
}

/// Opens it to write, for its owner only.
pub(super) fn open(directory: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path(directory))
}

/// What is hashed: a record begins with a brace, so it never passes for this.
fn said(first: u64, last: &Link) -> String {
    format!("head {first:020} {:020} {}", last.seq, last.hash)
}

/// Writes it in the place of the one before, in one call: each has the same length.
pub(super) fn write(file: &File, first: u64, last: &Link, key: &AuditKey) -> io::Result<()> {
    let said = said(first, last);
    let text = format!("{said} {}\n", key.hash(said.as_bytes()));
    file.write_all_at(text.as_bytes(), 0)
}

/// Reads it.
pub(super) fn read(directory: &Path, key: &AuditKey) -> io::Result<Head> {
    let text = match files::open(&path(directory)).and_then(|file| io::read_to_string(file.take(LONGEST))) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(Head::Wrong),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Head::Missing),
        Err(error) => return Err(error),
    };
    let found = || {
        let (said_there, hash) = text.strip_suffix('\n')?.rsplit_once(' ')?;
        let (first, rest) = said_there.strip_prefix("head ")?.split_once(' ')?;
        let (seq, last) = rest.split_once(' ')?;
        let (first, last) = (first.parse().ok()?, Link { seq: seq.parse().ok()?, hash: last.to_owned() });
        (said(first, &last) == said_there && key.is_hash(hash, said_there.as_bytes())).then_some(Head::At { first, last })
    };
    Ok(found().unwrap_or(Head::Wrong))
}
