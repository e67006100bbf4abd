use std::collections::{HashMap, HashSet};

use super::Error;
use super::error::RETRY_AFTER;
use super::views::JobCalls;
use hero_model::{ContextId, JobId, JobSpec, ScriptType, Status};
use hero_store::{Created, NewJob, Store, Weight};

/// Maximum number of jobs that are created together.
const MOST_JOBS: usize = 1000;
/// Maximum number of relations of jobs that are created together, in total.
const MOST_RELATIONS: usize = 2000;
/// Maximum number of bytes of jobs that are created together, in total.
const MOST_BYTES: usize = 2 * 1024 * 1024;

/// Wraps the error of one of several jobs.
fn entry(index: usize) -> impl Fn(Error) -> Error {
    move |error| Error::Entry { index, error: Box::new(error) }
}

/// A job in the store.
pub(super) struct Stored {
    pub(super) id: JobId,
    pub(super) status: Status,
    /// True if an earlier call with the same idempotency key made it. The id does not tell: both calls may name the
    /// same.
    pub(super) earlier: bool,
}

impl JobCalls<'_> {
    /// Stores a job; [`Self::start`] starts it. The same idempotency key returns the same job.
    pub async fn create(self, spec: JobSpec) -> Result<JobId, Error> {
        let job = self.complete(spec).await?;
        self.store_job(job).await.map(|stored| stored.id)
    }

    /// Stores all of these jobs, or none if one of them is refused. Other jobs may name those that have a `job_id`.
    ///
    /// All are of one context. One step in Redis decides that all of them exist. Many jobs move to their places after
    /// that step, some at a time, so that others may see a part of them for some milliseconds; all are there before
    /// this returns.
    pub async fn create_many(self, specs: Vec<JobSpec>) -> Result<Vec<JobId>, Error> {
        self.store_many(specs, false).await
    }

    /// Stores all of these jobs and starts them, or none if one of them is refused. One call to Redis does so, which bounds
    /// their number and size ([`NewJob::fit_at_once`]).
    pub async fn run_many(self, specs: Vec<JobSpec>) -> Result<Vec<JobId>, Error> {
        self.store_many(specs, true).await
    }

    async fn store_many(self, specs: Vec<JobSpec>, start: bool) -> Result<Vec<JobId>, Error> {
        let Some(context) = specs.first().map(|spec| spec.context_id) else { return Ok(Vec::new()) };
        if specs.len() > MOST_JOBS {
            return Err(Error::invalid("jobs", format!("has {} entries; at most {MOST_JOBS} jobs can be created together", specs.len())));
        }
        let mut jobs = Vec::with_capacity(specs.len());
        for (index, spec) in specs.into_iter().enumerate() {
            if spec.context_id != context {
                let error =
                    Error::invalid("context_id", format!("differs from that of the first entry, {context}; jobs of one call share it"));
                return Err(entry(index)(error));
            }
            jobs.push(NewJob { start, ..self.complete(spec).await.map_err(entry(index))? });
        }
        join(&mut jobs).map_err(|(index, error)| entry(index)(error))?;
        let Weight { bytes, relations } = jobs.iter().map(NewJob::weight).sum();
        if relations > MOST_RELATIONS {
            let message =
                format!("name {relations} other jobs; jobs that are created together name at most {MOST_RELATIONS}, so use several calls");
            return Err(Error::invalid("jobs", message));
        }
        if bytes > MOST_BYTES {
            return Err(Error::TooLarge { what: "jobs", size: bytes, limit: MOST_BYTES, setting: "a fixed limit; use several calls" });
        }
        if start && !NewJob::fit_at_once(&jobs) {
            let message = format!(
                "is for at most {} jobs that name {} others and have {} bytes; use several calls, or create_jobs without it and start_job",
                NewJob::MOST_AT_ONCE.0,
                NewJob::MOST_AT_ONCE.1.relations,
                NewJob::MOST_AT_ONCE.1.bytes
            );
            return Err(Error::invalid("start", message));
        }
        let storing = async {
            for (index, job) in jobs.iter().enumerate() {
                self.admit(job).await.map_err(entry(index))?;
            }
            self.store_together(context, &jobs).await
        };
        match storing.await {
            Err(refused) if jobs.iter().all(|job| job.spec.idempotency_key.is_some()) => {
                let found = self.created_before(&jobs, refused).await?;
                let stored: Result<Vec<Stored>, Error> =
                    found.into_iter().enumerate().map(|(index, stored)| stored.map_err(entry(index))).collect();
                self.go_on(context, stored?, start).await
            }
            stored => stored,
        }
    }

    /// Stores all of these jobs, or none if one of them is refused.
    #[doc(hidden)]
    pub async fn store_together(self, context: ContextId, jobs: &[NewJob]) -> Result<Vec<JobId>, Error> {
        let store = self.0.contexts().store(context).await?;
        let answers = store.jobs().create_all_or_none(jobs).await?;
        // The entry that was refused says why none was stored; `None` only says that another one was.
        if let Some(index) = answers.iter().position(|answer| !answer.is_stored() && *answer != Created::None) {
            let (job, answer) = (&jobs[index], answers[index].clone());
            let is_of_all = matches!(answer, Created::TooFast(_) | Created::ManyStaged | Created::NoMemory | Created::Busy);
            let error = outcome(job.id.clone(), &job.spec.script_type, answer).err().unwrap_or(Error::NotFound(job.id.clone()));
            return Err(if is_of_all { error } else { entry(index)(error) });
        }
        let stored = jobs.iter().zip(answers).map(|(job, answer)| {
            let stored = outcome(job.id.clone(), &job.spec.script_type, answer)?;
            if !stored.earlier {
                log_creation(&store, &stored.id, &job.spec.script_type);
            }
            Ok(stored)
        });
        self.go_on(context, stored.collect::<Result<_, Error>>()?, jobs.iter().any(|job| job.start)).await
    }

    /// Returns the ids of stored jobs. With `start`, starts those that an earlier call created.
    async fn go_on(self, context: ContextId, jobs: Vec<Stored>, start: bool) -> Result<Vec<JobId>, Error> {
        if start {
            for (index, stored) in jobs.iter().enumerate() {
                self.start_earlier(context, stored).await.map_err(entry(index))?;
            }
        }
        Ok(jobs.into_iter().map(|stored| stored.id).collect())
    }

    /// Stores a job, if it is admitted.
    pub(super) async fn store_job(self, job: NewJob) -> Result<Stored, Error> {
        let keyed = job.spec.idempotency_key.is_some().then(|| job.clone());
        match (self.store_new(job).await, keyed) {
            (Err(refused), Some(keyed)) => {
                let mut found = self.created_before(std::slice::from_ref(&keyed), refused).await?;
                found.swap_remove(0)
            }
            (stored, _) => stored,
        }
    }

    /// Returns what earlier calls with the same idempotency keys created, or reused a key for, if all keys are known: a
    /// call that is repeated is not refused for what has changed since.
    async fn created_before(self, jobs: &[NewJob], refused: Error) -> Result<Vec<Result<Stored, Error>>, Error> {
        let Some(first) = jobs.first().filter(|_| refused.precedes_key()) else { return Err(refused) };
        let store = self.0.contexts().store(first.spec.context_id).await?;
        let Ok(found) = store.jobs().find_keyed(jobs).await else { return Err(refused) };
        let found: Option<Vec<Created>> = found.into_iter().collect();
        let Some(found) = found.filter(|found| found.len() == jobs.len()) else { return Err(refused) };
        Ok(found.into_iter().zip(jobs).map(|(found, job)| outcome(job.id.clone(), &job.spec.script_type, found)).collect())
    }

    async fn store_new(self, job: NewJob) -> Result<Stored, Error> {
        self.admit(&job).await?;
        let (store, id, script_type) = (self.0.contexts().store(job.spec.context_id).await?, job.id.clone(), job.spec.script_type.clone());
        let created = store.jobs().create(job).await.map_err(Error::of_job(&id))?;
        let stored = outcome(id, &script_type, created)?;
        if !stored.earlier {
            log_creation(&store, &stored.id, &script_type);
        }
        Ok(stored)
    }
}

