use std::time::Duration;

use futures_util::stream::{self, BoxStream, StreamExt, unfold};
use futures_util::{Stream, future};

use super::Error;
use super::views::{EventCalls, JobCalls};
use hero_model::{ContextId, JobEvent, JobFilter, JobId};
use hero_store::{self as store, Moment};

/// The next value of a stream: an item, or a note that items were missed.
#[derive(Debug, Clone, PartialEq)]
pub enum Followed<T> {
    /// The next item.
    Item(T),
    /// Items were missed, because they are older than those that Redis keeps.
    Lagged {
        /// The following items come after this cursor.
        cursor: String,
    },
}

/// Maximum number of events that are compared with a filter at once.
const EVENTS_PER_FILTER: usize = 128;
/// Time without a change after which a follower checks that its job still exists.
const QUIET_CHECK_INTERVAL: Duration = Duration::from_secs(5);

impl EventCalls<'_> {
    /// Returns every change that passes the filter, after `cursor` or from now on. The stream does not end.
    pub async fn follow(
        self,
        context: ContextId,
        filter: JobFilter,
        cursor: Option<&str>,
    ) -> Result<impl Stream<Item = Result<Followed<JobEvent>, Error>> + Send + use<>, Error> {
        super::spec::check_filter(&filter)?;
        let changes = self.changes(context, cursor).await?;
        let dispatcher = self.0.clone();
        let matching = changes.ready_chunks(EVENTS_PER_FILTER).then(move |moments| {
            let (dispatcher, filter) = (dispatcher.clone(), filter.clone());
            async move { stream::iter(dispatcher.events().matching(context, &filter, moments).await) }
        });
        Ok(matching.flatten())
    }

    /// Returns the cursor of the newest change: all later changes are after it.
    pub async fn last_change(self, context: ContextId) -> Result<String, Error> {
        self.0.contexts().store(context).await?.events().last_change().await.map_err(Error::from)
    }

    /// Returns the moments that pass the filter. The jobs of all of them are read together.
    async fn matching(
        self,
        context: ContextId,
        filter: &JobFilter,
        mut moments: Vec<Result<Followed<JobEvent>, Error>>,
    ) -> Vec<Result<Followed<JobEvent>, Error>> {
        let other_status = |event: &JobEvent| filter.status.is_some_and(|status| status != event.status);
        moments.retain(|moment| !matches!(moment, Ok(Followed::Item(event)) if other_status(event)));
        if filter.is_only_status() {
            return moments;
        }
        let item = |moment: &Result<Followed<JobEvent>, Error>| match moment {
            Ok(Followed::Item(event)) => Some(event.job_id.clone()),
            _ => None,
        };
        let jobs: Vec<JobId> = moments.iter().filter_map(item).collect();
        let compared = match self.0.contexts().store(context).await {
            Ok(store) => store.jobs().compared_fields(&jobs, filter).await.map_err(Error::from),
            Err(error) => Err(error),
        };
        let compared = match compared {
            Ok(compared) => compared,
            Err(error) => return vec![Err(error)],
        };
        // The stored job may be further than the event, so only fields that do not change are compared.
        let fixed = JobFilter { status: None, ..filter.clone() };
        let passes = |job: &JobId| compared.get(job).and_then(Option::as_ref).is_some_and(|job| fixed.matches(job));
        moments.retain(|moment| item(moment).is_none_or(|job| passes(&job)));
        moments
    }

    async fn changes(self, context: ContextId, cursor: Option<&str>) -> Result<Changes, Error> {
        let store = self.0.contexts().store(context).await?;
        let changes = store.events().follow(cursor).await?;
        // The context stays open as long as it is followed.
        let followed_there = move |moment| {
            let _ = &store;
            followed(moment)
        };
        Ok(changes.ok_or_else(bad_cursor)?.map(followed_there).boxed())
    }
}

