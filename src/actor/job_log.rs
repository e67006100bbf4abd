use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::mask::{Mask, Masker};
use super::patience::Patience;
use super::secrets::Secrets;
use crate::engine::LogRecord;
use crate::log_file::{self, LogDirectory, LogFile};
use crate::model::{JobError, JobId, LogLevel, Timestamp};
use crate::store::{self, Store};

/// How many lines go to Redis at once.
const BATCH: usize = 128;
/// How long the end of a job waits for its log. While the store is away, the end cannot be written either.
const FLUSH: Duration = Duration::from_secs(30);
/// How long a job waits for its log file.
const OPEN: Duration = Duration::from_secs(5);

/// Takes the log lines of one attempt of a job. They go to the job's stream in Redis and to its log file.
pub(super) struct JobLog {
    store: Store,
    job: JobId,
    /// When the attempt began, by the clock of Redis.
    began: Timestamp,
    masker: Masker,
    file: Option<LogFile>,
    writer: Option<Writer>,
}

struct Writer {
    lines: mpsc::UnboundedSender<LogRecord>,
    task: JoinHandle<()>,
}

impl JobLog {
    /// A log for one attempt. Opens the log file, if the job names one. Fails only if the job may not have the file that it names.
    pub(super) async fn new(
        store: &Store,
        (job, began): (&JobId, Timestamp),
        mask: &Mask,
        secrets: impl Iterator<Item = String>,
        file: Option<(&LogDirectory, &str)>,
    ) -> Result<Self, log_file::Error> {
        let masker = Masker { mask: mask.clone(), secrets: Secrets::new(secrets) };
        let mut log = Self { store: store.clone(), job: job.clone(), began, masker, file: None, writer: None };
        if let Some((directory, path)) = file {
            match open(store, directory, job, path).await {
                Ok(file) => log.file = Some(file),
                Err(Unopened::Refused(error)) => return Err(error),
                // It is better to run the script without its log file than not to run it.
                Err(Unopened::Unavailable(why)) => {
                    tracing::warn!(%job, %why, "the log file of a job is not available, so nothing is written there");
                    log.log(vec![LogRecord { level: LogLevel::Warn, text: format!("the log file is not available: {why}") }]);
                }
            }
        }
        Ok(log)
    }

    /// An error of the script with its secrets masked, because others store and show it.
    pub(super) async fn masked(&self, error: JobError) -> JobError {
        self.masker.error(error).await
    }

    /// What masks other texts of the script.
    pub(super) fn masker(&self) -> Masker {
        self.masker.clone()
    }

    /// Waits until every line is written. Gives whether there were any.
    pub(super) async fn finish(self) -> bool {
        let Some(Writer { lines, mut task }) = self.writer else { return false };
        drop(lines);
        if tokio::time::timeout(FLUSH, &mut task).await.is_err() {
            task.abort();
            tracing::warn!(job = %self.job, "the log of a job could not be written in time, its last lines are missing");
        }
        true
    }

    /// Takes what the script logged, in order. Does not block.
    pub(super) fn log(&mut self, records: Vec<LogRecord>) {
        let writer = self.writer.get_or_insert_with(|| {
            // The log limit of the engine bounds how much can wait here.
            let (lines, incoming) = mpsc::unbounded_channel();
            let stream = Stream { store: self.store.clone(), job: self.job.clone(), last: before(self.began), failed: false };
            let task = write(stream, self.masker.clone(), self.file.take(), incoming);
            Writer { lines, task: tokio::spawn(task) }
        });
        for record in records {
            // The writer reads until this sender is dropped, so this cannot fail.
            let _ = writer.lines.send(record);
        }
    }
}

/// Why there is no log file.
enum Unopened {
    /// The job cannot have it.
    Refused(log_file::Error),
    /// It could not be opened, or not in time.
    Unavailable(String),
}

/// Opens the log file of a job, away from the threads that serve connections.
async fn open(store: &Store, directory: &LogDirectory, job: &JobId, path: &str) -> Result<LogFile, Unopened> {
    let identity = store.redis_id().await.map_err(|error| Unopened::Unavailable(error.to_string()))?;
    let (directory, job, path) = (directory.clone(), job.clone(), path.to_owned());
    let opening = tokio::task::spawn_blocking(move || directory.append_for(&identity, &job, &path));
    match tokio::time::timeout(OPEN, opening).await {
        Ok(Ok(Ok(file))) => Ok(file),
        Ok(Ok(Err(error @ log_file::Error::Busy { .. }))) => Err(Unopened::Unavailable(error.to_string())),
        Ok(Ok(Err(error))) => Err(Unopened::Refused(error)),
        Ok(Err(_)) => Err(Unopened::Unavailable("opening it failed".into())),
        Err(_) => Err(Unopened::Unavailable(format!("the file system has not answered for {OPEN:?}"))),
    }
}

async fn write(mut stream: Stream, masker: Masker, file: Option<LogFile>, mut incoming: mpsc::UnboundedReceiver<LogRecord>) {
    let (mut file, mut records) = (file, Vec::new());
    while incoming.recv_many(&mut records, BATCH).await > 0 {
        let lines = masker.lines(std::mem::take(&mut records)).await;
        if let Some(open) = file.take() {
            file = append(open, &stream.job, stream.store.clock().now(), lines.clone()).await;
        }
        stream.append(lines).await;
    }
}

/// The stream of a job, to which one attempt appends.
struct Stream {
    store: Store,
    job: JobId,
    /// The entry behind which everything is of this attempt and not known to be written.
    last: String,
    /// Whether it was said that lines are lost.
    failed: bool,
}

impl Stream {
    /// Appends lines, each once. While the store is away it goes on trying: whoever logs has no place for more than the log may have.
    async fn append(&mut self, lines: Vec<(LogLevel, String)>) {
        let (patience, has_tried) = (Patience::default(), AtomicBool::new(false));
        let (this, lines) = (&*self, &lines);
        let append = || async {
            // What an earlier call has written of which no answer came is not written again.
            let tried = has_tried.swap(true, Ordering::Relaxed);
            let (written, last) = if tried { this.store.appended_to_log(&this.job, &this.last, lines).await? } else { (0, None) };
            Ok(this.store.append_log(&this.job, &lines[written..]).await?.or(last))
        };
        let appended: Result<Option<String>, store::Error> = patience.ask(append).await;
        match appended {
            Ok(Some(last)) => self.last = last,
            Ok(None) => {}
            // That Redis is full is logged elsewhere, once for all jobs.
            Err(error) => {
                if !error.out_of_memory() && !std::mem::replace(&mut self.failed, true) {
                    tracing::warn!(job = %self.job, %error, "log lines of a job are lost");
                }
            }
        }
    }
}

/// An entry before all that are written from then on.
fn before(time: Timestamp) -> String {
    format!("{}-0", time.as_millis().saturating_sub(1).max(0))
}

/// Appends lines to the file, away from the threads that serve connections. Gives the file back unless it failed.
async fn append(mut file: LogFile, job: &JobId, now: Timestamp, lines: Vec<(LogLevel, String)>) -> Option<LogFile> {
    let written = tokio::task::spawn_blocking(move || {
        for (level, text) in &lines {
            for line in text.lines() {
                file.write_line(&format!("{now} {} {line}", level.as_str()))?;
            }
        }
        Ok::<_, crate::log_file::Error>(file)
    });
    match written.await {
        Ok(Ok(file)) => Some(file),
        Ok(Err(error)) => {
            tracing::warn!(%job, %error, "the log file of a job cannot be written");
            None
        }
        Err(_) => None,
    }
}
