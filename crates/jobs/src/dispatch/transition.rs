use std::time::Duration;

use super::Error;
use super::error::RETRY_AFTER;
use super::views::JobCalls;
use hero_model::{ContextId, JobId, Status};
use hero_store::{Deleted, JobView, Numbered, Retried, Started, Stopping};

/// Time that `stop` gives a running script to stop.
const OBEYS_WITHIN: Duration = Duration::from_secs(1);

impl JobCalls<'_> {
    /// Starts a created job.
    pub async fn start(self, context: ContextId, id: &JobId) -> Result<Status, Error> {
        match self.0.contexts().store(context).await?.jobs().start(id).await.map_err(Error::of_job(id))? {
            Started::OnItsWay(status) => Ok(status),
            Started::Illegal(status) => Err(Error::State { job_id: id.clone(), status, action: "started" }),
            Started::Missing => Err(Error::NotFound(id.clone())),
            Started::Full(length) => Err(Error::queue_full(&format!("the queue of job {id}"), length)),
            Started::NoList => Err(Error::queue_is_no_list(&format!("the queue of job {id}"))),
        }
    }

    /// Runs a job again that has ended. Its attempts are counted on; its retries start again.
    pub async fn retry(self, context: ContextId, id: &JobId) -> Result<Status, Error> {
        match self.0.contexts().store(context).await?.jobs().retry(id).await.map_err(Error::of_job(id))? {
            Retried::OnItsWay(status) => Ok(status),
            Retried::Illegal(status) => {
                Err(Error::State { job_id: id.clone(), status, action: "run again; only jobs that have ended can" })
            }
            Retried::Missing => Err(Error::NotFound(id.clone())),
            Retried::Full(length) => Err(Error::queue_full(&format!("the queue of job {id}"), length)),
            Retried::NoList => Err(Error::queue_is_no_list(&format!("the queue of job {id}"))),
            Retried::Cycle(status) => {
                let action = "run again now: it would wait for itself, because a job that it waits for waits for it";
                Err(Error::State { job_id: id.clone(), status, action })
            }
            Retried::Tangled => Err(Error::invalid(
                "job_id",
                format!("job {id} has too many relations behind it to tell whether it would wait for itself if it ran again"),
            )),
            Retried::Busy => Err(Error::relations_busy()),
            Retried::Later => {
                Err(Error::Full { what: format!("job {id} waits for a job that is just being created"), retry_after: RETRY_AFTER })
            }
            Retried::Blocked(prerequisite) => Err(Error::Blocked { job_id: id.clone(), prerequisite }),
        }
    }

    /// Makes a job visible in the runner layout, too, and returns its name there: `job:{caller}:{n}`.
    pub async fn number(self, context: ContextId, id: &JobId) -> Result<String, Error> {
        match self.0.contexts().store(context).await?.jobs().number(id).await.map_err(Error::of_job(id))? {
            Numbered::Named(name) => Ok(name),
            Numbered::Missing => Err(Error::NotFound(id.clone())),
            Numbered::Other(layout) => {
                let why = format!("job {id} came by the layout {layout}, and each change of it is written there; it has no second one");
                Err(Error::invalid("job_id", why))
            }
            Numbered::NoNumber => Err(Error::invalid("job_id", "all numbers of jobs in this context are in use".to_owned())),
            Numbered::Later => {
                let what = "others have taken so many numbers of jobs that it takes longer to find a free one".to_owned();
                Err(Error::Full { what, retry_after: Duration::from_millis(10) })
            }
        }
    }

    /// Stops a job that has not ended. Waits up to a second for a running job to stop, then returns its current status.
    pub async fn stop(self, context: ContextId, id: &JobId) -> Result<Status, Error> {
        let store = self.0.contexts().store(context).await?;
        let mut waiter = store.inbox().register(id);
        match store.jobs().stop(id).await.map_err(Error::of_job(id))? {
            Stopping::Stopped => Ok(Status::Error),
            Stopping::Ended(status) => Err(Error::State { job_id: id.clone(), status, action: "stopped" }),
            Stopping::Missing => Err(Error::NotFound(id.clone())),
            Stopping::Asked => {
                if let JobView::Open(_) = store.jobs().wait(id).await.map_err(Error::of_job(id))? {
                    // Running out of time is an answer, too: the job has not obeyed yet.
                    let _ = tokio::time::timeout(OBEYS_WITHIN, waiter.reply()).await;
                }
                self.status(context, id).await
            }
        }
    }

    /// Deletes a job that does not run, with its log and its reply. A log file in this server's directory is removed at
    /// once.
    pub async fn delete(self, context: ContextId, id: &JobId) -> Result<(), Error> {
        let store = self.0.contexts().store(context).await?;
        let path = match store.jobs().get(id).await {
            Ok(job) => job.and_then(|job| job.log_path),
            // A key that a foreign program overwrote has no log file.
            Err(error) if error.is_spoilt() => None,
            Err(error) => return Err(Error::store(error, Some(id))),
        };
        match store.jobs().delete(id).await.map_err(Error::of_job(id))? {
            Deleted::Deleted => {
                if let Some(path) = path {
                    self.0.logs().remove_log_file(context, id, path).await;
                }
                Ok(())
            }
            Deleted::Illegal(status) => Err(Error::State { job_id: id.clone(), status, action: "deleted; stop it first" }),
            Deleted::Open(status) => Err(Error::State { job_id: id.clone(), status, action: "deleted before its children have ended" }),
            Deleted::Missing => Err(Error::NotFound(id.clone())),
        }
    }
}
