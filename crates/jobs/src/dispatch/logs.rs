use super::Error;
use super::views::LogCalls;
use crate::log_file;
use hero_model::{ContextId, JobId, LogLine, LogPage, Status};
use hero_store::{LogLines, is_cursor};

/// Maximum length of the path of a log file.
const MAX_PATH_BYTES: usize = 4096;
/// Maximum number of bytes of a page of a log, unless its first line is longer.
const LARGEST_PAGE: usize = 1024 * 1024;

impl LogCalls<'_> {
    /// Removes the log file of a job that is gone, if no other job owns it.
    pub(super) async fn remove_log_file(self, context: ContextId, id: &JobId, path: String) {
        let (directory, job) = (self.0.0.settings.log_directory.of(context), id.clone());
        let Ok(store) = self.0.contexts().store(context).await else { return };
        // Without an identity no file was written; what could not be removed the sweeper removes.
        let Ok(Some(identity)) = store.health().known_redis_id().await else { return };
        if let Ok(Err(error)) = tokio::task::spawn_blocking(move || directory.forget(&identity, &job, &path)).await {
            tracing::warn!(job = %id, %error, "the log file of a deleted job is still there; the sweeper tries again");
        }
    }

    /// Returns the lines of a job's log after `cursor`, at most `limit`. There may be fewer, because a page has at most
    /// about a megabyte.
    ///
    /// They come from the stream that every actor writes. For a foreign actor that only wrote the file at `log_path`,
    /// they come from there.
    pub async fn page(self, context: ContextId, id: &JobId, cursor: Option<&str>, limit: usize) -> Result<LogPage, Error> {
        self.page_within(context, id, cursor, limit, LARGEST_PAGE).await
    }

    /// Like [`Self::page`], but with a limit on the bytes, which is at most about a megabyte.
    pub async fn page_within(
        self,
        context: ContextId,
        id: &JobId,
        cursor: Option<&str>,
        limit: usize,
        bytes: usize,
    ) -> Result<LogPage, Error> {
        self.log_page(context, id, cursor, limit, bytes.min(LARGEST_PAGE)).await.map(|(page, _)| page)
    }

    /// Returns a page of the log, and whether lines between it and `cursor` are lost.
    pub(super) async fn log_page(
        self,
        context: ContextId,
        id: &JobId,
        cursor: Option<&str>,
        limit: usize,
        bytes: usize,
    ) -> Result<(LogPage, bool), Error> {
        // The job is read first, so that lines written before its end are not missed.
        let job = self.0.jobs().part(context, id, &["status", "actor", "log_path"], MAX_PATH_BYTES).await?;
        let of_file = is_of_file(cursor)?;
        let LogLines { mut lines, mut lost, mut full } = LogLines::default();
        if !of_file {
            let store = self.0.contexts().store(context).await?;
            LogLines { lines, lost, full } = store.jobs().read_lines(id, cursor, limit, bytes).await.map_err(Error::of_job(id))?;
        }
        // Hero's actors write to the stream; the file is read only for a job that a foreign actor ran.
        let foreign = job.actor.is_none() && (job.status == Status::Started || job.status.is_final());
        if foreign
            && lines.is_empty()
            && (of_file || cursor.is_none())
            && let Some(path) = &job.log_path
        {
            let offset = cursor.and_then(|cursor| cursor.strip_prefix("file-")?.parse().ok()).unwrap_or(0);
            let (directory, path) = (self.0.0.settings.log_directory.of(context), path.clone());
            let read = tokio::task::spawn_blocking(move || directory.read(&path, offset, limit, bytes)).await;
            match read.unwrap_or_else(|panic| Err(std::io::Error::other(panic).into())) {
                Ok(found) => {
                    let line = |(end, text)| LogLine { cursor: format!("file-{end}"), time: None, level: hero_model::LogLevel::Info, text };
                    (lines, full) = (found.0.into_iter().map(line).collect(), found.1);
                }
                Err(log_file::Error::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => {} // Nothing was logged yet.
                Err(error) => tracing::info!(job = %id, %error, "log file cannot be read"),
            }
        }
        let ended = job.status.is_final() && !full;
        let next_cursor = lines.last().map(|line| line.cursor.clone()).or_else(|| cursor.map(ToOwned::to_owned));
        Ok((LogPage { lines, next_cursor, ended }, lost))
    }
}

/// True if a cursor is a position in a file. Refuses a text that is not a cursor.
pub(super) fn is_of_file(cursor: Option<&str>) -> Result<bool, Error> {
    match cursor {
        None => Ok(false),
        Some(cursor) if is_cursor(cursor) => Ok(false),
        Some(cursor) if cursor.strip_prefix("file-").is_some_and(|offset| offset.parse::<u64>().is_ok()) => Ok(true),
        Some(_) => Err(Error::bad_cursor("use the cursor of a line, or next_cursor")),
    }
}
