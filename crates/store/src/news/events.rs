use std::sync::Arc;
use std::time::Duration;

use futures_util::Stream;
use futures_util::stream::unfold;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{Mutex, broadcast, oneshot};

use crate::keys::Keys;
use crate::network::connection::RedisConnection;
use crate::network::deadline::in_time;
use crate::value::Fields;
use crate::views::Events;
use crate::{Error, Store};
use hero_model::{ContextId, ErrorKind, JobEvent, JobId, Status, Timestamp};

/// An entry of the stream: its id, and its fields with names that are text. Other programs may have added it.
type Entry = (String, Fields);

/// All changes of all jobs of a context, read over one connection for all followers.
pub struct Changes {
    link: Arc<RedisConnection>,
    key: String,
    context: ContextId,
    /// The channel of the running reader.
    live: Mutex<Option<broadcast::Sender<Arc<JobEvent>>>>,
}

/// An item that a follower receives.
#[derive(Debug, Clone, PartialEq)]
pub enum Moment {
    /// A change.
    Change(Arc<JobEvent>),
    /// The changes after the requested cursor are gone; the following ones begin after this cursor.
    Lagged(String),
}

/// The most changes that wait in memory for a slow follower. A slower one reads Redis again.
const MAX_WAITING_CHANGES: usize = 4096;
/// The number of changes read from Redis at a time.
const CHANGES_PER_READ: usize = 500;

impl Changes {
    pub(crate) fn new(link: Arc<RedisConnection>, keys: &Keys) -> Self {
        Self { link, key: keys.events(), context: keys.context(), live: Mutex::default() }
    }

    /// Returns the changes from now on, from a reader that runs as long as it has listeners.
    async fn listen(&self) -> Result<broadcast::Receiver<Arc<JobEvent>>, Error> {
        // The lock is held until a new reader has its position in the stream: the followers' own reads must not end before that position.
        let mut live = self.live.lock().await;
        if let Some(sender) = &*live {
            let receiver = sender.subscribe();
            // A reader without other listeners may be about to stop.
            if sender.receiver_count() > 1 {
                return Ok(receiver);
            }
        }
        let (started, begun) = oneshot::channel();
        let (sender, receiver) = broadcast::channel(MAX_WAITING_CHANGES);
        tokio::spawn(read(self.link.clone(), self.key.clone(), self.context, sender.clone(), started));
        in_time(async { begun.await.unwrap_or(Err(Error::Closed)) }).await?;
        *live = Some(sender);
        Ok(receiver)
    }
}

