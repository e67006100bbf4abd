use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Dispatcher, Error};
use crate::log_file;
use crate::model::{ContextId, JobId, LogLine, Status};
use crate::store::is_cursor;

/// Lines that a job logged, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LogPage {
    /// The lines.
    pub lines: Vec<LogLine>,
    /// Where to go on reading, now or later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub next_cursor: Option<String>,
    /// Whether the job has ended and nothing follows.
    pub ended: bool,
}

/// No path of a log file is longer.
const LONGEST: usize = 4096;

impl Dispatcher {
    /// Removes the log file of a job that is gone, if no other has it.
    pub(super) async fn release_log(&self, context: ContextId, id: &JobId, path: String) {
        let (directory, job) = (self.0.settings.log_directory.of(context), id.clone());
        let Ok(store) = self.store(context) else { return };
        // Without it no file was written, or the sweeper comes by.
        let Ok(Some(identity)) = store.known_identity().await else { return };
        if let Ok(Err(error)) = tokio::task::spawn_blocking(move || directory.release(&identity, &job, &path)).await {
            tracing::warn!(job = %id, %error, "the log file of a deleted job is still there; the sweeper tries again");
        }
    }

    /// Lines that a job logged behind `cursor`, at most `limit`.
    ///
    /// Read from the stream that every actor writes; for a foreign worker that only wrote the file at `log_path`, from there.
    pub async fn logs(&self, context: ContextId, id: &JobId, cursor: Option<&str>, limit: usize) -> Result<LogPage, Error> {
        self.log_page(context, id, cursor, limit).await.map(|(page, _)| page)
    }

    /// A page of the log, and whether lines between it and `cursor` are gone.
    pub(super) async fn log_page(
        &self,
        context: ContextId,
        id: &JobId,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<(LogPage, bool), Error> {
        // The job first: lines that come after it ended are not missed that way.
        let job = self.part(context, id, &["status", "actor", "log_path"], LONGEST).await?;
        let of_file = match cursor {
            None => false,
            Some(cursor) if is_cursor(cursor) => false,
            Some(cursor) if cursor.strip_prefix("file-").is_some_and(|offset| offset.parse::<u64>().is_ok()) => true,
            Some(_) => return Err(Error::bad_cursor("use the cursor of a line, or next_cursor")),
        };
        let (mut lines, mut lost) = (Vec::new(), false);
        if !of_file {
            let store = self.store(context)?;
            (lines, lost) = store.read_log(id, cursor, limit).await.map_err(|error| Error::store(error, Some(id)))?;
        }
        // What our actors log is in the stream; the file is read for a job that a foreign worker ran.
        let foreign = job.actor.is_none() && (job.status == Status::Started || job.status.is_final());
        if foreign
            && lines.is_empty()
            && (of_file || cursor.is_none())
            && let Some(path) = &job.log_path
        {
            let offset = cursor.and_then(|cursor| cursor.strip_prefix("file-")?.parse().ok()).unwrap_or(0);
            let (directory, path) = (self.0.settings.log_directory.of(context), path.clone());
            let read = tokio::task::spawn_blocking(move || directory.read(&path, offset, limit)).await;
            match read.unwrap_or_else(|panic| Err(std::io::Error::other(panic).into())) {
                Ok(found) => {
                    let line =
                        |(end, text)| LogLine { cursor: format!("file-{end}"), time: None, level: crate::model::LogLevel::Info, text };
                    lines = found.into_iter().map(line).collect();
                }
                Err(log_file::Error::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => {} // Nothing was logged yet.
                Err(error) => tracing::info!(job = %id, %error, "log file cannot be read"),
            }
        }
        let ended = job.status.is_final() && lines.len() < limit;
        let next_cursor = lines.last().map(|line| line.cursor.clone()).or_else(|| cursor.map(ToOwned::to_owned));
        Ok((LogPage { lines, next_cursor, ended }, lost))
    }
}
