use std::collections::VecDeque;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::chain::{self, Link};
use super::error::Error;
use super::files;
use super::head;
use super::key::AuditKey;
use super::last;
use super::record::{Outcome, Record};
use super::settings::Settings;

/// The number of records per write. A file may exceed its size by this many.
const RECORDS_PER_WRITE: usize = 256;

/// The files of a log, to which one process appends.
pub(super) struct Journal {
    directory: PathBuf,
    key: AuditKey,
    file_bytes: u64,
    quota: u64,
    /// The first kept record.
    first: u64,
    /// The last written record.
    link: Link,
    path: PathBuf,
    file: File,
    /// The length of the file, without the rest of a failed write.
    length: u64,
    /// Whether a write failed, so that part of a line may follow the length.
    is_torn: bool,
    head: File,
    /// Whether the head must be updated to the last record.
    head_due: bool,
    /// Whether some data may not be on the disk yet.
    unsynced: bool,
    /// Locks out other processes as long as it is open.
    _lock: File,
}

impl Journal {
    /// Opens the log in a directory, which is created if missing, and continues at its end. Returns the record that
    /// reports the start.
    pub(super) fn open(settings: &Settings) -> Result<(Self, Record), Error> {
        let Settings { directory, key, file_bytes, quota, begun } = settings;
        DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(Error::at(directory))?;
        let lock = lock(directory)?;
        let last = last::find(directory, key, *begun)?;
        let head_path = head::path(directory);
        // Written before the first record, so that a log always has a head.
        let head = head::open(directory).map_err(Error::at(&head_path))?;
        head::write(&head, last.first, &last.link, key).map_err(Error::at(&head_path))?;
        let path = last.file.unwrap_or_else(|| directory.join(files::name(last.link.seq + 1)));
        let file = open(&path).map_err(Error::at(&path))?;
        let length = file.metadata().map_err(Error::at(&path))?.len();
        let said: Vec<String> = last.fault.iter().chain(&last.note).cloned().collect();
        if let Some(fault) = &last.fault {
            tracing::error!("the audit log in {} is not whole: {fault}", directory.display());
        }
        let outcome = if last.fault.is_some() { Outcome::Bad } else { Outcome::Ok };
        let begun = Record::of_server("audit_start", outcome, (!said.is_empty()).then(|| said.join("; ")));
        let journal = Self {
            directory: directory.clone(),
            key: key.clone(),
            file_bytes: *file_bytes,
            quota: *quota,
            first: last.first,
            link: last.link,
            path,
            file,
            length,
            is_torn: false,
            head,
            head_due: false,
            unsynced: true,
            _lock: lock,
        };
        Ok((journal, begun))
    }

    /// Writes records and removes those that were written from the queue. Can be called again after an error.
    pub(super) fn write(&mut self, records: &mut VecDeque<Record>) -> Result<(), Error> {
        if !records.is_empty() && !self.is_in_place() {
            records.push_front(self.begin_anew()?);
        }
        while !records.is_empty() {
            self.cut()?;
            if self.length >= self.file_bytes {
                let removed = self.rotate()?;
                removed.into_iter().rev().for_each(|record| records.push_front(record));
            }
            let (mut link, mut text, count) = (self.link.clone(), Vec::new(), records.len().min(RECORDS_PER_WRITE));
            for record in records.iter().take(count) {
                chain::append(record, &mut link, &self.key, &mut text);
            }
            self.is_torn = true;
            self.file.write_all(&text).map_err(Error::at(&self.path))?;
            (self.is_torn, self.unsynced, self.head_due) = (false, true, true);
            self.length += text.len() as u64;
            self.link = link;
            records.drain(..count);
            metrics::counter!("hero_audit_records_total").increment(count as u64);
            self.write_head()?;
        }
        self.write_head()
    }

    /// Flushes written data to the disk.
    pub(super) fn sync(&mut self) -> Result<(), Error> {
        if self.unsynced {
            self.file.sync_data().map_err(Error::at(&self.path))?;
            self.head.sync_data().map_err(Error::at(&head::path(&self.directory)))?;
            self.unsynced = false;
        }
        Ok(())
    }

    /// Whether [`Self::sync`] has something to do.
    pub(super) const fn is_unsynced(&self) -> bool {
        self.unsynced
    }

    fn write_head(&mut self) -> Result<(), Error> {
        if self.head_due {
            head::write(&self.head, self.first, &self.link, &self.key).map_err(Error::at(&head::path(&self.directory)))?;
            self.head_due = false;
        }
        Ok(())
    }

    /// Removes the rest of a failed write.
    fn cut(&mut self) -> Result<(), Error> {
        if self.is_torn {
            self.file.set_len(self.length).map_err(Error::at(&self.path))?;
            self.is_torn = false;
        }
        Ok(())
    }

    /// Whether the open file and head are still the ones in the directory.
    fn is_in_place(&self) -> bool {
        let same = |path: &Path, file: &File| {
            let (Ok(there), Ok(here)) = (path.metadata(), file.metadata()) else { return false };
            (there.dev(), there.ino()) == (here.dev(), here.ino())
        };
        same(&self.path, &self.file) && same(&head::path(&self.directory), &self.head)
    }