/// Reads the stream from its end and passes it on as long as there are listeners.
async fn read(
    link: Arc<RedisConnection>,
    key: String,
    context: ContextId,
    sender: broadcast::Sender<Arc<JobEvent>>,
    started: oneshot::Sender<Result<(), Error>>,
) {
    let mut started = Some(started);
    let mut last: Option<String> = None;
    while sender.receiver_count() > 0 {
        let served = serve(&link, &key, context, &sender, &mut last, &mut started).await;
        if let Err(error) = served {
            if let Some(started) = started.take() {
                // The follower that started this reader gets the error.
                let _ = started.send(Err(error));
                return;
            }
            tracing::debug!(%error, "reading the event stream again");
            link.doubt();
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}

async fn serve(
    link: &RedisConnection,
    key: &str,
    context: ContextId,
    sender: &broadcast::Sender<Arc<JobEvent>>,
    last: &mut Option<String>,
    started: &mut Option<oneshot::Sender<Result<(), Error>>>,
) -> Result<(), Error> {
    let mut connection = link.blocking().await?;
    let mut at = match last.take() {
        Some(last) => last,
        None => {
            let mut newest = redis::cmd("XREVRANGE");
            newest.arg(key).arg("+").arg("-").arg("COUNT").arg(1);
            let reading = async { newest.query_async(&mut connection).await.map_err(|error| Error::of_key(error, key)) };
            let newest: Vec<Entry> = in_time(reading).await?;
            newest.first().map_or_else(|| "0-0".to_owned(), |(id, _)| id.clone())
        }
    };
    if let Some(started) = started.take() {
        // The follower that asked may have gone.
        let _ = started.send(Ok(()));
    }
    while sender.receiver_count() > 0 {
        let mut xread = redis::cmd("XREAD");
        xread.arg("BLOCK").arg(1000).arg("COUNT").arg(CHANGES_PER_READ).arg("STREAMS").arg(key).arg(&at);
        let reading = xread.query_async::<Option<Vec<(Vec<u8>, Vec<Entry>)>>>(&mut connection);
        let reply = tokio::time::timeout(Duration::from_secs(5), reading).await;
        *last = Some(at.clone());
        let reply = reply.map_err(|_| Error::Deadline(Duration::from_secs(5)))??;
        for entry in reply.into_iter().flatten().flat_map(|(_, entries)| entries) {
            at.clone_from(&entry.0);
            for event in events(&entry, context) {
                // All listeners may have gone.
                let _ = sender.send(Arc::new(event));
            }
        }
        *last = Some(at.clone());
    }
    Ok(())
}

/// Returns the changes in an entry of the stream, in order; none if a foreign program wrote it.
///
/// A job that started as it was stored has one entry for two changes: it was dispatched, and its first attempt started. One that was stored
/// after its script returned has one for three: it finished as well. Jobs that were created together share an entry. The cursor of each change but the last counts the changes of the entry up to and including it.
fn events(entry: &Entry, context: ContextId) -> Vec<JobEvent> {
    let together = text_of(entry, "jobs");
    let jobs: Vec<JobId> = match together {
        Some(jobs) => jobs.split_whitespace().filter_map(|id| id.parse().ok()).collect(),
        None => text_of(entry, "job").and_then(|id| id.parse().ok()).into_iter().collect(),
    };
    let mut events: Vec<JobEvent> = jobs.into_iter().filter_map(|job| event(entry, job, context)).collect();
    if together.is_none() && entry.1.contains_key("dispatched") {
        let before = |status, attempt| events.first().map(|event| JobEvent { status, attempt, ..event.clone() });
        let dispatched = before(Status::Dispatched, 0);
        let started = if entry.1.contains_key("started") { before(Status::Started, 1) } else { None };
        events.splice(0..0, dispatched.into_iter().chain(started));
    }
    let last = events.len().saturating_sub(1);
    for (at, event) in events.iter_mut().enumerate().take(last) {
        event.cursor = format!("{}{PART}{}", entry.0, at + 1);
    }
    events
}

/// Separates, in a cursor, the id of the entry from the number of its changes that were given, if more of them follow.
const PART: char = ':';
/// The most changes of an entry before its last.
const MOST_PARTS: u16 = 999;

/// Splits a cursor into the id of its entry and the number of its changes that were given; nothing if all were.
fn split(cursor: &str) -> (&str, Option<u16>) {
    match cursor.split_once(PART) {
        Some((entry, part)) => (entry, part.parse().ok()),
        None => (cursor, None),
    }
}

/// The id of the entry in a cursor.
fn entry_of(cursor: &str) -> &str {
    split(cursor).0
}

/// Returns a field of an entry, if it is text.
fn text_of<'e>((_, fields): &'e Entry, name: &str) -> Option<&'e str> {
    fields.get(name).and_then(|text| text.0.as_deref())
}

fn event(entry: &Entry, job_id: JobId, context: ContextId) -> Option<JobEvent> {
    let id = &entry.0;
    let millis = id.split_once('-')?.0.parse().ok()?;
    let text = |name: &str| text_of(entry, name);
    Some(JobEvent {
        cursor: id.clone(),
        time: Timestamp::from_millis(millis),
        job_id,
        context_id: context,
        status: text("status")?.parse::<Status>().ok()?,
        attempt: text("attempt").and_then(|attempt| attempt.parse().ok()).unwrap_or(0),
        kind: text("kind").map(|kind| ErrorKind::parse(Some(kind), "")),
        progress: text("progress").and_then(|text| serde_json::from_str(text).ok()),
    })
}

