//! The jobs that a script creates.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use serde::de::IgnoredAny;

use super::host::CallingJob;
use crate::dispatch::{Error, check_relations};
use hero_audit::{self as audit, Record, Who};
use hero_model::{ErrorKind, JobId, JobSpec, Json, Status, without_position};

/// Maximum number of jobs that an attempt may create.
const MOST_CREATED: u32 = 1000;

impl CallingJob {
    /// Creates a relative of the job and starts it. It waits for this job by itself.
    pub(super) async fn spawn(&self, spec: &Json, as_continuation: bool) -> Result<JobId, Error> {
        let wrong = |message: String| Error::Invalid { param: "job", message };
        // The position is left out, because the script has not written this text.
        let none = |error: serde_json::Error| wrong(format!("is not what a job may be: {}", without_position(&error.to_string())));
        // Reads the names only: a tree would take many times the bytes.
        let given: HashMap<String, IgnoredAny> = serde_json::from_str(spec.as_str()).map_err(none)?;
        let relation = if as_continuation { "predecessor_id" } else { "parent_id" };
        for fixed in ["context_id", "caller_id", "parent_id", relation] {
            if given.contains_key(fixed) {
                return Err(wrong(format!("has a {fixed}, which follows from the job that creates it; leave it out")));
            }
        }
        let spec: JobSpec = serde_json::from_str(spec.as_str()).map_err(none)?;
        if self.created.fetch_add(1, Ordering::Relaxed) >= MOST_CREATED {
            return Err(wrong(format!("is one too many: an attempt of a job creates {MOST_CREATED} others at most")));
        }
        let this = || Some(self.job.clone());
        let mut related = if as_continuation { JobSpec { predecessor_id: this(), ..spec } } else { JobSpec { parent_id: this(), ..spec } };
        // Before the relatives are looked up.
        check_relations(&mut related)?;
        self.ensure_own(&related).await?;
        let begun = || Record { context: Some(self.context), ..Record::new(Who::Job(self.job.clone()), "spawn", audit::Outcome::Unknown) };
        let mut doing = self.audit.begin(begun).map_err(|closed| wrong(format!("cannot be created: {closed}")))?;
        let is_keyed = related.idempotency_key.is_some();
        // A foreign job may have no caller.
        let caller_id = Some(self.caller.clone()).filter(|caller| !caller.is_empty());
        let id = self.run(JobSpec { context_id: self.context, caller_id, ..related }).await;
        doing.end(|record| match &id {
            Ok(id) => (record.outcome, record.object) = (audit::Outcome::Ok, Some(format!("job:{id}"))),
            // It is unknown whether the job was created.
            Err(Error::Store { not_done: false, .. }) => {}
            Err(_) => record.outcome = audit::Outcome::Bad,
        });
        let id = id?;
        if is_keyed {
            self.try_again(&id).await?;
        }
        Ok(id)
    }

    /// Creates a job and starts it, once, however often the call is repeated.
    async fn run(&self, spec: JobSpec) -> Result<JobId, Error> {
        // The job that an earlier try may have created.
        let made: Mutex<Option<JobId>> = Mutex::default();
        let known = || made.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (began, lease) = (self.store.clock().now(), [(self.job.clone(), self.claim)]);
        let create = || async {
            let before = known();
            // A server that slept, or was cut off, for longer than a lease does not act for an attempt that is another server's by now.
            let lost = self.store.queues().renew(&lease).await;
            let lost = lost.map_err(|source| Error::Store { job_id: before.clone(), not_done: before.is_none(), source })?;
            if !lost.is_empty() {
                let message = "cannot be created: this attempt lost its lease".to_owned();
                return Err(Error::Invalid { param: "job", message });
            }
            // A keyed job is found by its key, which stands for exactly this request: with an id it would be another
            // job.
            let given = before.clone().filter(|_| spec.idempotency_key.is_none());
            let spec = JobSpec { job_id: given.or_else(|| spec.job_id.clone()), ..spec.clone() };
            match Box::pin(self.dispatcher.jobs().run(spec)).await {
                Err(Error::Exists { job_id, status }) if before.as_ref() == Some(&job_id) => {
                    let job = self.dispatcher.jobs().job(self.context, &job_id).await?;
                    let is_own = [&job.parent_id, &job.predecessor_id].into_iter().flatten().any(|id| *id == self.job);
                    if is_own && job.created_at.is_some_and(|at| at >= began) { Ok(job_id) } else { Err(Error::Exists { job_id, status }) }
                }
                Err(error) => {
                    if let Error::Store { job_id: Some(id), not_done: false, .. } = &error {
                        *made.lock().unwrap_or_else(PoisonError::into_inner) = Some(id.clone());
                    }
                    Err(error)
                }
                Ok(id) => Ok(id),
            }
        };
        self.retry.run(create).await
    }

    /// Refuses a job that names jobs of other callers: it would see their outputs, and they would decide whether it
    /// runs.
    async fn ensure_own(&self, spec: &JobSpec) -> Result<(), Error> {
        let others: Vec<&JobId> = spec.named().filter(|id| **id != self.job).collect();
        if others.is_empty() {
            return Ok(());
        }
        let nobody = |caller: &str| matches!(caller, "" | JobSpec::ANONYMOUS);
        let is_own = |owner: &String| *owner == self.caller || (nobody(owner) && nobody(&self.caller));
        if self.retry.run(|| self.dispatcher.jobs().owners(self.context, &others)).await?.iter().flatten().all(is_own) {
            return Ok(());
        }
        Err(Error::Invalid { param: "job", message: "names a job of another caller than that of the job that creates it".to_owned() })
    }

    /// Retries a child that an earlier attempt created, and that was given up because that attempt failed.
    async fn try_again(&self, id: &JobId) -> Result<(), Error> {
        let job = self.retry.run(|| self.dispatcher.jobs().job(self.context, id)).await?;
        let given_up = job.status == Status::Error && job.error.is_some_and(|error| error.kind == ErrorKind::Prerequisite);
        if !given_up {
            return Ok(());
        }
        match self.retry.run(|| Box::pin(self.dispatcher.jobs().retry(self.context, id))).await {
            Ok(_) | Err(Error::State { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
