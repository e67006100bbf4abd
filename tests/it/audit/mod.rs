//! The audit log: its records, and the detection of missing ones.
#![expect(clippy::unwrap_used, reason = "a test that can't go on shall say so")]

mod beginning;
mod calls;
mod chain;
mod executions;
mod process;
mod refusals;

use std::path::{Path, PathBuf};

use hero::audit::{Audit, AuditKey, Entry, Outcome, Record, Report, Settings, Who, read, verify};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{CONTEXT, House, PATIENCE, Server, until};

/// A directory for a log, with its key.
struct Ground {
    home: TempDir,
    key: AuditKey,
}

impl Ground {
    fn new() -> Self {
        Self { home: tempfile::tempdir().unwrap(), key: AuditKey::random() }
    }

    fn directory(&self) -> PathBuf {
        self.home.path().join("audit")
    }

    /// Opens the log, with files of any length.
    fn open(&self) -> Audit {
        self.open_with(1 << 30, 0)
    }

    fn open_with(&self, file_bytes: u64, quota: u64) -> Audit {
        Audit::open(self.settings(file_bytes, quota)).unwrap()
    }

    fn settings(&self, file_bytes: u64, quota: u64) -> Settings {
        Settings { directory: self.directory(), key: self.key.clone(), file_bytes, quota, begun: false }
    }

    /// Writes a log of this number of grants and ends it.
    async fn write(&self, count: u32) {
        let audit = self.open();
        (0..count).for_each(|number| audit.note(|| grant(&format!("identity:{number}"))));
        audit.close().await;
    }

    fn verify(&self) -> Report {
        verify(&self.directory(), &self.key, None).unwrap()
    }

    /// Every record.
    fn entries(&self) -> Vec<Entry> {
        entries(&self.directory())
    }

    /// The files, in order.
    fn files(&self) -> Vec<PathBuf> {
        let named = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "jsonl");
        let mut files: Vec<PathBuf> =
            std::fs::read_dir(self.directory()).unwrap().map(|entry| entry.unwrap().path()).filter(named).collect();
        files.sort();
        files
    }

    /// Changes the lines of the first file.
    fn edit(&self, change: impl FnOnce(&mut Vec<String>)) {
        let path = &self.files()[0];
        let mut lines: Vec<String> = std::fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect();
        change(&mut lines);
        std::fs::write(path, lines.join("\n") + "\n").unwrap();
    }
}

fn entries(directory: &Path) -> Vec<Entry> {
    let (records, _) = read::Tail::open(directory, usize::MAX, |_| true).unwrap();
    records.into_iter().map(|written| written.entry).collect()
}

fn grant(object: &str) -> Record {
    Record { object: Some(object.to_owned()), context: Some(CONTEXT), ..Record::new(Who::Operator, "grant", Outcome::Ok) }
}

/// The caller, action and outcome of each record, without those of the log itself.
fn told(entries: &[Entry]) -> Vec<(String, String, String)> {
    let of_callers = entries.iter().filter(|entry| !entry.what.starts_with("audit_"));
    of_callers.map(|entry| (entry.who.clone(), entry.what.clone(), entry.outcome.clone())).collect()
}

/// A house with an audit log, and a server before it.
struct Recorded {
    ground: Ground,
    audit: Audit,
    house: House,
    server: Server,
    authority: hero::access::Authority,
}

impl Recorded {
    async fn open(login: bool) -> Self {
        let (ground, house) = (Ground::new(), House::empty().await);
        let audit = ground.open();
        let (server, authority) = Server::audited(&house.dispatcher, audit.clone(), login).await;
        Self { ground, audit, house, server, authority }
    }

    /// The current content of the log.
    async fn entries(&self) -> Vec<Entry> {
        self.audit.written().await;
        self.ground.entries()
    }

    /// The records of one method.
    async fn of(&self, what: &str) -> Vec<Entry> {
        self.entries().await.into_iter().filter(|entry| entry.what == what).collect()
    }
}
