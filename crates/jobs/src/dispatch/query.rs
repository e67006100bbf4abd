use std::time::Duration;

use super::{Dispatcher, Error, error, spec, wait};
use hero_model::{Actor, ContextId, Job, JobFilter, JobId, JobPage, JobResult, Name, Presence, QueueInfo, Status};
use hero_store::{JobView, StoreInfo};

/// How many lists of jobs are made at once. Others wait.
pub(super) const LISTS: usize = 4;
/// How long a list of jobs waits for others to be made; then it is refused.
const LIST_WAITS: Duration = Duration::from_secs(2);
/// The most bytes of JSON that a page of jobs has.
const LARGEST_PAGE: usize = 1024 * 1024;

impl Dispatcher {
    /// Where a job is in its life.
    pub async fn status(&self, context: ContextId, id: &JobId) -> Result<Status, Error> {
        let status = self.store(context).await?.jobs().status(id).await.map_err(|error| Error::store(error, Some(id)))?;
        status.ok_or_else(|| Error::NotFound(id.clone()))
    }

    /// Everything that is known of a job.
    pub async fn job(&self, context: ContextId, id: &JobId) -> Result<Job, Error> {
        let job = self.store(context).await?.jobs().get(id).await.map_err(|error| Error::store(error, Some(id)))?;
        job.ok_or_else(|| Error::NotFound(id.clone()))
    }

    /// A few fields of a job; what is longer is as if it were not there.
    pub(super) async fn part(&self, context: ContextId, id: &JobId, fields: &[&str], longest: usize) -> Result<Job, Error> {
        let parts = self
            .store(context)
            .await?
            .jobs()
            .parts(std::slice::from_ref(id), fields, longest)
            .await
            .map_err(|error| Error::store(error, Some(id)))?;
        parts.into_iter().flatten().next().ok_or_else(|| Error::NotFound(id.clone()))
    }

    /// Everything that is known of a job that has so many bytes at most.
    pub async fn job_within(&self, context: ContextId, id: &JobId, bytes: usize) -> Result<Job, Error> {
        let job = self.store(context).await?.jobs().within(id, bytes).await.map_err(|error| Error::store(error, Some(id)))?;
        let too_large = |size| Error::TooLarge { what: "the job", size, limit: bytes, setting: "max_response" };
        job.ok_or_else(|| Error::NotFound(id.clone()))?.map_err(too_large)
    }

    /// The result of a job that has ended.
    pub async fn result(&self, context: ContextId, id: &JobId) -> Result<JobResult, Error> {
        self.result_within(context, id, usize::MAX).await
    }

    /// The same for an output of so many bytes at most. A longer one is not read.
    pub async fn result_within(&self, context: ContextId, id: &JobId, bytes: usize) -> Result<JobResult, Error> {
        let mut look = self.look(context, id).await?;
        if look == JobView::Long {
            look = self.look_within(context, id, bytes).await?;
        }
        match look {
            JobView::Ended(end) => wait::result(id, end),
            JobView::Open(status) => {
                Err(Error::State { job_id: id.clone(), status, action: "asked for its result; wait_job waits for it" })
            }
            JobView::Missing | JobView::Long => Err(Error::NotFound(id.clone())),
        }
    }

    pub(super) async fn look(&self, context: ContextId, id: &JobId) -> Result<JobView, Error> {
        self.store(context).await?.jobs().look(id).await.map_err(|error| Error::store(error, Some(id)))
    }

    /// A page of jobs, newest first, without what is long. It may end before `limit`, because it holds no more than about a megabyte.
    pub async fn list(&self, context: ContextId, filter: &JobFilter, cursor: Option<&str>, limit: usize) -> Result<JobPage, Error> {
        self.list_within(context, filter, cursor, limit, LARGEST_PAGE).await
    }

    /// The same with a limit on the bytes of JSON, which also holds no more than about a megabyte.
    pub async fn list_within(
        &self,
        context: ContextId,
        filter: &JobFilter,
        cursor: Option<&str>,
        limit: usize,
        bytes: usize,
    ) -> Result<JobPage, Error> {
        let store = self.store(context).await?;
        spec::check_filter(filter)?;
        let busy = || Error::Busy { what: "too many lists of jobs at once", retry_after: error::RETRY_AFTER };
        let _permit = tokio::time::timeout(LIST_WAITS, self.0.lists.acquire()).await.map_err(|_| busy())?.map_err(|_| busy())?;
        let page = store.jobs().list(filter, cursor, limit, bytes.min(LARGEST_PAGE)).await.map_err(|error| Error::store(error, None))?;
        page.ok_or_else(|| Error::bad_cursor("use next_cursor of the page before"))
    }

    /// Every live actor, those of other programs included.
    pub async fn actors(&self, context: ContextId) -> Result<Vec<Actor>, Error> {
        let actors = self.store(context).await?.actors().now().await.map_err(|error| Error::store(error, None))?;
        Ok(actors.to_vec())
    }

    /// The script types of which actors were to be here and cannot, as entries that say why.
    pub fn absent_actors(&self) -> impl Iterator<Item = Actor> {
        self.0.settings.absent.iter().map(|(script_type, why)| Actor {
            script_type: script_type.clone(),
            group: Name::default_group(),
            instance: 0,
            foreign: false,
            unavailable: Some(why.clone()),
            presence: Presence::default(),
        })
    }

    /// Every work queue in use.
    pub async fn queues(&self, context: ContextId) -> Result<Vec<QueueInfo>, Error> {
        self.store(context).await?.queues().list().await.map_err(|error| Error::store(error, None))
    }

    /// How the store of the default context is.
    pub async fn store_info(&self) -> Result<StoreInfo, Error> {
        self.store(ContextId::default()).await?.health().info().await.map_err(|error| Error::store(error, None))
    }
}
