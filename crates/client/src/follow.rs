use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use jsonrpsee::core::client::{Subscription, SubscriptionCloseReason};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::connection::Client;
use super::error::Error;
use super::wire::Wire;
use hero_model::api::{EventNotice, FlowNotice, Heard, LogNotice};
use hero_model::{ContextId, FlowEvent, FlowId, JobEvent, JobFilter, JobId, LogLine};

/// An item with a cursor, from which one can go on after it.
pub trait Followable: Sized {
    /// The topic it comes from: `subscribe_{TOPIC}`.
    const TOPIC: &'static str;

    /// What the server sends.
    type Notice: DeserializeOwned + Into<Heard<Self>>;

    /// The cursor behind this item, if one can go on from there.
    fn cursor(&self) -> Option<&str>;
}

impl Followable for LogLine {
    const TOPIC: &'static str = "logs";

    type Notice = LogNotice;

    fn cursor(&self) -> Option<&str> {
        Some(&self.cursor)
    }
}

/// A change of a job, from `subscribe_job`.
impl Followable for JobEvent {
    const TOPIC: &'static str = "job";

    type Notice = EventNotice;

    fn cursor(&self) -> Option<&str> {
        Some(&self.cursor)
    }
}

/// A change of a flow, or where it is.
impl Followable for FlowEvent {
    const TOPIC: &'static str = "flow";

    type Notice = FlowNotice;

    fn cursor(&self) -> Option<&str> {
        self.cursor.as_deref()
    }
}

#[derive(Clone, Default, Serialize)]
struct Params {
    #[serde(skip_serializing_if = "Option::is_none")]
    flow_id: Option<FlowId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    job_id: Option<JobId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    filter: Option<JobFilter>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
    context_id: ContextId,
}

/// How often a subscription is opened again in a row that the server ends without a word and without an item.
const MOST_REOPENED: u32 = 5;
/// How often in a row it is tried to open one again while Redis does not answer the server.
const MOST_REFUSED: u32 = 10;
/// The most items that wait for their reader, and the most bytes that they have. With more the subscription is let go of, and opened again behind
/// the last of them when these are read.
const BUFFER: (usize, usize) = (8192, 16 << 20);

/// What is heard of what is followed.
#[derive(Debug, Clone, PartialEq)]
pub enum Followed<T> {
    /// The next item.
    Item(T),
    /// Items are missing here, which the server does not have any more.
    Lagged,
    /// There will be none any more.
    Ended,
}

impl<T> Followed<T> {
    /// The item, if it is one.
    pub fn item(self) -> Option<T> {
        match self {
            Self::Item(item) => Some(item),
            Self::Lagged | Self::Ended => None,
        }
    }
}

/// A subscription that is opened again by itself after a gap, so that its reader misses nothing and hears nothing twice.
pub struct Follow<T> {
    client: Client,
    topic: &'static str,
    params: Params,
    source: Option<Source>,
    /// Whether it was opened again since the last item, and how often in vain.
    reopened: bool,
    failures: u32,
    /// Whether the server has said that there is no more.
    is_over: bool,
    items: PhantomData<fn() -> T>,
}

/// An open subscription.
struct Source {
    wire: Arc<Wire>,
    items: mpsc::Receiver<Box<RawValue>>,
    /// How many bytes wait in `items`.
    held: Arc<AtomicUsize>,
    filling: JoinHandle<Filled>,
}

/// Why nothing more is put into a buffer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Filled {
    /// It is full, or nobody reads it.
    Full,
    /// The server has ended the subscription, or the connection did.
    Cut,
}

