use std::io::BufReader;
use std::path::Path;

use serde::Serialize;

use super::chain::{self, ChainEntry, Link};
use super::error::Error;
use super::files::{self, Line};
use super::head::{self, Head};
use super::key::AuditKey;

/// A fault of a log, and its position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The name of the file.
    pub file: String,
    /// The number of the line in the file, from 1; 0 is the file as a whole.
    pub line: u64,
    /// The number of the record, if it can be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The description of the fault.
    pub why: String,
}

/// The result of verifying a log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The number of files read.
    pub files: u64,
    /// The number of valid records.
    pub records: u64,
    /// The number of the first record. If it is not 1, older files were removed.
    pub first: u64,
    /// The number of the last record.
    pub last: u64,
    /// The hash of the last record, for noting it elsewhere.
    pub hash: String,
    /// The number of bytes after the last record: a line being written now, or torn when its process ended.
    pub torn: u64,
    /// The number of records lost for lack of room, according to the log itself.
    pub lost: u64,
    /// The faults in the order of the records, at most a hundred.
    pub faults: Vec<Violation>,
}

/// The maximum number of faults to report.
const MAX_FAULTS: usize = 100;

/// Verifies every record of a log, even while it is being written. `expected` is the number and hash of a record that
/// was noted elsewhere.
pub fn verify(directory: &Path, key: &AuditKey, expected: Option<&(u64, String)>) -> Result<Report, Error> {
    // Read the head first: records written in the meantime follow it.
    let head = match directory.is_dir() {
        true => head::read(directory, key).map_err(Error::at(&head::path(directory)))?,
        false => return Err(Error::NoLog(directory.to_owned())),
    };
    let all = files::list(directory).map_err(Error::at(directory))?;
    if all.is_empty() && head == Head::Missing {
        return Err(Error::NoLog(directory.to_owned()));
    }
    let noted = [
        expected.cloned().map(|(seq, hash)| Link { seq, hash }),
        if let Head::At { last, .. } = &head { Some(last.clone()) } else { None },
    ];
    let mut walk = Walk { directory, key, kept: head.first(), report: Report::default(), last: None, noted, many: 0 };
    for (index, (first, path)) in all.iter().enumerate() {
        walk.file(*first, path, index + 1 == all.len())?;
    }
    walk.end(&head, expected);
    let Walk { mut report, last, many, .. } = walk;
    if let Some(last) = last {
        (report.last, report.hash) = (last.seq, last.hash);
    }
    if many > MAX_FAULTS
        && let Some(fault) = report.faults.last_mut()
    {
        fault.why.push_str(&format!("; and {} more faults", many - MAX_FAULTS));
    }
    Ok(report)
}

/// A pass through a log, record by record.
struct Walk<'k> {
    directory: &'k Path,
    key: &'k AuditKey,
    /// The first record that must exist, according to the head.
    kept: Option<u64>,
    report: Report,
    last: Option<Link>,
    /// Records with a known hash: the noted one, and the one of the head.
    noted: [Option<Link>; 2],
    many: usize,
}

