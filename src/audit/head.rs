//! The head of a log: where its end is, in a file of its own. By it a tail that was cut off shows.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::chain::Link;
use super::key::AuditKey;

/// What the file says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// The last record that was written, or one shortly before.
    At(Link),
    /// There is none.
    Missing,
    /// It was changed by somebody without the key, or damaged.
    Wrong,
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
fn said(link: &Link) -> String {
    format!("head {:020} {}", link.seq, link.hash)
}

/// Writes it in the place of the one before, in one call: each has the same length.
pub(super) fn write(file: &File, link: &Link, key: &AuditKey) -> io::Result<()> {
    let said = said(link);
    let text = format!("{said} {}\n", key.hash(said.as_bytes()));
    file.write_all_at(text.as_bytes(), 0)
}

/// Reads it.
pub(super) fn read(directory: &Path, key: &AuditKey) -> io::Result<Head> {
    let text = match std::fs::read(path(directory)) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Head::Missing),
        Err(error) => return Err(error),
    };
    let link = String::from_utf8(text).ok().and_then(|text| {
        let (said_there, hash) = text.strip_suffix('\n')?.rsplit_once(' ')?;
        let (seq, last) = said_there.strip_prefix("head ")?.split_once(' ')?;
        let link = Link { seq: seq.parse().ok()?, hash: last.to_owned() };
        (said(&link) == said_there && key.is_hash(hash, said_there.as_bytes())).then_some(link)
    });
    Ok(link.map_or(Head::Wrong, Head::At))
}
