use std::time::Duration;

use tokio::time::Instant;

use super::Error;
use super::create::Stored;
use super::views::JobCalls;
use hero_model::{ContextId, JobId, JobResult, JobSpec, Reason, Seconds, Status};
use hero_store::{JobEnd, JobView, NewJob, Waiter};

/// Returns the result of a job that has ended, or its failure as an error.
pub(super) fn result(id: &JobId, end: JobEnd) -> Result<JobResult, Error> {
    match end {
        JobEnd::Finished(result) => Ok(result),
        JobEnd::Failed { error, attempt } => Err(Error::Failed { job_id: id.clone(), error: Box::new(error), attempt }),
    }
}

/// Returns the end of a wait. An endless one lasts a century, because clocks count no further than some centuries.
fn after(wait: Duration) -> Instant {
    Instant::now() + wait.min(Duration::from_secs_f64(Seconds::MAX))
}

/// The outcome of a wait whose job has finished.
#[derive(Debug)]
pub enum Awaited {
    /// The result.
    Whole(JobResult),
    /// Its output is long and was not read, because that takes memory for each waiter. [`JobCalls::whole`] reads it.
    Long(JobId),
}

impl Awaited {
    fn of(id: &JobId, end: JobEnd) -> Result<Self, Error> {
        result(id, end).map(Self::Whole)
    }
}

/// The least time that a long result has for its turn to be read, because a wait may find it in its last moment.
pub(super) const MIN_TURN_TIME: Duration = Duration::from_secs(30);

