use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::mask::{Mask, Masker};
use super::store_retry::StoreRetry;
use crate::log_file::{self, LogDirectory, LogFile};
use hero_engine::LogRecord;
use hero_model::{JobError, JobId, LogLevel, Secrets, Timestamp, excerpt};
use hero_store::{self as store, Claimed, SpeculativeRun, Store, may_have_effects};

/// The number of lines sent to Redis at once.
const LINES_PER_CALL: usize = 128;
/// Timeout for the log at the end of a job. While the store is away, the end cannot be written either.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum number of characters of an error in the log file.
const MAX_ERROR_CHARS: usize = 1000;
/// Timeout for opening the log file of a job.
const OPEN_TIMEOUT: Duration = Duration::from_secs(5);

/// Takes the log lines of one attempt of a job. They go to the job's stream in Redis and to its log file.
pub(super) struct JobLog {
    store: Store,
    job: JobId,
    /// The start of the attempt, by the clock of Redis.
    began: Timestamp,
    /// Set if the attempt began before the job is stored.
    speculation: Option<SpeculativeRun>,
    masker: Masker,
    file: Option<LogFile>,
    writer: Option<Writer>,
    /// True if there were lines.
    has_lines: bool,
}

struct Writer {
    lines: mpsc::UnboundedSender<Entry>,
    task: JoinHandle<()>,
}

/// An entry for the writer of a log.
enum Entry {
    /// A line of the script.
    Line(LogRecord),
    /// The failure of the attempt, without its secrets. Only the file gets it: the function that records the end writes
    /// it to the stream.
    Failure(String),
}

impl JobLog {
    /// Creates the log of one attempt. Opens the log file, if the job names one. Fails only if the job may not have
    /// that file.
    pub(super) async fn new(
        store: &Store,
        claimed: &Claimed,
        mask: &Mask,
        secrets: Secrets,
        file: Option<(&LogDirectory, &str)>,
    ) -> Result<Self, log_file::Error> {
        let masker = Masker { mask: mask.clone(), secrets };
        let (job, began, speculation) = (&claimed.job, claimed.started_at, claimed.speculation.clone());
        let mut log =
            Self { store: store.clone(), job: job.clone(), began, speculation, masker, file: None, writer: None, has_lines: false };
        if let Some((directory, path)) = file {
            match open(store, directory, job, path).await {
                Ok(file) => log.file = Some(file),
                Err(Unopened::Refused(error)) => return Err(error),
                // A script runs without its log file rather than not at all.
                Err(Unopened::Unavailable(why)) => {
                    tracing::debug!(%job, %why, "the log file of a job is not available, so nothing is written there");
                    log.log(vec![LogRecord { level: LogLevel::Warn, text: format!("the log file is not available: {why}") }]);
                }
            }
        }
        Ok(log)
    }

    /// Masks the secrets in an error of the script, because others store and show it.
    pub(super) async fn masked(&self, error: JobError) -> JobError {
        self.masker.error(error).await
    }

    /// Returns the masker for other texts of the script.
    pub(super) fn masker(&self) -> Masker {
        self.masker.clone()
    }

    /// Waits until every line is written. Returns whether there were any.
    pub(super) async fn finish(self) -> bool {
        let Some(Writer { lines, mut task }) = self.writer else { return false };
        drop(lines);
        if tokio::time::timeout(FLUSH_TIMEOUT, &mut task).await.is_err() {
            task.abort();
            tracing::warn!(job = %self.job, "the log of a job could not be written in time; its last lines are missing");
        }
        self.has_lines
    }

    /// Logs lines of the script, in order. Does not block.
    pub(super) fn log(&mut self, records: Vec<LogRecord>) {
        self.has_lines = true;
        self.take(records.into_iter().map(Entry::Line));
    }

    /// Writes the failure of the attempt to the log file, if there is one, in the words of the log in Redis
    /// (`attempts.lua`).
    pub(super) fn failed(&mut self, attempt: u32, error: &JobError) {
        if self.file.is_none() && self.writer.is_none() {
            return;
        }
        let column = error.column.map(|column| format!(", column {column}")).unwrap_or_default();
        let place = error.line.map(|line| format!(" (line {line}{column})")).unwrap_or_default();
        self.take(std::iter::once(Entry::Failure(format!(
            "attempt {attempt} failed: {}{place}",
            excerpt(&error.message, MAX_ERROR_CHARS)
        ))));
    }

    fn take(&mut self, entries: impl Iterator<Item = Entry>) {
        let writer = self.writer.get_or_insert_with(|| {
            // The log limit of the engine bounds the number of entries that wait here.
            let (lines, incoming) = mpsc::unbounded_channel();
            let stream = Stream { store: self.store.clone(), job: self.job.clone(), last: before(self.began), failed: false };
            let (speculation, task) = (self.speculation.take(), write(stream, self.masker.clone(), self.file.take(), incoming));
            let task = tokio::spawn(async move {
                if may_have_effects(speculation.as_ref()).await {
                    task.await;
                }
            });
            Writer { lines, task }
        });
        for entry in entries {
            // The writer reads until this sender is dropped, unless the job was not stored.
            let _ = writer.lines.send(entry);
        }
    }
}