impl Source {
    fn of((mut from, wire): (Subscription<Box<RawValue>>, Arc<Wire>)) -> Self {
        let (sender, items) = mpsc::channel(BUFFER.0);
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
                // One item has room, however long it is.
                if waiting > 0 && waiting + size > BUFFER.1 || sender.try_send(item).is_err() {
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
    async fn open(client: &Client, topic: &'static str, params: Params) -> Result<Self, Error> {
        let source = Some(Source::of(client.subscribe(topic, &params).await?));
        let client = client.clone();
        Ok(Self { client, topic, params, source, reopened: false, failures: 0, is_over: false, items: PhantomData })
    }

    /// What is heard next. After an error one can go on.
    ///
    /// A server may also send nothing more after the last item, so whoever follows a job has to look for its end elsewhere, too.
    /// If the future is dropped, no item is lost.
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
            match serde_json::from_str::<T::Notice>(item.get()).map(Into::<Heard<T>>::into) {
                Ok(Heard::Item(item)) => {
                    (self.reopened, self.failures) = (false, 0);
                    if let Some(cursor) = item.cursor() {
                        self.params.cursor = Some(cursor.to_owned());
                    }
                    return Ok(Followed::Item(item));
                }
                Ok(Heard::Began(cursor)) => self.params.cursor = Some(cursor),
                Ok(Heard::Lagged(cursor)) => {
                    if self.has_lost(cursor) {
                        return Ok(Followed::Lagged);
                    }
                }
                Ok(Heard::Ended) => self.is_over = true,
                Err(source) => return Err(Error::shape(&format!("subscribe_{}", self.topic), source)),
            }
        }
        Ok(Followed::Ended)
    }

    /// Opens it again, behind the last item that was read. Gives whether it is not known what happened meanwhile.
    async fn reopen(&mut self) -> Result<bool, Error> {
        if self.failures > 0 {
            tokio::time::sleep(self.client.link.way.reconnect.delay(self.failures)).await;
        }
        match self.client.subscribe(self.topic, &self.params).await {
            Ok(opened) => {
                (self.source, self.reopened) = (Some(Source::of(opened)), true);
                // What is of one job or flow begins with how that is now.
                Ok(self.params.cursor.is_none() && self.params.job_id.is_none() && self.params.flow_id.is_none())
            }
            // Redis may come back later than the server.
            Err(error) if error.may_pass() && error.rpc().is_some() && self.failures < MOST_REFUSED => {
                self.failures += 1;
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// The subscription ended without a word: it says why when it is opened again, as long as that may help.
    async fn cut(&mut self, wire: &Wire) -> Result<(), Error> {
        if !wire.is_connected() {
            let error = wire.ended().await;
            return if error.may_pass() { Ok(()) } else { Err(error) };
        }
        self.failures += 1;
        if self.failures > MOST_REOPENED { Err(Error::Broken { topic: self.topic }) } else { Ok(()) }
    }

    /// Usually the items that were missed are still there behind the last one that was read. They are lost if the server says so once more.
    fn has_lost(&mut self, cursor: String) -> bool {
        let is_told = self.params.cursor.as_ref() == Some(&cursor);
        let is_lost = !is_told && (self.params.cursor.is_none() || self.reopened);
        if is_lost {
            self.params.cursor = Some(cursor);
        }
        if !is_told {
            self.source = None;
        }
        is_lost
    }

    /// The cursor behind the last item that was read.
    pub fn cursor(&self) -> Option<&str> {
        self.params.cursor.as_deref()
    }
}

impl Client {
    /// Follows what a job logs, from its first line or from `cursor` on.
    pub async fn follow_logs(&self, context_id: ContextId, job_id: &JobId, cursor: Option<&str>) -> Result<Follow<LogLine>, Error> {
        let params = Params { job_id: Some(job_id.clone()), cursor: cursor.map(str::to_owned), context_id, ..Params::default() };
        Follow::open(self, LogLine::TOPIC, params).await
    }

    /// Follows the changes of a job; the first item is its present state.
    pub async fn follow_job(&self, context_id: ContextId, job_id: &JobId) -> Result<Follow<JobEvent>, Error> {
        let params = Params { job_id: Some(job_id.clone()), context_id, ..Params::default() };
        Follow::open(self, JobEvent::TOPIC, params).await
    }

    /// Follows the changes of all jobs that `filter` lets through, from now or from `cursor` on.
    pub async fn follow_events(&self, context_id: ContextId, filter: JobFilter, cursor: Option<&str>) -> Result<Follow<JobEvent>, Error> {
        let params = Params { filter: Some(filter), cursor: cursor.map(str::to_owned), context_id, ..Params::default() };
        Follow::open(self, "events", params).await
    }

    /// Follows a flow: where it is, then each change of its jobs, and its end last.
    pub async fn follow_flow(&self, context_id: ContextId, flow_id: FlowId, cursor: Option<&str>) -> Result<Follow<FlowEvent>, Error> {
        let params = Params { flow_id: Some(flow_id), cursor: cursor.map(str::to_owned), context_id, ..Params::default() };
        Follow::open(self, FlowEvent::TOPIC, params).await
    }
}
