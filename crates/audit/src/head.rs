//! The head of a log: a file with its first and last record. It shows if records were cut off at either end.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::chain::Link;
use super::files;
use super::key::AuditKey;

/// The maximum number of bytes read: more than a head has.
const MAX_HEAD_BYTES: u64 = 1024;

/// The content of the head file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// The first kept record, and the last written record, or one shortly before it.
    At { first: u64, last: Link },
    /// There is no head file.
    Missing,
    /// It was changed without the key, or is damaged.
    Wrong,
}

impl Head {
    /// Returns the first kept record, if known.
    pub(super) fn first(&self) -> Option<u64> {
        if let Self::At { first, .. } = self { Some(*first) } else { None }
    }
}

/// Returns the path of the head file.
pub(super) fn path(directory: &Path) -> PathBuf {
    directory.join("head")
}

/// Opens the head file to write, readable by its owner only.
pub(super) fn open(directory: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path(directory))
}

/// Returns the text that is hashed. A record begins with a brace, so it can never pass for this text.
fn said(first: u64, last: &Link) -> String {
    format!("head {first:020} {:020} {}", last.seq, last.hash)
}

/// Replaces the head in one write; each head has the same length.
pub(super) fn write(file: &File, first: u64, last: &Link, key: &AuditKey) -> io::Result<()> {
    let said = said(first, last);
    let text = format!("{said} {}\n", key.hash(said.as_bytes()));
    file.write_all_at(text.as_bytes(), 0)
}

/// Reads the head file.
pub(super) fn read(directory: &Path, key: &AuditKey) -> io::Result<Head> {
    let text = match files::open(&path(directory)).and_then(|file| io::read_to_string(file.take(MAX_HEAD_BYTES))) {
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