/// The reason why there is no log file.
enum Unopened {
    /// The job may not have it.
    Refused(log_file::Error),
    /// It could not be opened, or not in time.
    Unavailable(String),
}

/// Opens the log file of a job, away from the threads that serve connections.
async fn open(store: &Store, directory: &LogDirectory, job: &JobId, path: &str) -> Result<LogFile, Unopened> {
    let identity = store.health().redis_id().await.map_err(|error| Unopened::Unavailable(error.to_string()))?;
    let (directory, job, path) = (directory.clone(), job.clone(), path.to_owned());
    let opening = tokio::task::spawn_blocking(move || {
        let opened = directory.append_for(&identity, &job, &path);
        directory.note(&opened);
        opened
    });
    match tokio::time::timeout(OPEN_TIMEOUT, opening).await {
        Ok(Ok(Ok(file))) => Ok(file),
        Ok(Ok(Err(error))) if error.is_of_path() => Err(Unopened::Refused(error)),
        Ok(Ok(Err(error))) => Err(Unopened::Unavailable(error.to_string())),
        Ok(Err(_)) => Err(Unopened::Unavailable("opening it failed".into())),
        Err(_) => Err(Unopened::Unavailable(format!("the file system has not answered for {OPEN_TIMEOUT:?}"))),
    }
}

async fn write(mut stream: Stream, masker: Masker, file: Option<LogFile>, mut incoming: mpsc::UnboundedReceiver<Entry>) {
    let (mut file, mut entries) = (file, Vec::new());
    while incoming.recv_many(&mut entries, LINES_PER_CALL).await > 0 {
        let (mut records, mut failures) = (Vec::new(), Vec::new());
        for entry in entries.drain(..) {
            match entry {
                Entry::Line(record) => records.push(record),
                Entry::Failure(text) => failures.push((LogLevel::Error, text)),
            }
        }
        let mut lines = masker.lines(records).await;
        if let Some(open) = file.take() {
            match append(open, stream.store.clock().now(), [lines.clone(), failures].concat()).await {
                Ok(open) => file = Some(open),
                Err(why) => lines.push((LogLevel::Warn, format!("the log file cannot be written any more, and ends here: {why}"))),
            }
        }
        if !lines.is_empty() {
            stream.append(lines).await;
        }
    }
}

/// The stream of a job, to which one attempt appends.
struct Stream {
    store: Store,
    job: JobId,
    /// The last entry that is known to be written. Every later entry is of this attempt.
    last: String,
    /// Whether the loss of lines was logged.
    failed: bool,
}

impl Stream {
    /// Appends lines, each once. Repeats while the store is away; the log limit of the job bounds what waits meanwhile.
    async fn append(&mut self, lines: Vec<(LogLevel, String)>) {
        let (retry, has_tried) = (StoreRetry::default(), AtomicBool::new(false));
        let (this, lines) = (&*self, &lines);
        let append = || async {
            // Lines that an earlier call wrote, although its answer was lost, are not written again.
            let tried = has_tried.swap(true, Ordering::Relaxed);
            let (written, last) = if tried { this.store.jobs().appended_to_log(&this.job, &this.last, lines).await? } else { (0, None) };
            Ok(this.store.jobs().append_log(&this.job, &lines[written..]).await?.or(last))
        };
        let appended: Result<Option<String>, store::Error> = retry.run(append).await;
        match appended {
            Ok(Some(last)) => self.last = last,
            Ok(None) => {}
            // A full Redis is logged elsewhere, once for all jobs.
            Err(error) => {
                if !error.out_of_memory() && !std::mem::replace(&mut self.failed, true) {
                    tracing::warn!(job = %self.job, %error, "log lines of a job are lost");
                }
            }
        }
    }
}

/// Returns an entry id before all entries that are written from that time on.
fn before(time: Timestamp) -> String {
    format!("{}-0", time.as_millis().saturating_sub(1).max(0))
}

/// Appends lines to the file, away from the threads that serve connections. Returns the file, or why it cannot be
/// written.
async fn append(mut file: LogFile, now: Timestamp, lines: Vec<(LogLevel, String)>) -> Result<LogFile, String> {
    let written = tokio::task::spawn_blocking(move || {
        for (level, text) in &lines {
            for line in text.lines() {
                file.write_line(&format!("{now} {} {line}", level.as_str())).map_err(|error| error.to_string())?;
            }
        }
        Ok(file)
    });
    written.await.unwrap_or_else(|_| Err("writing it failed".to_owned()))
}