impl JobCalls<'_> {
    /// Returns the changes of one job after `cursor`, or the current state first. Ends when the job has ended or is
    /// gone.
    pub async fn follow(
        self,
        context: ContextId,
        id: &JobId,
        cursor: Option<&str>,
    ) -> Result<impl Stream<Item = Result<Followed<JobEvent>, Error>> + Send + use<>, Error> {
        let state = self.current_state(context, id).await?;
        let all = match cursor {
            Some(cursor) if state.status.is_final() => futures_util::stream::iter(self.past(context, id, cursor, state).await?).boxed(),
            Some(cursor) => only(id, self.0.events().changes(context, Some(cursor)).await?),
            None => {
                let changes = self.0.events().changes(context, Some(&state.cursor)).await?;
                let first = future::ready(Ok(Followed::Item(state)));
                futures_util::stream::once(first).chain(only(id, changes)).boxed()
            }
        };
        Ok(self.until_the_end(context, id.clone(), all))
    }

    async fn current_state(self, context: ContextId, id: &JobId) -> Result<JobEvent, Error> {
        let state = self.0.contexts().store(context).await?.jobs().current_state(id).await.map_err(Error::of_job(id))?;
        state.ok_or_else(|| Error::NotFound(id.clone()))
    }

    /// Returns the changes after `cursor` of a job that has ended. If the event of its end is gone, the current state
    /// replaces it.
    async fn past(
        self,
        context: ContextId,
        id: &JobId,
        cursor: &str,
        state: JobEvent,
    ) -> Result<Vec<Result<Followed<JobEvent>, Error>>, Error> {
        let changes = self.0.contexts().store(context).await?.events().replay(cursor).await.map_err(Error::of_job(id))?;
        let changes = changes.ok_or_else(bad_cursor)?.map(followed).boxed();
        let mut past: Vec<_> = only(id, changes).collect().await;
        let lagged = past.iter().any(|item| matches!(item, Ok(Followed::Lagged { .. })));
        if lagged && !past.last().is_some_and(is_last) {
            past.push(Ok(Followed::Item(state)));
        }
        Ok(past)
    }

    /// Passes items on up to the end of the job, or until the job is gone.
    fn until_the_end(
        self,
        context: ContextId,
        id: JobId,
        all: Changes,
    ) -> impl Stream<Item = Result<Followed<JobEvent>, Error>> + Send + use<> {
        let dispatcher = self.0.clone();
        unfold(Some((dispatcher, id, all)), move |rest| async move {
            let (dispatcher, id, mut all) = rest?;
            let item = loop {
                match tokio::time::timeout(QUIET_CHECK_INTERVAL, all.next()).await {
                    Ok(item) => break item?,
                    // No event reports the deletion of a job.
                    Err(_) => {
                        if let Err(Error::NotFound(_)) = dispatcher.jobs().current_state(context, &id).await {
                            return None;
                        }
                    }
                }
            };
            let last = is_last(&item) || item.is_err();
            Some((item, (!last).then_some((dispatcher, id, all))))
        })
    }
}

type Changes = BoxStream<'static, Result<Followed<JobEvent>, Error>>;

fn followed(moment: Result<Moment, store::Error>) -> Result<Followed<JobEvent>, Error> {
    match moment {
        Ok(Moment::Change(event)) => Ok(Followed::Item(JobEvent::clone(&event))),
        Ok(Moment::Lagged(cursor)) => Ok(Followed::Lagged { cursor }),
        Err(error) => Err(error.into()),
    }
}

/// Drops the changes of other jobs.
fn only(id: &JobId, changes: Changes) -> Changes {
    let id = id.clone();
    changes.filter(move |item| future::ready(!matches!(item, Ok(Followed::Item(event)) if event.job_id != id))).boxed()
}

/// True if an item reports the end of the job.
fn is_last(item: &Result<Followed<JobEvent>, Error>) -> bool {
    matches!(item, Ok(Followed::Item(event)) if event.status.is_final())
}

fn bad_cursor() -> Error {
    Error::bad_cursor("use the cursor of an event")
}