/// Writes the id of a new job to the log, so that a single job can be followed there.
pub(super) fn log_creation(store: &Store, id: &JobId, script_type: &ScriptType) {
    tracing::debug!(job = %id, %script_type, context = %store.context(), "a job was created");
}

/// Turns all relations between jobs that are stored together into one direction: a dependent gets a prerequisite.
fn join(jobs: &mut [NewJob]) -> Result<(), (usize, Error)> {
    let mut positions: HashMap<JobId, usize> = HashMap::new();
    for (index, job) in jobs.iter().enumerate() {
        if positions.insert(job.id.clone(), index).is_some() {
            return Err((index, Error::invalid("job_id", format!("{} is the id of an earlier entry", job.id))));
        }
    }
    let mut keys = HashSet::new();
    for (index, NewJob { spec, .. }) in jobs.iter().enumerate() {
        if let Some(key) = &spec.idempotency_key
            && !keys.insert((&spec.caller_id, key))
        {
            return Err((index, Error::invalid("idempotency_key", format!("{key:?} is that of an earlier entry"))));
        }
    }
    for index in 0..jobs.len() {
        let (id, spec) = (jobs[index].id.clone(), jobs[index].spec.clone());
        let named = spec.named();
        if let Some(other) =
            named.into_iter().find(|other| positions.get(*other).is_some_and(|at| jobs[*at].spec.idempotency_key.is_some()))
        {
            // The key may stand for an older job with another id.
            let error = Error::invalid(
                "idempotency_key",
                format!("is not possible for {other}, because jobs[{index}] names it; its job_id does the same"),
            );
            return Err((positions[other], error));
        }
        let (here, elsewhere): (Vec<JobId>, Vec<JobId>) =
            spec.dependents.into_iter().partition(|other| *other != id && positions.contains_key(other));
        jobs[index].spec.dependents = elsewhere;
        for other in here {
            let prerequisites = &mut jobs[positions[&other]].spec.prerequisites;
            if !prerequisites.contains(&id) {
                prerequisites.push(id.clone());
            }
        }
    }
    Ok(())
}

