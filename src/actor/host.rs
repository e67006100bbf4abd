use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::future::BoxFuture;
use serde::Serialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::job_log::JobLog;
use super::progress::ProgressTeller;
use crate::access::Authority;
use crate::audit::{self, Audit, Record, Who};
use crate::dispatch::{Dispatcher, Error, Room};
use crate::engine::{Answer, Capability, Host, JobCall, LogRecord, ObjectCall, Question};
use crate::model::{ContextId, ErrorKind, JobId, JobSpec, Json, LogLevel, Progress, Status, without_position};
use crate::process::keep::Used;
use crate::sal::Session;
use crate::store::Store;

/// How many jobs an attempt of a job may create.
const MOST_CREATED: u32 = 1000;

/// What one attempt of a job has of the outside: its log, its progress, and what its actor answers it.
///
/// Context, caller and rights are fixed here. An engine that was taken over asks for no more than a script of its pool may.
pub(super) struct JobHost {
    pub(super) log: JobLog,
    pub(super) asker: Asker,
    pub(super) capabilities: Vec<Capability>,
    /// What the job does outside.
    pub(super) session: Arc<Session>,
    pub(super) progress: Option<ProgressTeller>,
}

/// In whose name a script asks.
#[derive(Clone)]
pub(super) struct Asker {
    pub(super) dispatcher: Dispatcher,
    pub(super) store: Store,
    pub(super) context: ContextId,
    pub(super) job: JobId,
    /// The number of the claim, for what only its holder may do.
    pub(super) claim: u32,
    pub(super) caller: String,
    /// How many jobs it has created in this attempt.
    pub(super) created: Arc<AtomicU32>,
    /// Where it is recorded that it has.
    pub(super) audit: Audit,
    /// Who may do what, if anybody has to be asked.
    pub(super) authority: Option<Authority>,
}

impl Host for JobHost {
    fn log(&mut self, records: Vec<LogRecord>) {
        self.log.log(records);
    }

    fn answer(&mut self, question: Question) -> BoxFuture<'static, Answer> {
        let needed = question.needs();
        if !self.capabilities.contains(&needed) {
            return Box::pin(std::future::ready(Err(format!("that is for {}", needed.who()))));
        }
        let (uses, name) = (question.uses(), question.name());
        if let Question::Progress(progress) = question {
            self.tell(progress);
            return Box::pin(std::future::ready(Ok(Value::Null.into())));
        }
        let (asker, session) = (self.asker.clone(), self.session.clone());
        Box::pin(async move {
            asker.may(uses, name).await?;
            match question {
                Question::Objects(call) => asker.of_objects(call).await.map_err(|error| told(&error)),
                Question::Jobs(call) => asker.of_jobs(call).await.map_err(|error| told(&error)),
                Question::Outside(call) => session.answer(call).await,
                Question::Progress(_) => Ok(Value::Null.into()),
            }
        })
    }
}

impl JobHost {
    fn tell(&mut self, progress: Progress) {
        let Asker { store, job, claim, .. } = &self.asker;
        let new = || ProgressTeller::new(store.clone(), job.clone(), *claim, self.log.masker());
        self.progress.get_or_insert_with(new).say(progress);
    }

    /// Waits until log and progress are written, and nothing is left running. Says whether there was a log, and what was used outside.
    pub(super) async fn finish(mut self) -> (bool, Used) {
        let (used, why_ended) = self.session.finish().await;
        if let Some(text) = why_ended {
            self.log.log(vec![LogRecord { level: LogLevel::Warn, text }]);
        }
        if let Some(progress) = self.progress {
            progress.finish().await;
        }
        (self.log.finish().await, used)
    }
}

impl Asker {
    async fn of_objects(&self, call: ObjectCall) -> Result<Json, Error> {
        let objects = self.dispatcher.objects(self.context).await?;
        Ok(match call {
            ObjectCall::Set { collection, object } => objects.set(&collection, &object).await?.as_str().into(),
            ObjectCall::Get { collection, id } => objects.get(&collection, &id).await?.unwrap_or_else(|| Value::Null.into()),
            ObjectCall::Has { collection, id } => objects.exists(&collection, &id).await?.into(),
            ObjectCall::Delete { collection, id } => objects.delete(&collection, &id).await?.into(),
            ObjectCall::Find { collection, query } => written(&objects.find(&collection, &query, Room::OF_SCRIPT).await?)?,
            ObjectCall::Index { collection, fields } => {
                objects.index(&collection, &fields).await?;
                Value::Null.into()
            }
            ObjectCall::DropIndex { collection, field } => objects.drop_index(&collection, &field).await?.into(),
        })
    }

    async fn of_jobs(&self, call: JobCall) -> Result<Json, Error> {
        Ok(match call {
            JobCall::Spawn { spec, as_heir } => self.spawn(&spec, as_heir).await?.as_str().into(),
            JobCall::Inputs => written(&self.dispatcher.inputs(self.context, &self.job).await?)?,
            JobCall::Slot => self.dispatcher.slot(self.context, &self.job).await?.map_or(Value::Null, Value::from).into(),
        })
    }

