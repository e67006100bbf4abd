use std::collections::HashSet;
use std::time::Duration;

use tokio::time::Instant;

use super::error::Failure;
use super::{Error, Flows, drive};
use hero_jobs::dispatch;
use hero_model::{ContextId, ErrorKind, Flow, FlowId, FlowSpec, FlowStatus, JobId, RunnerId, Status};
use hero_store::{Advanced, FlowAction};

/// Maximum number of failed jobs that the error of a flow names.
const MOST_NAMED: usize = 16;
/// The first and the maximum pause between two checks of a flow whose jobs have all ended, while an operation on it is
/// still under way.
const POLL_INTERVALS: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(250));

impl Flows {
    /// Runs a flow and waits for its end. It cannot hang: `wait` ends it with [`Error::StillRunning`], and the flow
    /// goes on.
    pub async fn run_and_wait(&self, spec: FlowSpec, wait: Duration) -> Result<Flow, Error> {
        let (context, deadline) = (spec.context_id, Instant::now() + wait);
        let (flow, _) = self.run(spec).await?;
        self.wait_until(context, flow, deadline).await
    }

    /// Waits for the end of a flow. A `wait` of zero checks once.
    pub async fn wait(&self, context: ContextId, flow: FlowId, wait: Duration) -> Result<Flow, Error> {
        self.wait_until(context, flow, Instant::now() + wait).await
    }

    async fn wait_until(&self, context: ContextId, flow: FlowId, deadline: Instant) -> Result<Flow, Error> {
        let only_looks = deadline <= Instant::now();
        let (mut awaited, mut pause) = (None, POLL_INTERVALS.0);
        loop {
            let state = self.store(context).await?.flows().state(flow).await?.ok_or(Error::NotFound(flow))?;
            if state.status.is_final() {
                return self.result(context, flow).await;
            }
            if Instant::now() >= deadline || self.dispatcher.is_closing() {
                // A caller that only checks gets no further explanation.
                let gone = if only_looks { None } else { self.without_runner(context, flow).await.unwrap_or_default() };
                return Err(Error::StillRunning { flow, status: state.status, open: state.open, gone });
            }
            if state.open > 0 {
                let last = match &mut awaited {
                    Some(last) => last,
                    None => awaited.insert(self.last_jobs(context, flow).await?),
                };
                if self.await_one(context, last, deadline).await? {
                    pause = POLL_INTERVALS.0;
                    continue;
                }
                // All of these have ended, so others run again, or are about to be stopped.
                awaited = None;
            } else if self.ends(context, flow).await? {
                continue;
            }
            tokio::time::sleep_until((Instant::now() + pause).min(deadline)).await;
            pause = (pause * 2).min(POLL_INTERVALS.1);
        }
    }

    /// Continues the operation on a flow whose jobs have all ended. Returns true if the flow has ended with it.
    async fn ends(&self, context: ContextId, flow: FlowId) -> Result<bool, Error> {
        let advanced = drive(&*self.store(context).await?, flow, FlowAction::Continue).await?;
        Ok(matches!(advanced, Advanced::Done(status) if status.is_final()))
    }

    /// Returns the first job of a flow that has not ended and whose runner was deleted.
    async fn without_runner(&self, context: ContextId, flow: FlowId) -> Result<Option<(String, RunnerId)>, Error> {
        let store = self.store(context).await?;
        let Some(stored) = store.flows().get(flow).await? else { return Ok(None) };
        let mut looked = HashSet::new();
        for job in store.flows().jobs(&stored).await? {
            let is_open = job.status.is_some_and(|status| !status.is_final());
            let Some(runner) = job.runner.filter(|runner| is_open && looked.insert(*runner)) else { continue };
            if store.runners().get(runner).await?.is_none() {
                return Ok(Some((job.name, runner)));
            }
        }
        Ok(None)
    }

    /// Returns the jobs of a flow that no other of its jobs waits for: when they have ended, all have.
    async fn last_jobs(&self, context: ContextId, flow: FlowId) -> Result<Vec<JobId>, Error> {
        let store = self.store(context).await?;
        let stored = store.flows().get(flow).await?.ok_or(Error::NotFound(flow))?;
        let jobs = store.flows().jobs(&stored).await?;
        let awaited: HashSet<&str> = jobs.iter().flat_map(|job| &job.depends_on).map(String::as_str).collect();
        let has_ended = |status: Option<Status>| status.is_none_or(Status::is_final);
        let last = jobs.iter().filter(|job| !awaited.contains(job.name.as_str()) && !has_ended(job.status));
        Ok(last.map(|job| job.job_id.clone()).collect())
    }

    /// Waits for the end of one of these jobs, and removes it. Returns false if there are none left.
    async fn await_one(&self, context: ContextId, jobs: &mut Vec<JobId>, deadline: Instant) -> Result<bool, Error> {
        let Some(job) = jobs.last() else { return Ok(false) };
        let wait = deadline.saturating_duration_since(Instant::now());
        match self.dispatcher.jobs().wait_until_end(context, job, wait).await {
            Ok(_) | Err(dispatch::Error::Failed { .. } | dispatch::Error::NotFound(_)) => {
                jobs.pop();
                Ok(true)
            }
            Err(dispatch::Error::StillRunning { .. }) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns a flow that has ended, or its failures as an error.
    async fn result(&self, context: ContextId, flow: FlowId) -> Result<Flow, Error> {
        let ended = self.get(context, flow).await?;
        if ended.status != FlowStatus::Error {
            return Ok(ended);
        }
        // Jobs that were stopped, or never ran, because of other jobs are not the cause.
        let by_itself = |kind: ErrorKind| !matches!(kind, ErrorKind::Stopped | ErrorKind::Prerequisite);
        let failures = ended.jobs.into_iter().filter(|job| job.status == Some(Status::Error));
        let mut failures: Vec<Failure> =
            failures.filter_map(|job| Some(Failure { name: job.name, job_id: job.job_id, error: job.error? })).collect();
        // If there are only such jobs, the cause lies outside, or a client stopped one of them.
        if failures.iter().any(|failure| by_itself(failure.error.kind)) || ended.stop_requested {
            failures.retain(|failure| by_itself(failure.error.kind));
        }
        failures.truncate(MOST_NAMED);
        Err(Error::Failed { flow, failures, stopped: ended.stop_requested })
    }
}