/// Removes ids that occur more than once.
pub(super) fn distinct(ids: &mut Vec<JobId>) {
    let mut seen = HashSet::new();
    ids.retain(|id| seen.insert(id.clone()));
}

/// Converts the result of storing a job for the caller.
fn outcome(id: JobId, script_type: &ScriptType, created: Created) -> Result<Stored, Error> {
    match created {
        Created::Created(status) => Ok(Stored { id, status, earlier: false }),
        Created::Same(id, status) => Ok(Stored { id, status, earlier: true }),
        Created::Exists(status) => Err(Error::Exists { job_id: id, status }),
        Created::Reused(id) => Err(Error::IdempotencyReused(id)),
        Created::Full(length) => Err(Error::queue_full(&format!("the queue for {script_type}"), length)),
        Created::NoList => Err(Error::queue_is_no_list(&format!("the queue for {script_type}"))),
        Created::NoRelative(param, others) => match others.as_slice() {
            [other] => Err(Error::invalid(param, format!("job {other} does not exist"))),
            others => Err(Error::invalid(param, format!("jobs {} do not exist", list(others)))),
        },
        Created::Late(other, status) => Err(Error::invalid("dependents", format!("job {other} is {status}, so it cannot wait any more"))),
        Created::Crowded(other) => Err(Error::invalid(
            "dependents",
            format!("job {other} waits for as many others as it may; a job between them could wait for some"),
        )),
        Created::Unreleased => Err(Error::Full {
            what: format!("a job that had the id {id} is gone, and those that waited for it are still being let go"),
            retry_after: RETRY_AFTER,
        }),
        Created::Busy => Err(Error::relations_busy()),
        Created::Cycle(others) => match others.as_slice() {
            [other] => Err(Error::invalid("prerequisites", format!("job {other} would wait for itself"))),
            others => Err(Error::invalid("prerequisites", format!("jobs {} would wait for each other", list(others)))),
        },
        Created::Tangled => {
            Err(Error::invalid("prerequisites", "has too many relations behind it to tell whether the job would wait for itself"))
        }
        Created::TooFast(retry_after) => Err(Error::TooFast { retry_after }),
        Created::NoMemory => Err(Error::out_of_memory()),
        Created::ManyStaged => Err(Error::Full {
            what: "the maximum number of lists of jobs is being created in this context".into(),
            retry_after: RETRY_AFTER,
        }),
        Created::NotFired(_) => unreachable!("only the scheduler stores jobs that have an occurrence"),
        Created::None => Err(Error::invalid("jobs", "another entry was refused")),
    }
}

fn list(ids: &[JobId]) -> String {
    ids.iter().map(JobId::as_str).collect::<Vec<_>>().join(", ")
}
