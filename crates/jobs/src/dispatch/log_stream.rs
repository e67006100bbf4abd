//! Streams of the log of a job.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures_util::Stream;
use futures_util::stream::unfold;
use tokio::sync::OwnedSemaphorePermit;

use super::open_contexts::OpenContext;
use super::views::LogCalls;
use super::{Dispatcher, Error, Followed, error, logs};
use hero_model::{ContextId, JobId, LogLine};

/// Timeout of a follower that waits to read. It is reached only if Redis does not answer.
const TURN_TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum number of lines of a page.
const MAX_PAGE_LINES: usize = 64;
/// Maximum number of bytes of a page, unless its first line has more.
const MAX_PAGE_BYTES: usize = 64 * 1024;
/// Maximum number of bytes of a page when no permit for a full page is free.
const MAX_SHORT_PAGE_BYTES: usize = 4 * 1024;

/// The follower of one log.
struct LogStream {
    dispatcher: Dispatcher,
    context: ContextId,
    /// Keeps the context open while the log is followed.
    open: OpenContext,
    job: JobId,
    cursor: Option<String>,
    /// Items that were read and not taken yet. The next page is read when they are taken.
    items: VecDeque<Followed<LogLine>>,
    ended: bool,
    _page: Option<OwnedSemaphorePermit>,
    _one: Arc<()>,
}

impl LogCalls<'_> {
    /// Returns the log of a job, after `cursor` or from its first line. Ends after the last line of a job that has
    /// ended.
    ///
    /// The log is read only as fast as the stream is consumed.
    pub async fn follow(
        self,
        context: ContextId,
        id: &JobId,
        cursor: Option<&str>,
    ) -> Result<impl Stream<Item = Result<Followed<LogLine>, Error>> + Send + use<>, Error> {
        self.0.jobs().part(context, id, &["status"], MAX_PAGE_BYTES).await?;
        logs::is_of_file(cursor)?;
        let open = self.0.contexts().store(context).await?;
        let stream = LogStream {
            dispatcher: self.0.clone(),
            context,
            job: id.clone(),
            cursor: cursor.map(ToOwned::to_owned),
            items: VecDeque::new(),
            ended: false,
            _page: None,
            _one: Arc::clone(&open.0.followers.all),
            open,
        };
        Ok(unfold(Some(stream), |stream| async move {
            let mut stream = stream?;
            loop {
                if let Some(item) = stream.items.pop_front() {
                    return Some((Ok(item), Some(stream)));
                }
                if stream.ended {
                    return None;
                }
                match stream.read().await {
                    Ok(true) => {}
                    Ok(false) => tokio::time::sleep(stream.open.0.followers.pause()).await,
                    Err(Error::NotFound(_)) => return None,
                    Err(error) => return Some((Err(error), None)),
                }
            }
        }))
    }
}

impl LogStream {
    /// Reads the next page. Returns false if it is empty and the job can still log.
    async fn read(&mut self) -> Result<bool, Error> {
        // Frees the last page before it waits for the next one.
        (self._page, self.items) = (None, VecDeque::new());
        let followers = &self.open.0.followers;
        let busy = || Error::Busy { what: "too many follow logs at once", retry_after: error::RETRY_AFTER };
        let _reader = tokio::time::timeout(TURN_TIMEOUT, followers.readers.acquire()).await.map_err(|_| busy())?.map_err(|_| busy())?;
        let permit = Arc::clone(&followers.pages).try_acquire_owned().ok();
        let bytes = if permit.is_some() { MAX_PAGE_BYTES } else { MAX_SHORT_PAGE_BYTES };
        let (page, lost) = self.dispatcher.logs().log_page(self.context, &self.job, self.cursor.as_deref(), MAX_PAGE_LINES, bytes).await?;
        let size: usize = page.lines.iter().map(|line| line.text.len()).sum();
        let is_empty = page.lines.is_empty();
        let lagged = self.cursor.take().filter(|_| lost).map(|cursor| Followed::Lagged { cursor });
        self.items = lagged.into_iter().chain(page.lines.into_iter().map(Followed::Item)).collect();
        (self.cursor, self.ended) = (page.next_cursor, page.ended);
        self._page = permit.filter(|_| size > MAX_SHORT_PAGE_BYTES);
        Ok(!is_empty || page.ended)
    }
}