impl Walk<'_> {
    fn fault(&mut self, file: &str, line: u64, seq: Option<u64>, why: impl Into<String>) {
        self.many += 1;
        if self.many <= MAX_FAULTS {
            self.report.faults.push(Violation { file: file.to_owned(), line, seq, why: why.into() });
        }
    }

    fn file(&mut self, first: u64, path: &Path, is_last: bool) -> Result<(), Error> {
        let name = files::shown(path);
        let file = match files::open(path) {
            // The oldest file was removed after they were listed.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && self.last.is_none() => return Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => {
                self.fault(&name, 0, None, error.to_string());
                return Ok(());
            }
            opened => opened.map_err(Error::at(path))?,
        };
        self.report.files += 1;
        let (mut reader, mut number) = (BufReader::new(file), 0);
        loop {
            number += 1;
            match files::next(&mut reader).map_err(Error::at(path))? {
                Line::Whole(line) => self.record(&name, number, &line, (number == 1).then_some(first)),
                Line::Torn(part) if is_last && part.len() < files::MAX_LINE_BYTES => self.report.torn = part.len() as u64,
                Line::Torn(_) => self.fault(&name, number, None, "the line has no end, or is longer than any record"),
                Line::End => break,
            }
        }
        if number == 1 && !is_last {
            self.fault(&name, 0, None, "the file is empty: its records are missing");
        }
        Ok(())
    }

    fn record(&mut self, file: &str, number: u64, line: &[u8], first: Option<u64>) {
        let (entry, is_right) = chain::look(line, self.key);
        let Some(entry) = entry else { return self.fault(file, number, None, "the line is no record") };
        let seq = entry.seq;
        if !is_right {
            self.fault(file, number, Some(seq), "the record is not what was written: its hash does not fit");
        } else {
            self.report.records += 1;
            if entry.what == "audit_lost" {
                self.report.lost += entry.count.unwrap_or_default();
            }
            if let Some(why) = self.misplaced(&entry, first) {
                self.fault(file, number, Some(seq), why);
            } else if entry.what == "audit_start" && entry.outcome != "ok" {
                let note = entry.note.as_deref().unwrap_or("the log was not whole");
                self.fault(file, number, Some(seq), format!("the server found when it began here: {note}"));
            }
            let other = |noted: &Option<Link>| noted.as_ref().is_some_and(|noted| noted.seq == seq && noted.hash != entry.hash);
            if self.noted.iter().any(other) {
                self.fault(
                    file,
                    number,
                    Some(seq),
                    "this is another record than the one of this number that was noted: an older log was put back",
                );
            }
        }
        if self.report.first == 0 {
            self.report.first = seq;
            self.beginning(file, number, seq);
        }
        // Continue after a fault from this record on.
        self.last = Some(Link { seq, hash: entry.hash });
    }

    /// Checks that the log begins where the head says.
    fn beginning(&mut self, file: &str, number: u64, seq: u64) {
        let is_cut = |kept: Option<u64>| kept.is_some_and(|kept| seq > kept);
        // The server may have removed the oldest files after the head was read.
        if is_cut(self.kept) && !is_cut(head::read(self.directory, self.key).ok().and_then(|head| head.first())) {
            return;
        }
        if let Some(kept) = self.kept.filter(|kept| seq > *kept) {
            self.fault(file, number, Some(seq), files::gone_before(kept, seq));
        }
    }

    /// Returns the reason why a valid record is not in its place.
    fn misplaced(&self, entry: &ChainEntry, first: Option<u64>) -> Option<String> {
        let seq = entry.seq;
        if first.is_some_and(|first| first != seq) {
            return Some(format!("the file begins with record {seq}, not with the one that it is named by"));
        }
        let Some(last) = &self.last else {
            let start = Link::start();
            return (seq == 1 && entry.prev != start.hash).then(|| "the first record names one before it".to_owned());
        };
        let next = last.seq + 1;
        if seq > next {
            let file = if first.is_some() { format!("; the file {} is not there", files::name(next)) } else { String::new() };
            return Some(if seq == next + 1 {
                format!("record {next} is missing{file}")
            } else {
                format!("records {next} to {} are missing{file}", seq - 1)
            });
        }
        if seq < next {
            return Some(format!("the record stands behind record {}", last.seq));
        }
        (entry.prev != last.hash).then(|| format!("record {} before it is not the one that was written", last.seq))
    }

    /// Checks that the log does not end before the head or the noted record.
    fn end(&mut self, head: &Head, expected: Option<&(u64, String)>) {
        let last = self.last.as_ref().map_or(0, |last| last.seq);
        let cut = |seq: u64| {
            if seq == last + 1 {
                format!("record {seq} is missing at the end")
            } else {
                format!("records {} to {seq} are missing at the end", last + 1)
            }
        };
        match head {
            Head::At { last: link, .. } if link.seq > last => self.fault("head", 0, Some(link.seq), cut(link.seq)),
            Head::At { .. } => {}
            Head::Missing => self.fault("head", 0, None, "the head is missing, so records may be missing at the beginning and the end"),
            Head::Wrong => {
                self.fault("head", 0, None, "the head is not what was written, so records may be missing at the beginning and the end");
            }
        }
        if let Some((seq, _)) = expected {
            if *seq > last {
                self.fault("--expect", 0, Some(*seq), cut(*seq));
            } else if *seq < self.report.first {
                self.fault(
                    "--expect",
                    0,
                    Some(*seq),
                    format!("the log begins with record {}, so the noted one is gone", self.report.first),
                );
            }
        }
    }
}
