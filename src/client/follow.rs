use std::time::Duration;

use jsonrpsee::core::client::{Subscription, SubscriptionCloseReason};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::connection::Client;
use super::error::Error;
use crate::dispatch::JobFilter;
use crate::model::{ContextId, FlowEvent, FlowId, JobEvent, JobId, LogLine};
use crate::rpc::methods::{EventNotice, FlowNotice, Heard, LogNotice};

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
/// The pause before one is opened again another time without an item between; it doubles so often.
const PAUSE: (Duration, u32) = (Duration::from_millis(100), 6);

/// A subscription that is opened again by itself after a gap, so that its reader misses nothing.
pub struct Follow<T: Followable> {
    client: Client,
    topic: &'static str,
    params: Params,
    items: Subscription<T::Notice>,
    /// Whether items were missed, so that the subscription has to be opened again.
    gap: bool,
    /// How often it was opened again since the last item.
    reopened: u32,
}

impl<T: Followable> Follow<T> {
    async fn open(client: &Client, topic: &'static str, params: Params) -> Result<Self, Error> {
        let items = client.subscribe(topic, &params).await?;
        Ok(Self { client: client.clone(), topic, params, items, gap: false, reopened: 0 })
    }

    /// The next item. `None` when the server says that there will be none any more.
    ///
    /// A server may also send nothing more after the last item, so whoever follows a job has to look for its end elsewhere, too.
    /// If the future is dropped, no item is lost.
    pub async fn next(&mut self) -> Result<Option<T>, Error> {
        loop {
            if self.gap {
                if let Some(again) = self.reopened.checked_sub(1) {
                    tokio::time::sleep(PAUSE.0 * 2_u32.pow(again.min(PAUSE.1))).await;
                }
                self.items = self.client.subscribe(self.topic, &self.params).await?;
                (self.gap, self.reopened) = (false, self.reopened + 1);
            }
            match self.items.next().await.map(|notice| notice.map(Into::<Heard<T>>::into)) {
                Some(Ok(Heard::Item(item))) => {
                    self.reopened = 0;
                    if let Some(cursor) = item.cursor() {
                        self.params.cursor = Some(cursor.to_owned());
                    }
                    return Ok(Some(item));
                }
                Some(Ok(Heard::Began(cursor))) => self.params.cursor = Some(cursor),
                Some(Ok(Heard::Lagged(cursor))) => self.lagged(cursor),
                Some(Ok(Heard::Ended)) => return Ok(None),
                Some(Err(source)) => return Err(Error::Shape { method: format!("subscribe_{}", self.topic), source }),
                None if matches!(self.items.close_reason(), Some(SubscriptionCloseReason::Lagged)) => self.gap = true,
                // It says why when it is asked again: what the reader may see no more, or a store that cannot be read now.
                None if self.client.is_connected() && self.reopened < MOST_REOPENED => self.gap = true,
                None if self.client.is_connected() => return Err(Error::Broken { topic: self.topic }),
                None => return Err(self.client.why_closed().await),
            }
        }
    }

    /// Usually the items that were missed are still there after the last one that was read. If not, the server gives a cursor from which
    /// it can go on. If that was tried already, the missed items are lost, and this subscription goes on after them.
    fn lagged(&mut self, cursor: String) {
        if self.params.cursor.is_some() && self.reopened == 0 {
            self.gap = true;
        } else if self.params.cursor.as_ref() != Some(&cursor) {
            self.params.cursor = Some(cursor);
            self.gap = true;
        }
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