    /// Creates a relative of the job and starts it: it waits for this one by itself.
    async fn spawn(&self, spec: &Json, as_heir: bool) -> Result<JobId, Error> {
        let wrong = |message: String| Error::Invalid { param: "job", message };
        // Where in a text that the script has not written says nothing.
        let none = |error: serde_json::Error| wrong(format!("is not what a job may be: {}", without_position(&error.to_string())));
        // The names alone: a tree would take many times the bytes.
        let given: HashMap<String, IgnoredAny> = serde_json::from_str(spec.as_str()).map_err(none)?;
        let relation = if as_heir { "predecessor_id" } else { "parent_id" };
        for fixed in ["context_id", "caller_id", "parent_id", relation] {
            if given.contains_key(fixed) {
                return Err(wrong(format!("has a {fixed}, which follows from the job that creates it; leave it out")));
            }
        }
        let spec: JobSpec = serde_json::from_str(spec.as_str()).map_err(none)?;
        if self.created.fetch_add(1, Ordering::Relaxed) >= MOST_CREATED {
            return Err(wrong(format!("is one too many: an attempt of a job creates {MOST_CREATED} others at most")));
        }
        // A server that slept for longer than a lease does not act for an attempt that is another server's by now.
        let lost = self.store.renew(&[(self.job.clone(), self.claim)]).await;
        if !lost.map_err(|source| Error::Store { job_id: None, not_done: true, source })?.is_empty() {
            return Err(wrong("cannot be created: this attempt lost its lease".to_owned()));
        }
        let this = || Some(self.job.clone());
        let related = if as_heir { JobSpec { predecessor_id: this(), ..spec } } else { JobSpec { parent_id: this(), ..spec } };
        self.ensure_own(&related).await?;
        let begun = || Record { context: Some(self.context), ..Record::new(Who::Job(self.job.clone()), "spawn", audit::Outcome::Unknown) };
        let mut doing = self.audit.begin(begun).map_err(|closed| wrong(format!("cannot be created: {closed}")))?;
        let is_keyed = related.idempotency_key.is_some();
        // A foreign job may name no caller.
        let caller_id = Some(self.caller.clone()).filter(|caller| !caller.is_empty());
        let id = Box::pin(self.dispatcher.run(JobSpec { context_id: self.context, caller_id, ..related })).await;
        doing.end(|record| match &id {
            Ok(id) => (record.outcome, record.object) = (audit::Outcome::Ok, Some(format!("job:{id}"))),
            // Whether it was created is not known.
            Err(Error::Store { not_done: false, .. }) => {}
            Err(_) => record.outcome = audit::Outcome::Bad,
        });
        let id = id?;
        if is_keyed {
            self.try_again(&id).await?;
        }
        Ok(id)
    }

    /// Refuses a job that names jobs of other callers: what these gave it would see, and whether they run it would decide.
    async fn ensure_own(&self, spec: &JobSpec) -> Result<(), Error> {
        let others: Vec<&JobId> = spec.named().filter(|id| **id != self.job).collect();
        if others.is_empty() {
            return Ok(());
        }
        let nobody = |caller: &str| matches!(caller, "" | JobSpec::ANONYMOUS);
        let is_own = |owner: &String| *owner == self.caller || (nobody(owner) && nobody(&self.caller));
        if self.dispatcher.owners(self.context, &others).await?.iter().flatten().all(is_own) {
            return Ok(());
        }
        Err(Error::Invalid { param: "job", message: "names a job of another caller than that of the job that creates it".to_owned() })
    }

    /// A child that was created by an earlier attempt, and was given up because that failed, is tried again with its parent.
    async fn try_again(&self, id: &JobId) -> Result<(), Error> {
        let job = self.dispatcher.job(self.context, id).await?;
        let given_up = job.status == Status::Error && job.error.is_some_and(|error| error.kind == ErrorKind::Prerequisite);
        if !given_up {
            return Ok(());
        }
        match Box::pin(self.dispatcher.retry(self.context, id)).await {
            Ok(_) | Err(Error::State { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// As JSON that an engine reads. What is nested deeper than that may be cannot be told.
fn written(value: &impl Serialize) -> Result<Json, Error> {
    let text = serde_json::to_string(value).and_then(|text| serde_json::from_str(&text));
    text.map_err(|error| Error::Invalid { param: "answer", message: format!("cannot be told: {error}") })
}

/// What a script is told. What went wrong in the store stays outside.
fn told(error: &Error) -> String {
    match error {
        Error::Store { source, .. } if source.is_spoilt() => format!("{source}; nothing was done"),
        Error::Store { not_done: true, .. } => "the store is unavailable; nothing was done".to_owned(),
        Error::Store { job_id: Some(id), .. } => format!("the store is unavailable; whether it was done is unknown (job {id})"),
        Error::Store { .. } => "the store is unavailable; whether it was done is unknown".to_owned(),
        // The script gave no parameters of these names.
        Error::Invalid { param: what @ ("object" | "job" | "answer"), message } => format!("the {what} {message}"),
        error => error.to_string(),
    }
}
