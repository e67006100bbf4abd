use std::collections::HashMap;
use std::time::Duration;

use futures_util::stream::{BoxStream, StreamExt, unfold};
use tokio::time::{Instant, timeout_at};

use super::{Error, Flows};
use hero_jobs::dispatch::{self, Followed};
use hero_model::{ContextId, FlowEvent, FlowId, FlowStatus, JobEvent, JobFilter, JobId};

/// Time without a change of its jobs after which the flow itself is checked.
const FLOW_CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// Timeouts for the last changes of a flow that has ended: for a pause between two changes, and in total.
const LAST_CHANGE_TIMEOUTS: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// A follower of a flow.
struct Follower {
    flows: Flows,
    context: ContextId,
    flow: FlowId,
    /// Its jobs.
    names: HashMap<JobId, String>,
    changes: BoxStream<'static, Result<Followed<JobEvent>, dispatch::Error>>,
    /// The cursor after the last item.
    cursor: Option<String>,
    /// The status of the flow in the last item.
    told: Option<FlowStatus>,
    /// The time of the next check, unless one of its jobs changes first. Changes of other jobs do not delay it.
    look_at: Instant,
    /// Whether the flow has ended. Its end is the last item, after the changes of its jobs.
    ends: bool,
    /// Whether the last item was returned.
    is_over: bool,
}

impl Flows {
    /// Returns the state of a flow, then every change of its jobs, and its end as the last item. If the flow is
    /// deleted, the stream ends without that item.
    ///
    /// With the cursor of an item, the later changes come first, without repetition, and then the state of the flow.
    pub async fn follow(
        &self,
        context: ContextId,
        flow: FlowId,
        cursor: Option<&str>,
    ) -> Result<BoxStream<'static, Result<FlowEvent, Error>>, Error> {
        let store = self.store(context).await?;
        let stored = store.flows().get(flow).await?.ok_or(Error::NotFound(flow))?;
        let jobs = store.flows().job_ids(&stored).await?;
        let begin = match (cursor, jobs.first()) {
            (Some(cursor), _) => Some(cursor.to_owned()),
            (None, Some(job)) => store.jobs().current_state(&job.id).await?.map(|state| state.cursor),
            (None, None) => None,
        };
        let changes = self.dispatcher.events().follow(context, JobFilter::default(), begin.as_deref()).await?.boxed();
        let names = jobs.into_iter().map(|job| (job.id, job.name)).collect();
        let follower = Follower {
            flows: self.clone(),
            context,
            flow,
            names,
            changes,
            cursor: begin,
            told: None,
            look_at: Instant::now() + if cursor.is_some() { FLOW_CHECK_INTERVAL } else { Duration::ZERO },
            ends: false,
            is_over: false,
        };
        let items = unfold(follower, |mut follower| async move {
            let item = follower.next().await.transpose()?;
            follower.is_over |= item.is_err();
            Some((item, follower))
        });
        Ok(items.boxed())
    }
}

impl Follower {
    async fn next(&mut self) -> Result<Option<FlowEvent>, Error> {
        if self.is_over {
            return Ok(None);
        }
        loop {
            let now = Instant::now();
            let deadline = if self.ends { self.look_at.min(now + LAST_CHANGE_TIMEOUTS.0) } else { self.look_at };
            // A stream that always has an item would hide the deadline.
            let next = if now < deadline { timeout_at(deadline, self.changes.next()).await.ok() } else { None };
            let change = match next {
                Some(Some(Ok(Followed::Item(event)))) if self.names.contains_key(&event.job_id) => Some(event),
                Some(Some(Ok(Followed::Item(_)))) => continue,
                // Changes of its jobs may be among the lost ones.
                Some(Some(Ok(Followed::Lagged { cursor }))) => {
                    (self.told, self.cursor) = (None, Some(cursor));
                    None
                }
                Some(Some(Err(error))) => return Err(error.into()),
                Some(None) => return Ok(None),
                None => None,
            };
            if let Some(event) = &change {
                self.cursor = Some(event.cursor.clone());
            }
            let Some(state) = self.flows.store(self.context).await?.flows().state(self.flow).await? else {
                return Ok(None);
            };
            self.ends = state.status.is_final();
            self.look_at = Instant::now() + if self.ends { LAST_CHANGE_TIMEOUTS.1 } else { FLOW_CHECK_INTERVAL };
            let mut item = FlowEvent {
                flow_id: self.flow,
                status: state.status,
                open: state.open,
                cursor: self.cursor.clone(),
                job: None,
                job_id: None,
                job_status: None,
                kind: None,
                attempt: None,
            };
            let Some(event) = change else {
                if self.told.replace(state.status) == Some(state.status) && !self.ends {
                    continue;
                }
                self.is_over = self.ends;
                return Ok(Some(item));
            };
            if self.ends {
                item.status = FlowStatus::Started;
            }
            self.told = Some(item.status);
            item.job = self.names.get(&event.job_id).cloned();
            (item.job_id, item.job_status, item.attempt) = (Some(event.job_id), Some(event.status), Some(event.attempt));
            item.kind = event.kind;
            return Ok(Some(item));
        }
    }
}
