use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use jsonrpsee::core::client::{Subscription, SubscriptionCloseReason};
use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::calls::{self, SubscribeEvents, SubscribeFlow, SubscribeJob, SubscribeLogs};
use super::connection::Client;
use super::error::Error;
use super::item::{AnyItem, Followable};
use super::wire::Wire;
use hero_model::api::SubscriptionItem;
use hero_model::{ContextId, FlowEvent, FlowId, JobEvent, JobFilter, JobId, LogLine};

/// Parameters by name, as they are sent.
type Params = BTreeMap<String, Box<RawValue>>;

const CURSOR: &str = "cursor";

/// Maximum number of times in a row that a subscription is opened again after the server ended it without a reason and
/// without an item.
const MOST_REOPENED: u32 = 5;
/// Maximum number of attempts in a row to open a subscription again while Redis does not answer the server, or the
/// server has too many calls.
const MOST_REFUSED: u32 = 10;
/// The longest pause between two of these attempts that a server may ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Maximum number of items that wait for their reader, and of their bytes. Beyond it the subscription is closed, and
/// opened again after the last item when the items are read.
const MAX_ITEMS_AND_BYTES: (usize, usize) = (8192, 16 << 20);

/// The next value of a subscription.
#[derive(Debug, Clone, PartialEq)]
pub enum Followed<T> {
    /// The next item.
    Item(T),
    /// Items are missing here, because the server no longer has them.
    Lagged,
    /// No more items will come.
    Ended,
}

impl<T> Followed<T> {
    /// Returns the item, if this is one.
    pub fn item(self) -> Option<T> {
        match self {
            Self::Item(item) => Some(item),
            Self::Lagged | Self::Ended => None,
        }
    }
}

/// A subscription that is opened again automatically after a gap, so that its reader misses no item and gets none
/// twice.
pub struct Follow<T> {
    client: Client,
    topic: String,
    /// All parameters except the cursor.
    params: Params,
    cursor: Option<String>,
    /// The cursor of the last gap that was reported.
    told: Option<String>,
    source: Option<Source>,
    /// Whether it was opened again since the last item, and the number of failed attempts.
    reopened: bool,
    failures: u32,
    /// How long the server wants to be left alone before the next attempt.
    pause: Duration,
    /// Whether the server has reported the end.
    is_over: bool,
    items: PhantomData<fn() -> T>,
}

/// An open subscription.
struct Source {
    wire: Arc<Wire>,
    items: mpsc::Receiver<Box<RawValue>>,
    /// The number of bytes that wait in `items`.
    held: Arc<AtomicUsize>,
    filling: JoinHandle<Filled>,
}

/// The reason why a buffer gets no more items.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Filled {
    /// The buffer is full, or nobody reads it.
    Full,
    /// The server or the connection ended the subscription.
    Cut,
}

impl Source {
    fn of((mut from, wire): (Subscription<Box<RawValue>>, Arc<Wire>)) -> Self {
        let (sender, items) = mpsc::channel(MAX_ITEMS_AND_BYTES.0);
        let held = Arc::<AtomicUsize>::default();
        let counted = Arc::clone(&held);
        let filling = tokio::spawn(async move {
            loop {
                let item = tokio::select! {
                    () = sender.closed() => return Filled::Full,
                    item = from.next() => item,
                };
                let Some(Ok(item)) = item else {
                    let is_lagging = matches!(from.close_reason(), Some(SubscriptionCloseReason::Lagged));
                    return if is_lagging { Filled::Full } else { Filled::Cut };
                };
                let size = item.get().len();
                let waiting = counted.fetch_add(size, Ordering::Relaxed);
                // A single item always has room, however long it is.
                if waiting > 0 && waiting + size > MAX_ITEMS_AND_BYTES.1 || sender.try_send(item).is_err() {
                    return Filled::Full;
                }
            }
        });
        Self { wire, items, held, filling }
    }

    async fn next(&mut self) -> Option<Box<RawValue>> {
        let item = self.items.recv().await?;
        self.held.fetch_sub(item.get().len(), Ordering::Relaxed);
        Some(item)
    }
}

impl<T: Followable> Follow<T> {
    async fn open(client: &Client, topic: &str, params: Params, cursor: Option<&str>) -> Result<Self, Error> {
        let (client, topic, cursor) = (client.clone(), topic.to_owned(), cursor.map(str::to_owned));
        let (reopened, failures, pause, is_over) = Default::default();
        let mut this =
            Self { client, topic, params, cursor, told: None, source: None, reopened, failures, pause, is_over, items: PhantomData };
        this.source = Some(this.subscribe().await?);
        Ok(this)
    }

    /// Opens the subscription after the last item that was read.
    async fn subscribe(&self) -> Result<Source, Error> {
        let mut params = self.params.clone();
        params.extend(self.cursor.as_ref().map(|cursor| (CURSOR.to_owned(), to_raw_value(cursor).expect("a text can be written"))));
        self.client.subscribe(&self.topic, params).await.map(Source::of)
    }

