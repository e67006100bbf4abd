//! Finds the end of an existing log, where writing continues.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::chain::{self, Link};
use super::error::Error;
use super::files::{self, MAX_LINE_BYTES};
use super::head::{self, Head};
use super::key::AuditKey;

/// The maximum number of torn ends to keep.
const MOST_TORN: usize = 16;

/// The end of a log, where writing continues.
pub(super) struct Last {
    /// The first kept record.
    pub(super) first: u64,
    /// The last record.
    pub(super) link: Link,
    /// The file to append to; if `None`, a new one is created.
    pub(super) file: Option<PathBuf>,
    /// A finding that is not a fault.
    pub(super) note: Option<String>,
    /// The fault, if the log has one.
    pub(super) fault: Option<String>,
}

/// Finds the end. A line torn by the death of the writing process is moved to a file of its own.
pub(super) fn find(directory: &Path, key: &AuditKey, begun: bool) -> Result<Last, Error> {
    let at = Error::at(directory);
    let found = files::list(directory).map_err(at)?;
    let head = head::read(directory, key).map_err(Error::at(&head::path(directory)))?;
    let begins = found.first().map(|(first, _)| *first);
    let kept = if let Head::At { first, .. } = &head { Some(*first) } else { None };
    let (mut torn, mut line, mut of_line) = (Vec::new(), None, 0);
    for (index, (first, path)) in found.iter().enumerate().rev() {
        let end = End::of(path).map_err(Error::at(path))?;
        if index + 1 == found.len() && !end.torn.is_empty() {
            File::options().write(true).open(path).and_then(|file| file.set_len(end.whole)).map_err(Error::at(path))?;
            torn = end.torn;
        }
        if end.line.is_some() {
            (line, of_line) = (end.line, *first);
            break;
        }
    }
    let mut last = match line {
        None => without_records(directory, head, begun)?,
        Some(line) => match chain::look(&line, key) {
            (Some(place), true) => behind(Link { seq: place.seq, hash: place.hash }, head),
            _ => behind_damage(directory, of_line, head)?,
        },
    };
    last.first = kept.or(begins).unwrap_or(last.link.seq + 1);
    if let (Some(kept), Some(begins)) = (kept, begins)
        && begins > kept
    {
        let gone = files::gone_before(kept, begins);
        last.fault = Some(last.fault.take().map_or_else(|| gone.clone(), |fault| format!("{fault}; {gone}")));
    }
    // A damaged file stays unchanged, and a new file begins.
    last.file = last.file.take().or_else(|| {
        let (first, path) = found.last()?;
        let fits = *first == last.link.seq + 1 || *first == of_line;
        (fits && !last.fault.as_ref().is_some_and(|fault| fault.starts_with(DAMAGED))).then(|| path.clone())
    });
    if !torn.is_empty() {
        let name = keep(directory, last.link.seq + 1, &torn)?;
        last.note = Some(format!("{} bytes of a line that was not finished are kept in {name}", torn.len()));
    }
    Ok(last)
}

/// The beginning of the message for a damaged last record.
const DAMAGED: &str = "the last record";

/// Finds the end of a log without records: the head decides.
fn without_records(directory: &Path, head: Head, begun: bool) -> Result<Last, Error> {
    let (link, fault) = match head {
        Head::At { last, .. } if last.seq > 0 => {
            let fault = format!("all records up to {} are missing", last.seq);
            (last, Some(fault))
        }
        Head::At { last, .. } => (last, None),
        Head::Missing => {
            let fault = "there was a log here before, of which nothing is left: all its records are missing";
            (Link::start(), begun.then(|| fault.to_owned()))
        }
        Head::Wrong => return Err(Error::OtherKey(directory.to_owned())),
    };
    Ok(Last { first: 0, link, file: None, note: None, fault })
}

/// Finds the end after a valid last record.
fn behind(link: Link, head: Head) -> Last {
    let (link, fault) = match head {
        Head::At { last, .. } if last.seq > link.seq => {
            let fault = format!("records {} to {} are missing", link.seq + 1, last.seq);
            (last, Some(fault))
        }
        Head::At { .. } => (link, None),
        Head::Missing => {
            let fault = format!("the head was missing, so records behind {} may be", link.seq);
            (link, Some(fault))
        }
        Head::Wrong => {
            let fault = format!("the head was damaged, so records behind {} may be missing", link.seq);
            (link, Some(fault))
        }
    };
    Last { first: 0, link, file: None, note: None, fault }
}

/// Finds the end if the last record, in the file of this number, is damaged.
fn behind_damage(directory: &Path, file: u64, head: Head) -> Result<Last, Error> {
    let Head::At { last: mut link, .. } = head else { return Err(Error::OtherKey(directory.to_owned())) };
    // The next file must not get the name of an existing one.
    link.seq = link.seq.max(file);
    let fault = Some(format!("{DAMAGED} of {} is damaged; the log goes on in a new file", files::name(file)));
    Ok(Last { first: 0, link, file: None, note: None, fault })
}

/// Keeps a torn line aside. Returns the name of its file.
fn keep(directory: &Path, seq: u64, torn: &[u8]) -> Result<String, Error> {
    let name = format!("torn-{seq:012}");
    let path = directory.join(&name);
    let written = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path);
    written.and_then(|mut file| file.write_all(torn)).map_err(Error::at(&path))?;
    let all = || -> io::Result<Vec<PathBuf>> {
        let entries = std::fs::read_dir(directory)?.collect::<io::Result<Vec<_>>>()?;
        let mut torn: Vec<PathBuf> =
            entries.iter().map(std::fs::DirEntry::path).filter(|path| files::shown(path).starts_with("torn-")).collect();
        torn.sort_unstable();
        Ok(torn)
    };
    let all = all().map_err(Error::at(directory))?;
    for old in all.iter().take(all.len().saturating_sub(MOST_TORN)) {
        std::fs::remove_file(old).map_err(Error::at(old))?;
    }
    Ok(name)
}

/// The end of a file.
struct End {
    /// The last whole line.
    line: Option<Vec<u8>>,
    /// The offset at which it ends.
    whole: u64,
    /// The bytes after it.
    torn: Vec<u8>,
}

impl End {
    fn of(path: &Path) -> io::Result<Self> {
        let mut file = files::open(path)?;
        let length = file.metadata()?.len();
        let from = length.saturating_sub(2 * MAX_LINE_BYTES as u64);
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.take(length - from).read_to_end(&mut bytes)?;
        let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') else {
            return Ok(Self { line: None, whole: 0, torn: bytes });
        };
        let torn = bytes.split_off(end + 1);
        let begin = bytes[..end].iter().rposition(|byte| *byte == b'\n').map_or(0, |before| before + 1);
        Ok(Self { line: Some(bytes[begin..end].to_vec()), whole: from + end as u64 + 1, torn })
    }
}