/// Whether a cursor comes after another.
fn is_after(cursor: &str, other: &str) -> bool {
    let parts = |cursor: &str| -> Option<(u64, u64, u16)> {
        let (entry, part) = split(cursor);
        let (millis, number) = entry.split_once('-')?;
        Some((millis.parse().ok()?, number.parse().ok()?, part.unwrap_or(u16::MAX)))
    };
    parts(cursor) > parts(other)
}

/// Whether a text is a cursor: the id of an entry as Redis writes it, and optionally a number of its changes.
pub fn is_cursor(text: &str) -> bool {
    let (entry, part) = match text.split_once(PART) {
        Some((entry, part)) => (entry, Some(part)),
        None => (text, None),
    };
    let is_part = |part: &str| part.parse::<u16>().is_ok_and(|number| (1..=MOST_PARTS).contains(&number) && part == number.to_string());
    if !part.is_none_or(is_part) {
        return false;
    }
    let text = entry;
    let number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse::<u64>().ok()).flatten();
    let parts = text.split_once('-').and_then(|(millis, count)| Some((number(millis)?, number(count)?)));
    // Redis refuses to read after the largest possible id.
    parts.is_some_and(|parts| parts != (u64::MAX, u64::MAX))
}

struct Follower {
    store: Store,
    /// Nothing if only past changes are wanted.
    live: Option<broadcast::Receiver<Arc<JobEvent>>>,
    /// The last change that was returned.
    last: String,
    /// Items that were read from Redis and not returned yet, the newest first.
    page: Vec<Moment>,
    /// Whether Redis may hold more changes that were not read.
    behind: bool,
}

impl<'a> Events<'a> {
    /// The changes of all jobs.
    pub fn changes(self) -> &'a Changes {
        &self.0.changes
    }

    /// Returns every change after `cursor`, or from now on, without end; nothing if the text is no cursor.
    pub async fn follow(self, cursor: Option<&str>) -> Result<Option<impl Stream<Item = Result<Moment, Error>> + Send + use<>>, Error> {
        if cursor.is_some_and(|cursor| !is_cursor(cursor)) {
            return Ok(None);
        }
        let live = self.0.changes.listen().await?;
        let last = match cursor {
            Some(cursor) => cursor.to_owned(),
            None => self.last_change().await?,
        };
        let mut follower = Follower { store: Store(Arc::clone(self.0)), live: Some(live), last, page: Vec::new(), behind: true };
        if cursor.is_some() {
            follower.check_for_a_gap().await?;
        }
        Ok(Some(follower.moments()))
    }

    /// Returns every change after `cursor` up to now; nothing if the text is no cursor.
    pub async fn replay(self, cursor: &str) -> Result<Option<impl Stream<Item = Result<Moment, Error>> + Send + use<>>, Error> {
        if !is_cursor(cursor) {
            return Ok(None);
        }
        let mut follower =
            Follower { store: Store(Arc::clone(self.0)), live: None, last: cursor.to_owned(), page: Vec::new(), behind: true };
        follower.check_for_a_gap().await?;
        Ok(Some(follower.moments()))
    }

    /// The cursor of the newest change.
    pub async fn last_change(self) -> Result<String, Error> {
        let mut newest = redis::cmd("XREVRANGE");
        newest.arg(self.0.keys.events()).arg("+").arg("-").arg("COUNT").arg(1);
        let newest: Vec<Entry> = self.0.commands.call(&newest).await?;
        Ok(newest.first().map_or_else(|| "0-0".to_owned(), |(id, _)| id.clone()))
    }

    async fn range(self, from: &str, count: usize) -> Result<Vec<Entry>, Error> {
        let mut range = redis::cmd("XRANGE");
        range.arg(self.0.keys.events()).arg(from).arg("+").arg("COUNT").arg(count);
        self.0.commands.call(&range).await
    }
}