    /// Continues in a new file, because the current one was removed. Returns the record that reports it.
    fn begin_anew(&mut self) -> Result<Record, Error> {
        let path = self.directory.join(files::name(self.link.seq + 1));
        let file = open(&path).map_err(Error::at(&path))?;
        self.head = head::open(&self.directory).map_err(Error::at(&head::path(&self.directory)))?;
        let gone = format!("{} or the head was taken away while it was written", files::shown(&self.path));
        tracing::error!("the audit log in {} is not whole: {gone}", self.directory.display());
        self.length = file.metadata().map_err(Error::at(&path))?.len();
        (self.path, self.file, self.is_torn, self.head_due) = (path, file, false, true);
        Ok(Record::of_server("audit_start", Outcome::Bad, Some(gone)))
    }

    /// Begins the next file, and removes the oldest ones while all of them exceed the quota. Returns the records of the
    /// removals.
    fn rotate(&mut self) -> Result<Vec<Record>, Error> {
        self.sync()?;
        let path = self.directory.join(files::name(self.link.seq + 1));
        let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(&path).map_err(Error::at(&path))?;
        (self.path, self.file, self.length) = (path, file, 0);
        self.remove_old()
    }

    fn remove_old(&mut self) -> Result<Vec<Record>, Error> {
        let all = files::list(&self.directory).map_err(Error::at(&self.directory))?;
        let size = |path: &Path| path.metadata().map_or(0, |metadata| metadata.len());
        // Count the new file at its full size.
        let mut bytes = all.iter().map(|(_, path)| size(path)).sum::<u64>() + self.file_bytes;
        let mut removed = Vec::new();
        for pair in all.windows(2) {
            if self.quota == 0 || bytes <= self.quota {
                break;
            }
            let ([(_, path), (next, _)], length) = (pair, size(&pair[0].1)) else { break };
            // First write the new beginning into the head: only the head can vouch for it.
            (self.first, self.head_due) = (*next, true);
            self.write_head()?;
            self.head.sync_data().map_err(Error::at(&head::path(&self.directory)))?;
            std::fs::remove_file(path).map_err(Error::at(path))?;
            bytes = bytes.saturating_sub(length);
            let note =
                format!("{} was removed, with all records before {next}: all files together were above audit_quota", files::shown(path));
            removed.push(Record::of_server("audit_remove", Outcome::Ok, Some(note)));
        }
        Ok(removed)
    }
}

/// Opens a file to append to, readable by its owner only.
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

/// Locks other processes out of a directory until the file is closed.
fn lock(directory: &Path) -> Result<File, Error> {
    let path = directory.join("lock");
    let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path).map_err(Error::at(&path))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(Error::InUse(directory.to_owned())),
        Err(error) => Err(Error::at(&path)(error.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::super::verify::verify;
    use super::*;

    fn record(object: &str) -> Record {
        Record { object: Some(object.to_owned()), ..Record::new(super::super::Who::Operator, "grant", Outcome::Ok) }
    }

    fn settings(directory: &Path, key: &AuditKey) -> Settings {
        Settings { directory: directory.to_owned(), key: key.clone(), file_bytes: 1 << 20, quota: 0, begun: false }
    }

    #[test]
    fn what_a_failed_write_has_left_is_cut_off_before_the_next() {
        let directory = tempfile::tempdir().unwrap();
        let key = AuditKey::random();
        let (mut journal, begun) = Journal::open(&settings(directory.path(), &key)).unwrap();
        journal.write(&mut VecDeque::from([begun, record("identity:1")])).unwrap();
        // Simulates a disk that became full within a line.
        journal.file.write_all(b"{\"seq\":3,\"ti").unwrap();
        journal.is_torn = true;
        journal.write(&mut VecDeque::from([record("identity:2")])).unwrap();
        let report = verify(directory.path(), &key, None).unwrap();
        assert_eq!((report.records, report.faults.len()), (3, 0), "{report:?}");
    }

    #[test]
    fn a_full_disk_keeps_the_records_until_there_is_room() {
        let directory = tempfile::tempdir().unwrap();
        let key = AuditKey::random();
        let (mut journal, begun) = Journal::open(&settings(directory.path(), &key)).unwrap();
        journal.write(&mut VecDeque::from([begun])).unwrap();
        let (file, path) = (journal.file.try_clone().unwrap(), journal.path.clone());
        (journal.file, journal.path) = (File::options().write(true).open("/dev/full").unwrap(), "/dev/full".into());
        let mut records = VecDeque::from([record("identity:1"), record("identity:2")]);
        let refused = journal.write(&mut records).unwrap_err().to_string();
        assert!(refused.contains("No space left on device") && records.len() == 2, "{refused}");
        (journal.file, journal.path) = (file, path);
        journal.write(&mut records).unwrap();
        let report = verify(directory.path(), &key, None).unwrap();
        assert_eq!((report.records, report.faults.len(), records.len()), (3, 0, 0), "{report:?}");
    }
}
