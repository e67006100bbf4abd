use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::error::Error;
use super::journal::Journal;
use super::record::Record;
use super::settings::Settings;
use super::state::Shared;
use super::writer::Writer;
use hero_model::Timestamp;

/// A handle of an audit log, or of none: then it accepts every record and keeps nothing. Cheap to clone. When the last
/// clone is dropped, waiting records are written and the log ends.
#[derive(Debug, Clone, Default)]
pub struct Audit(Option<Arc<Open>>);

#[derive(Debug)]
struct Open(Arc<Shared>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.lock().closing = true;
        self.0.wake.notify_all();
    }
}

/// A call that must be recorded cannot begin now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Closed {
    /// The log cannot be written.
    #[error("the audit log cannot be written, as the log of the server says, and what changes something has to be in it")]
    Failing,
    /// Records arrive faster than the disk takes them.
    #[error("the audit log has more to write than it can; try again")]
    Full,
}

/// An operation under way that will be recorded; the queue has a place reserved for it. If it is dropped, its record is
/// written as it was begun.
#[derive(Debug)]
pub struct Doing {
    begun: Option<(Arc<Open>, Record)>,
    /// Whether the record is counted with others of its kind if the operation fails or is dropped.
    counted: bool,
}

/// Timeout for callers that wait for records to be written, or for the log to end.
const WAIT_TIMEOUT: Duration = Duration::from_secs(5);

impl Audit {
    /// Opens a log, continues at its end, and starts the thread that writes it.
    pub fn open(settings: Settings) -> Result<Self, Error> {
        let (journal, begun) = Journal::open(&settings)?;
        let shared = Arc::<Shared>::default();
        shared.push(&mut shared.lock(), begun);
        let writer = Writer::new(Arc::clone(&shared), journal);
        let started = std::thread::Builder::new().name("audit".to_owned()).spawn(move || writer.run());
        started.map_err(|cause| Error::Io { path: settings.directory, cause })?;
        Ok(Self(Some(Arc::new(Open(shared)))))
    }

    /// Whether there is a log.
    pub const fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Begins an operation that must be recorded. `record` is written if the operation is dropped without an end. Every
    /// change begins with this call, so no change goes unrecorded.
    pub fn begin(&self, record: impl FnOnce() -> Record) -> Result<Doing, Closed> {
        let Some(open) = &self.0 else { return Ok(Doing::NONE) };
        let record = record();
        let mut state = open.0.lock();
        if state.failing.is_some() {
            return Err(Closed::Failing);
        }
        if state.is_full() {
            return Err(Closed::Full);
        }
        state.reserved += 1;
        Ok(Doing { begun: Some((Arc::clone(open), record)), counted: false })
    }

    /// Whether anything is recorded.
    pub fn is_open(&self) -> bool {
        self.0.is_some()
    }

    /// Records something that has already happened and cannot be refused. If there is no room, it is counted, and the
    /// count is recorded later.
    pub fn note(&self, record: impl FnOnce() -> Record) {
        let Some(open) = &self.0 else { return };
        let record = record();
        let mut state = open.0.lock();
        if state.is_full() { state.lose() } else { open.0.push(&mut state, record) }
    }

    /// Records a refusal: the first of its kind at once, those of the next minute together.
    pub fn refusal(&self, record: impl FnOnce() -> Record) {
        if let Some(open) = &self.0 {
            open.0.repeat(&mut open.0.lock(), record());
        }
    }

    /// Returns when all records so far are in the file, or cannot be written.
    pub async fn written(&self) {
        let Some(open) = &self.0 else { return };
        let (told, written) = oneshot::channel();
        {
            let mut state = open.0.lock();
            if state.failing.is_some() {
                return;
            }
            state.waiting.push(told);
        }
        open.0.wake.notify_all();
        // The thread always answers, but a disk that hangs must not hold up the caller.
        let _ = tokio::time::timeout(WAIT_TIMEOUT, written).await;
    }

    /// Returns the reason why the log cannot be written, if it cannot.
    pub fn failing(&self) -> Option<String> {
        self.0.as_ref()?.0.lock().failing.clone()
    }

    /// Ends the log. Returns when everything is written, or cannot be.
    pub async fn close(&self) {
        let Some(open) = &self.0 else { return };
        open.0.lock().closing = true;
        open.0.wake.notify_all();
        if tokio::time::timeout(WAIT_TIMEOUT, open.0.ended.cancelled()).await.is_err() {
            tracing::error!("the audit log did not end in time; the last records may be missing");
        }
    }
}

impl Doing {
    /// An operation that is not recorded.
    pub const NONE: Self = Self { begun: None, counted: false };

    /// Makes the record count with others of its kind if the operation fails, as refusals do: for operations that a
    /// caller can repeat as often as it likes.
    pub fn counted(mut self) -> Self {
        self.counted = true;
        self
    }

    /// Whether the record is counted with others of its kind if the operation fails.
    pub const fn is_counted(&self) -> bool {
        self.counted
    }

    /// Adds details to the record that was begun.
    pub fn tell(&mut self, told: impl FnOnce(&mut Record)) {
        if let Some((_, record)) = &mut self.begun {
            told(record);
        }
    }

    /// Ends the operation. `told` sets the outcome in the record that was begun.
    pub fn end(&mut self, told: impl FnOnce(&mut Record)) {
        if let Some((open, mut record)) = self.begun.take() {
            told(&mut record);
            record.time = Timestamp::local();
            let mut state = open.0.lock();
            state.reserved -= 1;
            open.0.push(&mut state, record);
        }
    }

    /// Ends the operation and counts it with others of its kind; the first is recorded at once. `told` sets the outcome
    /// in the record that was begun.
    pub fn count(&mut self, told: impl FnOnce(&mut Record)) {
        if let Some((open, mut record)) = self.begun.take() {
            told(&mut record);
            record.time = Timestamp::local();
            let mut state = open.0.lock();
            state.reserved -= 1;
            open.0.repeat(&mut state, record);
        }
    }

    /// Ends the operation without a record, because nothing happened that is worth one.
    pub fn give_up(&mut self) {
        if let Some((open, _)) = self.begun.take() {
            open.0.lock().reserved -= 1;
        }
    }
}

impl Drop for Doing {
    fn drop(&mut self) {
        if self.counted { self.count(|_| {}) } else { self.end(|_| {}) }
    }
}
