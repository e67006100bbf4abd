//! The files of a log: each is named by the number of its first record.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// The maximum length of a line: longer than any of our records, whose texts are cut.
pub(super) const MAX_LINE_BYTES: usize = 512 * 1024;

/// Returns the name of the file whose first record has this number.
pub(super) fn name(first: u64) -> String {
    format!("audit-{first:012}.jsonl")
}

/// Returns the name of a file for messages.
pub(super) fn shown(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Describes the records that are missing at the beginning: those from `kept`, before `begins`.
pub(super) fn gone_before(kept: u64, begins: u64) -> String {
    match begins - 1 {
        last if last == kept => format!("record {kept} is missing at the beginning"),
        last => format!("records {kept} to {last} are missing at the beginning"),
    }
}

/// Lists the files in a directory with the numbers of their first records, in order.
pub(super) fn list(directory: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let file = entry.file_name();
        let number = file.to_str().and_then(|file| file.strip_prefix("audit-")?.strip_suffix(".jsonl")?.parse().ok());
        // Skip a name that only looks like one of ours.
        if let Some(number) = number.filter(|number| file.to_str() == Some(&*name(*number))) {
            files.push((number, entry.path()));
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// Opens a file to read. Refuses anything that is not a regular file, so that reading never blocks on a pipe.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed()).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "is no regular file")),
    }
}

/// A line of a file.
pub(super) enum Line {
    /// A whole line, without its newline.
    Whole(Vec<u8>),
    /// The rest after the last whole line, or the beginning of a line that is too long.
    Torn(Vec<u8>),
    /// The end of the file.
    End,
}

/// Reads the next line, in bounded memory.
pub(super) fn next(reader: &mut impl BufRead) -> io::Result<Line> {
    let mut line = Vec::new();
    io::Read::take(reader, MAX_LINE_BYTES as u64).read_until(b'\n', &mut line)?;
    Ok(match line.pop() {
        None => Line::End,
        Some(b'\n') => Line::Whole(line),
        Some(last) => {
            line.push(last);
            Line::Torn(line)
        }
    })
}
