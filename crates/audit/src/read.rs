//! Reads a log for display: its last records, and new ones as they come.

use std::collections::VecDeque;
use std::io::{BufReader, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use super::entry::Entry;
use super::error::Error;
use super::files::{self, Line};

/// A record and its line in the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    /// The record.
    pub entry: Entry,
    /// The line.
    pub line: String,
}

/// Reads a log from its end on. Skips lines that are not records; `verify` reports them.
#[derive(Debug)]
pub struct Tail {
    directory: PathBuf,
    /// The file being read, and the offset in it.
    at: Option<(u64, u64)>,
}

impl Tail {
    /// Returns the last `wanted` records of a log, at most `most` of them, oldest first; and a reader of new records.
    pub fn open(directory: &Path, most: usize, wanted: impl Fn(&Entry) -> bool) -> Result<(Vec<Written>, Self), Error> {
        let all = list(directory)?;
        if all.is_empty() {
            return Err(Error::NoLog(directory.to_owned()));
        }
        let (mut found, mut end) = (VecDeque::new(), None);
        for (number, path) in all.iter().rev() {
            let (mut of_file, mut at) = (VecDeque::new(), 0);
            read(path, &mut at, |written| {
                if wanted(&written.entry) {
                    of_file.push_back(written);
                    if found.len() + of_file.len() > most {
                        of_file.pop_front();
                    }
                }
            })?;
            end = end.or(Some((*number, at)));
            of_file.append(&mut found);
            found = of_file;
            if found.len() >= most {
                break;
            }
        }
        Ok((found.into(), Self { directory: directory.to_owned(), at: end }))
    }

    /// Returns the records written since the last call.
    pub fn look(&mut self) -> Result<Vec<Written>, Error> {
        let mut found = Vec::new();
        for (number, path) in list(&self.directory)? {
            let mut at = match self.at {
                Some((last, _)) if number < last => continue,
                Some((last, at)) if number == last => at,
                _ => 0,
            };
            read(&path, &mut at, |written| found.push(written))?;
            self.at = Some((number, at));
        }
        Ok(found)
    }
}

fn list(directory: &Path) -> Result<Vec<(u64, PathBuf)>, Error> {
    match files::list(directory) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(Error::NoLog(directory.to_owned())),
        listed => listed.map_err(Error::at(directory)),
    }
}

/// Reads whole lines from an offset in a file, and moves the offset past them.
fn read(path: &Path, at: &mut u64, mut each: impl FnMut(Written)) -> Result<(), Error> {
    let mut file = match files::open(path) {
        // The file was removed, as the oldest ones are.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        opened => opened.map_err(Error::at(path))?,
    };
    file.seek(SeekFrom::Start(*at)).map_err(Error::at(path))?;
    let mut reader = BufReader::new(file);
    loop {
        match files::next(&mut reader).map_err(Error::at(path))? {
            Line::Whole(line) => {
                *at += line.len() as u64 + 1;
                if let Ok(entry) = serde_json::from_slice(&line) {
                    each(Written { entry, line: String::from_utf8_lossy(&line).into_owned() });
                }
            }
            Line::Torn(line) if line.len() >= files::MAX_LINE_BYTES => *at += line.len() as u64,
            Line::Torn(_) | Line::End => return Ok(()),
        }
    }
}
