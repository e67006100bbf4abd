use std::sync::Arc;

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use redis::{Cmd, Pipeline, RedisResult};
use tokio::time::Instant;

use crate::jobs::codec::{JobEnd, JobView, look};
use crate::library::fcall::Function;
use crate::value::Text;
use crate::views::{Jobs, Maintenance};
use crate::{Error, Store};
use hero_model::{JobId, Status};

const FUNCTION: Function = Function("wait");

fn seen(job: &JobId, answer: Vec<Text>) -> JobView {
    if matches!(&*answer, [_, long] if long.0.as_deref() == Some("long")) { JobView::Long } else { look(job, answer) }
}

/// The number of values of a job in an answer.
const FIELDS_PER_JOB: usize = 14;

/// Longer outputs are read by only a few readers at once, because they would pile up here and in Redis.
const LONG_OUTPUT_BYTES: usize = 64 * 1024;
/// The number of these readers.
pub(crate) const MAX_LONG_READERS: usize = 4;
/// The most concurrent calls of [`Jobs::look`].
const MAX_CONCURRENT_LOOKS: usize = 256;

impl Jobs<'_> {
    /// Returns the end of a job, if it has ended. If not, this server is notified when it ends.
    pub async fn wait(self, job: &JobId) -> Result<JobView, Error> {
        let answer: Vec<Text> = self.0.commands.function(&self.call_to_look(job, "", LONG_OUTPUT_BYTES)).await?;
        if answer.last().is_some_and(|last| answer.len() > FIELDS_PER_JOB && last.0.as_deref() == Some("new")) {
            Maintenance(self.0).discover(std::slice::from_ref(job)).await?;
        }
        Ok(seen(job, answer))
    }

    /// Returns the end of a job, if it has ended.
    pub async fn look(self, job: &JobId) -> Result<JobView, Error> {
        Ok(seen(job, self.0.commands.function(&self.call_to_look(job, "only look", LONG_OUTPUT_BYTES)).await?))
    }

    /// Returns the status of a job, or nothing if there is none.
    pub async fn status(self, job: &JobId) -> Result<Option<Status>, Error> {
        Ok(match self.look(job).await? {
            JobView::Long | JobView::Ended(JobEnd::Finished(_)) => Some(Status::Finished),
            JobView::Ended(JobEnd::Failed { .. }) => Some(Status::Error),
            JobView::Open(status) => Some(status),
            JobView::Missing => None,
        })
    }

    fn call_to_look(self, job: &JobId, how: &str, longest: usize) -> Cmd {
        let mut call = self.0.call(&FUNCTION);
        call.arg(job.as_str()).arg(how).arg(longest);
        call
    }

    /// Returns the end of a job, if it has ended, with an output of at most this many bytes. A few are read at once; the others wait for
    /// their turn until then. The callers limit the number of concurrent calls for one client.
    pub async fn whole(self, job: &JobId, bytes: usize, until: Instant) -> Result<JobView, Error> {
        let began = Instant::now();
        let reader = tokio::time::timeout_at(until, self.0.readers.acquire()).await;
        let _reader = reader.map_err(|_| Error::Deadline(began.elapsed()))?;
        // Lua counts no further.
        let call = self.call_to_look(job, "only look", bytes.min(usize::MAX >> 12));
        Ok(seen(job, self.0.commands.function(&call).await?))
    }

    /// Returns those of some jobs that have ended or are gone, each with its end.
    ///
    /// For most jobs one command shows that they have not ended. It costs Redis a fiftieth of the function.
    pub async fn look_for_ends(self, jobs: &[JobId]) -> Result<Vec<(JobId, JobView)>, Error> {
        let mut pipeline = Pipeline::with_capacity(jobs.len());
        for job in jobs {
            pipeline.cmd("HGET").arg(self.0.keys.job(job)).arg("status");
        }
        // A key that is no hash is no job.
        pipeline.ignore_errors();
        let statuses: Vec<RedisResult<Text>> = if jobs.is_empty() { Vec::new() } else { self.0.commands.each(&pipeline).await? };
        let is_open = |status: RedisResult<Text>| {
            let word = status.ok().and_then(Text::some);
            word.is_some_and(|word| Status::parse(Some(&word)).is_some_and(|status| !status.is_final()))
        };
        let doubtful: Vec<JobId> =
            jobs.iter().zip(statuses).filter(|(_, status)| !is_open(status.clone())).map(|(job, _)| job.clone()).collect();
        let looks = self.look_at_all(&doubtful).await?;
        Ok(doubtful.into_iter().zip(looks).filter(|(_, look)| !matches!(look, JobView::Open(_))).collect())
    }

    async fn look_at_all(self, jobs: &[JobId]) -> Result<Vec<JobView>, Error> {
        stream::iter(jobs.to_vec()).map(|job| async move { self.look(&job).await }).buffered(MAX_CONCURRENT_LOOKS).try_collect().await
    }

    /// Tells the waiters in this process about the end of a job, as its hash has it. The sweeper makes up for a failure.
    pub(crate) fn tell_by_reading(self, job: JobId) {
        if !self.0.inbox.awaits(&job) {
            return;
        }
        let (store, audience) = (Store(Arc::clone(self.0)), self.0.inbox.audience());
        tokio::spawn(async move {
            match store.jobs().look(&job).await {
                Ok(JobView::Open(_)) => {}
                Ok(look) => {
                    store.inbox().deliver(&job, &look, audience);
                }
                Err(error) => tracing::debug!(%job, %error, "could not read the end of a job, the sweep will"),
            }
        });
    }
}