    /// Returns the next value. After an error, call it again to continue.
    ///
    /// A server may also send nothing more after the last item, so a follower of a job has to check for its end
    /// elsewhere, too. If the future is dropped, no item is lost.
    pub async fn next(&mut self) -> Result<Followed<T>, Error> {
        while !self.is_over {
            let Some(source) = &mut self.source else {
                if self.reopen().await? {
                    return Ok(Followed::Lagged);
                }
                continue;
            };
            let Some(item) = source.next().await else {
                let filled = (&mut source.filling).await;
                let (wire, is_cut) = (Arc::clone(&source.wire), !matches!(filled, Ok(Filled::Full)));
                self.source = None;
                if is_cut {
                    self.cut(&wire).await?;
                }
                continue;
            };
            match serde_json::from_str::<T::Notice>(item.get()).map(Into::<SubscriptionItem<T>>::into) {
                Ok(SubscriptionItem::Item(item)) => {
                    (self.reopened, self.failures) = (false, 0);
                    if let Some(cursor) = item.cursor() {
                        self.cursor = Some(cursor.to_owned());
                    }
                    return Ok(Followed::Item(item));
                }
                Ok(SubscriptionItem::Began(cursor)) => self.cursor = Some(cursor),
                Ok(SubscriptionItem::Lagged(cursor)) => {
                    if self.has_lost(cursor) {
                        return Ok(Followed::Lagged);
                    }
                }
                Ok(SubscriptionItem::Ended) => self.is_over = true,
                Err(source) => return Err(Error::shape(&format!("subscribe_{}", self.topic), source)),
            }
        }
        Ok(Followed::Ended)
    }

    /// Opens the subscription again, after the last item that was read. Returns true if items may have been missed
    /// meanwhile.
    async fn reopen(&mut self) -> Result<bool, Error> {
        if self.failures > 0 {
            tokio::time::sleep(self.client.link.way.reconnect.delay(self.failures).max(self.pause)).await;
        }
        match self.subscribe().await {
            Ok(opened) => {
                (self.source, self.reopened, self.pause) = (Some(opened), true, Duration::ZERO);
                // A subscription to one job or flow begins with its current state.
                Ok(self.cursor.is_none() && !["job_id", "flow_id"].iter().any(|one| self.params.contains_key(*one)))
            }
            // Redis may come back later than the server, and many may subscribe again when it is back.
            Err(error) if self.failures < MOST_REFUSED && error.rpc().is_some() && (error.may_pass() || error.retry_after().is_some()) => {
                self.pause = error.retry_after().unwrap_or_default().min(LONGEST_PAUSE);
                self.failures += 1;
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Handles a subscription that ended without a reason. The server gives a reason when the subscription is opened
    /// again, so that is tried while it may help.
    async fn cut(&mut self, wire: &Wire) -> Result<(), Error> {
        if !wire.is_connected() {
            let error = wire.ended().await;
            return if error.may_pass() { Ok(()) } else { Err(error) };
        }
        self.failures += 1;
        if self.failures > MOST_REOPENED { Err(Error::Broken { topic: self.topic.clone() }) } else { Ok(()) }
    }

    /// Usually the missed items are still available after the last one that was read. They are lost if the server
    /// reports the same gap again, or one that begins there: then what is left follows in this subscription.
    fn has_lost(&mut self, cursor: String) -> bool {
        if self.told.as_ref() == Some(&cursor) {
            return false;
        }
        let is_here = self.cursor.as_ref() == Some(&cursor);
        if !is_here {
            self.source = None;
        }
        let is_lost = is_here || self.cursor.is_none() || self.reopened;
        if is_lost {
            self.told = Some(cursor.clone());
            self.cursor = Some(cursor);
        }
        is_lost
    }

    /// Returns the cursor after the last item that was read.
    pub fn cursor(&self) -> Option<&str> {
        self.cursor.as_deref()
    }
}

impl Client {
    /// Follows the log of a job, from its first line or from `cursor` on.
    pub async fn follow_logs(&self, context_id: ContextId, job_id: &JobId, cursor: Option<&str>) -> Result<Follow<LogLine>, Error> {
        self.follow(&SubscribeLogs { job_id, context_id }, cursor).await
    }

    /// Follows the changes of a job. The first item is its current state.
    pub async fn follow_job(&self, context_id: ContextId, job_id: &JobId) -> Result<Follow<JobEvent>, Error> {
        self.follow(&SubscribeJob { job_id, context_id }, None).await
    }

    /// Follows the changes of all jobs that match `filter`, from now or from `cursor` on.
    pub async fn follow_events(&self, context_id: ContextId, filter: JobFilter, cursor: Option<&str>) -> Result<Follow<JobEvent>, Error> {
        self.follow(&SubscribeEvents { filter: Some(&filter), context_id }, cursor).await
    }

    /// Follows a flow: its state, then each change of its jobs, and its end last.
    pub async fn follow_flow(&self, context_id: ContextId, flow_id: FlowId, cursor: Option<&str>) -> Result<Follow<FlowEvent>, Error> {
        self.follow(&SubscribeFlow { flow_id, context_id }, cursor).await
    }

    /// Opens a subscription of [`super::calls`], from its beginning or from `cursor` on.
    pub async fn follow<S: calls::Subscription>(&self, subscription: &S, cursor: Option<&str>) -> Result<Follow<S::Item>, Error> {
        let params = to_raw_value(subscription).and_then(|params| serde_json::from_str(params.get()));
        let params = params.map_err(|source| Error::shape(S::TOPIC, source))?;
        Follow::open(self, S::TOPIC, params, cursor).await
    }

    /// Opens the subscription `subscribe_{topic}` with these named parameters.
    pub async fn follow_named(&self, topic: &str, mut params: BTreeMap<String, Box<RawValue>>) -> Result<Follow<AnyItem>, Error> {
        // A cursor that is not a text is sent as it is, so that the server refuses it.
        let cursor = params.get(CURSOR).and_then(|cursor| serde_json::from_str::<String>(cursor.get()).ok());
        if cursor.is_some() {
            params.remove(CURSOR);
        }
        Follow::open(self, topic, params, cursor.as_deref()).await
    }
}
