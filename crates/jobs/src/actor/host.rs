use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;

use super::job_log::JobLog;
use super::progress::ProgressWriter;
use super::store_retry::StoreRetry;
use crate::dispatch::{Dispatcher, Error, Room};
use hero_access::Authority;
use hero_audit::Audit;
use hero_engine::{Answer, Capability, Host, HostCall, JobCall, LogRecord, ObjectCall, Use};
use hero_model::{ContextId, JobId, Json, LogLevel, Progress};
use hero_process::keep::Used;
use hero_sal::AttemptResources;
use hero_store::{self as store, SpeculativeRun, Store, may_have_effects};

/// The host of one attempt of a job: its log, its progress, and the answers to its host calls.
///
/// Context, caller and rights are fixed here. A compromised engine can ask for no more than a script of its pool.
pub(super) struct JobHost {
    pub(super) log: JobLog,
    pub(super) calling_job: CallingJob,
    pub(super) capabilities: Vec<Capability>,
    /// The files, processes and connections of the job.
    pub(super) resources: Arc<AttemptResources>,
    pub(super) progress: Option<ProgressWriter>,
    /// Set if the attempt began before its job is stored.
    pub(super) speculation: Option<SpeculativeRun>,
}

/// The job that makes a host call, and its caller.
#[derive(Clone)]
pub(super) struct CallingJob {
    pub(super) dispatcher: Dispatcher,
    pub(super) store: Store,
    pub(super) context: ContextId,
    pub(super) job: JobId,
    /// The number of the claim, for calls that only its holder may make.
    pub(super) claim: u32,
    pub(super) caller: String,
    /// The number of host calls in this attempt that need an identity. `created` counts the jobs it has created.
    pub(super) asked: Arc<AtomicU32>,
    pub(super) created: Arc<AtomicU32>,
    /// Repeats calls while the store is away.
    pub(super) retry: StoreRetry,
    /// The audit log for calls.
    pub(super) audit: Audit,
    /// Checks the rights of callers, where they log in.
    pub(super) authority: Option<Authority>,
}

impl Host for JobHost {
    fn log(&mut self, records: Vec<LogRecord>) {
        self.log.log(records);
    }

    fn answer(&mut self, host_call: HostCall) -> BoxFuture<'static, Answer> {
        let needed = host_call.needs();
        if !self.capabilities.contains(&needed) {
            return Box::pin(std::future::ready(Err(format!("that is for {}", needed.who()))));
        }
        let (uses, name) = (host_call.uses(), host_call.name());
        if let HostCall::Progress(progress) = host_call {
            self.set_progress(progress);
            return Box::pin(std::future::ready(Ok(Value::Null.into())));
        }
        let (calling_job, resources, speculation) = (self.calling_job.clone(), self.resources.clone(), self.speculation.clone());
        Box::pin(async move {
            if !may_have_effects(speculation.as_ref()).await {
                return Err("the job was not stored; nothing was done".to_owned());
            }
            calling_job.may(uses, name).await?;
            match host_call {
                HostCall::Objects(call) => calling_job.of_objects(call).await.map_err(|error| told(&error, uses)),
                HostCall::Jobs(call) => calling_job.of_jobs(call).await.map_err(|error| told(&error, uses)),
                HostCall::Resource(call) => resources.answer(call).await,
                HostCall::Progress(_) => Ok(Value::Null.into()),
            }
        })
    }
}

impl JobHost {
    fn set_progress(&mut self, progress: Progress) {
        let CallingJob { store, job, claim, .. } = &self.calling_job;
        let new = || ProgressWriter::new(store.clone(), job.clone(), *claim, self.log.masker(), self.speculation.clone());
        self.progress.get_or_insert_with(new).set(progress);
    }

    /// Waits until log and progress are written and no process is left. Returns whether there was a log, and the
    /// resources used outside.
    pub(super) async fn finish(mut self) -> (bool, Used) {
        let (used, why_ended) = self.resources.finish().await;
        if let Some(text) = why_ended {
            self.log.log(vec![LogRecord { level: LogLevel::Warn, text }]);
        }
        if let Some(progress) = self.progress {
            progress.finish().await;
        }
        (self.log.finish().await, used)
    }
}

impl CallingJob {
    async fn of_objects(&self, call: ObjectCall) -> Result<Json, Error> {
        let (job, number) = (self.job.clone(), self.asked.fetch_add(1, Ordering::Relaxed));
        let (call, host_call) = (&call, &store::HostCallId { job, claim: self.claim, number });
        self.retry.run(|| self.ask_objects(call, host_call)).await
    }

    async fn ask_objects(&self, call: &ObjectCall, host_call: &store::HostCallId) -> Result<Json, Error> {
        let (objects, host_call) = (self.dispatcher.contexts().objects(self.context).await?, Some(host_call));
        Ok(match call {
            ObjectCall::Set { collection, object } => objects.set_once(collection, object, host_call).await?.as_str().into(),
            ObjectCall::Get { collection, id } => objects.get(collection, id).await?.unwrap_or_else(|| Value::Null.into()),
            ObjectCall::Has { collection, id } => objects.exists(collection, id).await?.into(),
            ObjectCall::Delete { collection, id } => objects.delete_once(collection, id, host_call).await?.into(),
            ObjectCall::Find { collection, query } => written(&objects.find(collection, query, Room::OF_SCRIPT).await?)?,
            ObjectCall::Index { collection, fields } => {
                objects.index(collection, fields).await?;
                Value::Null.into()
            }
            ObjectCall::DropIndex { collection, field } => objects.drop_index_once(collection, field, host_call).await?.into(),
        })
    }

    async fn of_jobs(&self, call: JobCall) -> Result<Json, Error> {
        Ok(match call {
            JobCall::Spawn { spec, as_continuation } => self.spawn(&spec, as_continuation).await?.as_str().into(),
            JobCall::Inputs => written(&self.retry.run(|| self.dispatcher.jobs().inputs(self.context, &self.job)).await?)?,
            JobCall::Occurrence => {
                let occurrence = self.retry.run(|| self.dispatcher.jobs().occurrence(self.context, &self.job)).await?;
                occurrence.map_or(Value::Null, Value::from).into()
            }
        })
    }
}

/// Serializes a value as JSON for an engine. Fails if the value is nested too deeply.
fn written(value: &impl Serialize) -> Result<Json, Error> {
    let text = serde_json::to_string(value).and_then(|text| serde_json::from_str(&text));
    text.map_err(|error| Error::Invalid { param: "answer", message: format!("cannot be told: {error}") })
}

/// Returns the text of an error for a script. Details of the store are left out.
fn told(error: &Error, uses: Use) -> String {
    if let Error::Store { source, .. } = error {
        tracing::debug!(error = %source, "a host call of a script was not answered");
    }
    match error {
        Error::Store { source, .. } if source.is_spoilt() => format!("{source}; nothing was done"),
        Error::Store { .. } if matches!(uses, Use::Itself | Use::Inputs | Use::Read) => "the store cannot be read".to_owned(),
        Error::Store { not_done: true, .. } => "the store is unavailable; nothing was done".to_owned(),
        Error::Store { job_id: Some(id), .. } => format!("the store is unavailable; whether it was done is unknown (job {id})"),
        Error::Store { .. } => "the store is unavailable; whether it was done is unknown".to_owned(),
        // The script has no parameters with these names.
        Error::Invalid { param: what @ ("object" | "job" | "answer"), message } => format!("the {what} {message}"),
        error => error.to_string(),
    }
}
