use std::time::Duration;

use tokio::time::Instant;

use super::views::{ActorCalls, ContextCalls, JobCalls, QueueCalls};
use super::{Error, error, spec, wait};
use hero_model::{Actor, ContextId, Job, JobFilter, JobId, JobPage, JobResult, Name, Presence, QueueInfo, Status};
use hero_store::{JobView, StoreInfo};

/// Maximum number of lists of jobs that are made at once. Others wait.
pub(super) const MAX_CONCURRENT_LISTS: usize = 4;
/// Timeout of a list of jobs that waits for others. After it, the list is refused.
const LIST_WAITS: Duration = Duration::from_secs(2);
/// Maximum number of bytes of JSON of a page of jobs.
const LARGEST_PAGE: usize = 1024 * 1024;

impl JobCalls<'_> {
    /// Returns the status of a job.
    pub async fn status(self, context: ContextId, id: &JobId) -> Result<Status, Error> {
        let status = self.0.contexts().store(context).await?.jobs().status(id).await.map_err(Error::of_job(id))?;
        status.ok_or_else(|| Error::NotFound(id.clone()))
    }

    /// Returns all fields of a job.
    pub async fn job(self, context: ContextId, id: &JobId) -> Result<Job, Error> {
        let job = self.0.contexts().store(context).await?.jobs().get(id).await.map_err(Error::of_job(id))?;
        job.ok_or_else(|| Error::NotFound(id.clone()))
    }

    /// Returns a few fields of a job. Fields that are longer than `longest` are left out.
    pub(super) async fn part(self, context: ContextId, id: &JobId, fields: &[&str], longest: usize) -> Result<Job, Error> {
        let parts = self
            .0
            .contexts()
            .store(context)
            .await?
            .jobs()
            .parts(std::slice::from_ref(id), fields, longest)
            .await
            .map_err(Error::of_job(id))?;
        parts.into_iter().flatten().next().ok_or_else(|| Error::NotFound(id.clone()))
    }

    /// Returns all fields of a job of at most `bytes` bytes.
    pub async fn job_within(self, context: ContextId, id: &JobId, bytes: usize) -> Result<Job, Error> {
        let job = self.0.contexts().store(context).await?.jobs().within(id, bytes).await.map_err(Error::of_job(id))?;
        let too_large = |size| Error::TooLarge { what: "the job", size, limit: bytes, setting: "max_response" };
        job.ok_or_else(|| Error::NotFound(id.clone()))?.map_err(too_large)
    }

    /// Returns the result of a job that has ended.
    pub async fn result(self, context: ContextId, id: &JobId) -> Result<JobResult, Error> {
        self.result_within(context, id, usize::MAX).await
    }

    /// Like [`Self::result`], but for an output of at most `bytes` bytes. A longer one is not read.
    pub async fn result_within(self, context: ContextId, id: &JobId, bytes: usize) -> Result<JobResult, Error> {
        let mut look = self.look(context, id).await?;
        if look == JobView::Long {
            look = self.look_within(context, id, bytes, Instant::now() + wait::MIN_TURN_TIME).await?;
        }
        match look {
            JobView::Ended(end) => wait::result(id, end),
            JobView::Open(status) => {
                Err(Error::State { job_id: id.clone(), status, action: "asked for its result; wait_job waits for it" })
            }
            JobView::Missing | JobView::Long => Err(Error::NotFound(id.clone())),
        }
    }

    pub(super) async fn look(self, context: ContextId, id: &JobId) -> Result<JobView, Error> {
        self.0.contexts().store(context).await?.jobs().look(id).await.map_err(Error::of_job(id))
    }

    /// Returns a page of jobs, newest first, without long fields. It may have fewer than `limit`, because a page has at
    /// most about a megabyte.
    pub async fn list(self, context: ContextId, filter: &JobFilter, cursor: Option<&str>, limit: usize) -> Result<JobPage, Error> {
        self.list_within(context, filter, cursor, limit, LARGEST_PAGE).await
    }

    /// Like [`Self::list`], but with a limit on the bytes of JSON, which is at most about a megabyte.
    pub async fn list_within(
        self,
        context: ContextId,
        filter: &JobFilter,
        cursor: Option<&str>,
        limit: usize,
        bytes: usize,
    ) -> Result<JobPage, Error> {
        let store = self.0.contexts().store(context).await?;
        spec::check_filter(filter)?;
        let busy = || Error::Busy { what: "too many lists of jobs at once", retry_after: error::RETRY_AFTER };
        let _permit = tokio::time::timeout(LIST_WAITS, self.0.0.lists.acquire()).await.map_err(|_| busy())?.map_err(|_| busy())?;
        let page = store.jobs().list(filter, cursor, limit, bytes.min(LARGEST_PAGE)).await?;
        page.ok_or_else(Error::bad_page_cursor)
    }
}

impl ActorCalls<'_> {
    /// Returns every live actor, including those of other programs.
    pub async fn list(self, context: ContextId) -> Result<Vec<Actor>, Error> {
        let actors = self.0.contexts().store(context).await?.actors().now().await?;
        Ok(actors.to_vec())
    }

    /// Returns an entry with the reason for each script type whose actors are configured here but cannot run.
    pub fn absent(self) -> impl Iterator<Item = Actor> {
        self.0.0.settings.absent.iter().map(|(script_type, why)| Actor {
            script_type: script_type.clone(),
            group: Name::default_group(),
            instance: 0,
            foreign: false,
            unavailable: Some(why.clone()),
            presence: Presence::default(),
        })
    }
}

impl QueueCalls<'_> {
    /// Returns every work queue in use.
    pub async fn list(self, context: ContextId) -> Result<Vec<QueueInfo>, Error> {
        self.0.contexts().store(context).await?.queues().list().await.map_err(Error::from)
    }
}

impl ContextCalls<'_> {
    /// Returns the state of the store of the default context.
    pub async fn store_info(self) -> Result<StoreInfo, Error> {
        self.store(ContextId::default()).await?.health().info().await.map_err(Error::from)
    }
}