impl Follower {
    /// Checks for trimmed changes. The change at a known cursor is in the stream unless it was trimmed, and then others may be gone, too.
    async fn check_for_a_gap(&mut self) -> Result<(), Error> {
        if self.last == "0-0" {
            return Ok(());
        }
        let last = entry_of(&self.last);
        let there = self.store.events().range(last, 1).await?.first().is_some_and(|(id, _)| id == last);
        let Some((first, _)) = self.store.events().range("-", 1).await?.into_iter().next() else { return Ok(()) };
        if !there && is_after(&first, entry_of(&self.last)) {
            // The first remaining entry must be returned, so the new position is just before it.
            self.last = before(&first);
            self.page.push(Moment::Lagged(self.last.clone()));
        }
        Ok(())
    }

    fn moments(self) -> impl Stream<Item = Result<Moment, Error>> + Send + use<> {
        unfold(self, |mut follower| async move { Some((follower.next().await.transpose()?, follower)) })
    }

    /// Returns the next item; nothing if there is none yet and later ones are not wanted.
    async fn next(&mut self) -> Result<Option<Moment>, Error> {
        loop {
            if let Some(moment) = self.page.pop() {
                if let Moment::Change(event) = &moment {
                    self.last.clone_from(&event.cursor);
                }
                return Ok(Some(moment));
            }
            if self.behind {
                let from = self.last.clone();
                // The rest of an entry that was returned in part comes first.
                let start = if from.contains(PART) { entry_of(&from).to_owned() } else { format!("({from}") };
                let entries = self.store.events().range(&start, CHANGES_PER_READ).await?;
                self.behind = entries.len() == CHANGES_PER_READ;
                if let Some((id, _)) = entries.last() {
                    // Entries of other programs are skipped.
                    self.last.clone_from(id);
                }
                let changes = entries.iter().flat_map(|entry| events(entry, self.store.context()));
                // The first changes of an entry may have been returned before.
                let new: Vec<Moment> =
                    changes.filter(|event| is_after(&event.cursor, &from)).map(|event| Moment::Change(Arc::new(event))).collect();
                self.page.extend(new.into_iter().rev());
                continue;
            }
            let Some(live) = &mut self.live else { return Ok(None) };
            match live.recv().await {
                Ok(event) if is_after(&event.cursor, &self.last) => self.page.push(Moment::Change(event)),
                Ok(_) => {}
                Err(RecvError::Lagged(_)) => {
                    self.behind = true;
                    self.check_for_a_gap().await?;
                }
                Err(RecvError::Closed) => {
                    self.live = Some(self.store.events().changes().listen().await?);
                    self.behind = true;
                }
            }
        }
    }
}

/// Returns the largest stream id before another.
fn before(id: &str) -> String {
    let (millis, number) = id.split_once('-').unwrap_or((id, "0"));
    match (millis.parse::<u64>().unwrap_or(0), number.parse::<u64>().unwrap_or(0)) {
        (millis, 0) => format!("{}-{}", millis.saturating_sub(1), u64::MAX),
        (millis, number) => format!("{millis}-{}", number - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stream_ids_are_compared_as_numbers() {
        assert!(is_after("9-5", "9-5:1") && is_after("9-5:1", "9-4") && !is_after("9-5:1", "9-5"));
        assert!(is_cursor("1763700000000-0:1") && is_cursor("1763700000000-0:99"));
        assert!(is_after("9-5:10", "9-5:9") && is_after("9-5", "9-5:99"));
        assert!(["9-5:0", "9-5:01", "9-5:+1", "9-5:1000", "9-5:", "9-5:1:1"].iter().all(|text| !is_cursor(text)));
        assert!(is_after("10-0", "9-5") && is_after("9-10", "9-9") && !is_after("9-9", "9-9"));
        assert_eq!(before("9-9"), "9-8");
        assert_eq!(before("9-0"), format!("8-{}", u64::MAX));
        assert!(is_cursor("1763700000000-0") && !is_cursor("$") && !is_cursor("-") && !is_cursor("1") && !is_cursor("+1-0"));
    }
}