impl JobCalls<'_> {
    /// Runs a job and waits for its result.
    ///
    /// It cannot hang: `wait` ends it with [`Error::StillRunning`], and the job goes on. Only a long result may take up
    /// to 30 s more. It cannot lose the result: the waiter is registered before the job is enqueued, a sweep finds ends
    /// whose message was lost, and the hash keeps the result.
    pub async fn run_and_wait(self, spec: JobSpec, wait: Duration) -> Result<JobResult, Error> {
        let (context, deadline) = (spec.context_id, after(wait));
        let awaited = self.run_until_end(spec, wait, |_| {}).await?;
        self.read(context, awaited, deadline).await
    }

    /// Waits for the result of a job. A `wait` of zero checks once.
    pub async fn wait(self, context: ContextId, id: &JobId, wait: Duration) -> Result<JobResult, Error> {
        let deadline = after(wait);
        let awaited = self.wait_until_end(context, id, wait).await?;
        self.read(context, awaited, deadline).await
    }

    /// Returns the result of a wait, and reads it if necessary.
    async fn read(self, context: ContextId, mut awaited: Awaited, deadline: Instant) -> Result<JobResult, Error> {
        loop {
            let id = match awaited {
                Awaited::Whole(result) => return Ok(result),
                Awaited::Long(id) => id,
            };
            if let Some(result) = self.whole(context, &id, usize::MAX, deadline.max(Instant::now() + MIN_TURN_TIME)).await? {
                return Ok(result);
            }
            // It runs again.
            awaited = self.wait_until_end(context, &id, deadline.saturating_duration_since(Instant::now())).await?;
        }
    }

    /// Returns the result of a job that has finished, or `None` if it runs again. Long outputs are read by a few at
    /// once; this waits for its turn until `until`. An output of more than `bytes` bytes is not read.
    pub async fn whole(self, context: ContextId, id: &JobId, bytes: usize, until: Instant) -> Result<Option<JobResult>, Error> {
        match self.look_within(context, id, bytes, until).await? {
            JobView::Ended(end) => result(id, end).map(Some),
            JobView::Open(_) => Ok(None),
            JobView::Missing | JobView::Long => Err(Error::Gone(id.clone())),
        }
    }

    /// Returns the end of a job, if it has ended, with an output of at most `bytes` bytes.
    pub(super) async fn look_within(self, context: ContextId, id: &JobId, bytes: usize, until: Instant) -> Result<JobView, Error> {
        let store = self.0.contexts().store(context).await?;
        let look = store.jobs().whole(id, bytes, until).await.map_err(Error::of_job(id))?;
        if look == JobView::Long {
            let size = store.jobs().output_size(id).await.map_err(Error::of_job(id))?;
            return Err(Error::TooLarge { what: "the result", size, limit: bytes, setting: "max_response" });
        }
        Ok(look)
    }

    /// Like [`Self::run_and_wait`], but leaves a long result in the store. Calls `told` with the job's id when it
    /// is stored.
    pub async fn run_until_end(self, spec: JobSpec, wait: Duration, told: impl FnOnce(&JobId) + Send) -> Result<Awaited, Error> {
        let job = NewJob { start: true, waited: true, ..self.complete(spec).await? };
        let (context, id) = (job.spec.context_id, job.id.clone());
        let (began, deadline) = (Instant::now(), after(wait));
        let mut waiter = self.0.contexts().store(context).await?.inbox().register(&id);
        let stored = self.store_job(job).await?;
        told(&stored.id);
        if stored.earlier || stored.status == Status::Error {
            // The earlier job may not have been started, and nobody may have waited for its result.
            self.start_earlier(context, &stored).await?;
            return self.wait_until_end(context, &stored.id, deadline.saturating_duration_since(Instant::now())).await;
        }
        self.await_end(context, &id, &mut waiter, began, deadline).await
    }

    /// Runs a job and returns its id, without a wait. The same idempotency key returns the same job.
    pub async fn run(self, spec: JobSpec) -> Result<JobId, Error> {
        let job = NewJob { start: true, ..self.complete(spec).await? };
        let context = job.spec.context_id;
        let stored = self.store_job(job).await?;
        self.start_earlier(context, &stored).await?;
        Ok(stored.id)
    }

    /// Starts an earlier job that was created but not started.
    pub(super) async fn start_earlier(self, context: ContextId, stored: &Stored) -> Result<(), Error> {
        if !stored.earlier || stored.status != Status::Created {
            return Ok(());
        }
        match self.start(context, &stored.id).await {
            Ok(_) | Err(Error::State { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Like [`Self::wait`], but leaves a long result in the store.
    pub async fn wait_until_end(self, context: ContextId, id: &JobId, wait: Duration) -> Result<Awaited, Error> {
        let (began, deadline) = (Instant::now(), after(wait));
        let store = self.0.contexts().store(context).await?;
        let mut waiter = store.inbox().register(id);
        let look = if wait.is_zero() { store.jobs().look(id).await } else { store.jobs().wait(id).await };
        match look.map_err(Error::of_job(id))? {
            JobView::Ended(end) => Awaited::of(id, end),
            JobView::Long => Ok(Awaited::Long(id.clone())),
            JobView::Missing => Err(Error::NotFound(id.clone())),
            JobView::Open(_) => self.await_end(context, id, &mut waiter, began, deadline).await,
        }
    }

    async fn await_end(
        self,
        context: ContextId,
        id: &JobId,
        waiter: &mut Waiter,
        began: Instant,
        deadline: Instant,
    ) -> Result<Awaited, Error> {
        let look = tokio::select! {
            biased;
            look = waiter.reply() => match look {
                // The sweeper may have checked the job while it was being stored, which takes long when Redis was away.
                JobView::Missing => {
                    let rest = deadline.saturating_duration_since(Instant::now());
                    return Box::pin(self.wait_until_end(context, id, rest)).await;
                }
                look => look,
            },
            // A last check, in case that the job ended just now.
            () = tokio::time::sleep_until(deadline) => self.look(context, id).await?,
            () = self.0.0.closing.cancelled() => self.look(context, id).await?,
        };
        match look {
            JobView::Ended(end) => Awaited::of(id, end),
            JobView::Long => Ok(Awaited::Long(id.clone())),
            JobView::Missing => Err(Error::NotFound(id.clone())),
            JobView::Open(status) => {
                if self.0.0.closing.is_cancelled() {
                    let explanation = "this server ends; wait_job on another, or on this one when it is back, waits on".into();
                    return Err(Error::StillRunning { job_id: id.clone(), status, explanation, reason: None });
                }
                let (explanation, reason) = match self.explained(context, id, Some(began.into())).await {
                    // It ended between the two checks.
                    Ok(explanation) if explanation.reason == Reason::Ended => {
                        return Box::pin(self.wait_until_end(context, id, Duration::ZERO)).await;
                    }
                    Ok(explanation) => (explanation.message, Some(explanation.reason)),
                    Err(_) => ("its state cannot be read now".into(), None),
                };
                Err(Error::StillRunning { job_id: id.clone(), status, explanation, reason })
            }
        }
    }
}
