use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use super::graph::{order, problems};
use super::{Error, Flows, drive};
use hero_jobs::dispatch;
use hero_model::{FlowId, FlowJobSpec, FlowSpec, FlowStatus, JobId, JobSpec, RunnerId, ScriptType, Seconds};
use hero_store::{Advanced, FlowAction, FlowCreated, JobOfFlow, NewFlow, NewFlowJob, NewJob, Store, views};

/// Default retention of a flow after its end, in seconds.
const DEFAULT_RETENTION_SECONDS: u64 = 7 * 24 * 3600;
/// Minimum retention of a flow with an idempotency key, so that a repeated call finds it.
const MIN_KEYED_RETENTION: Duration = Duration::from_secs(24 * 3600);
/// Maximum length of the name and the idempotency key of a flow, in bytes.
const LONGEST_TEXT: usize = 1024;
/// The pauses between two checks whether another call has created the flow of an idempotency key, in milliseconds.
const PAUSES_MILLIS: [u64; 6] = [10, 50, 200, 1000, 1000, 1000];
/// Maximum number of jobs, relations and bytes of jobs that one call stores. Redis does nothing else meanwhile.
const MAX_PER_CALL: (usize, usize, usize) = (32, 125, 1 << 17);
/// Maximum number of bytes of the jobs of a flow together.
const MOST_BYTES: usize = 4 << 20;

impl Flows {
    /// Creates a flow with its jobs; [`Flows::start`] starts it. Creates all of it or nothing. The same idempotency key
    /// returns the same flow.
    pub async fn create(&self, spec: FlowSpec) -> Result<FlowId, Error> {
        self.make(spec, false).await.map(|(flow, _)| flow)
    }

    /// Like [`Self::create`], but also starts the flow if it was not started.
    pub async fn run(&self, spec: FlowSpec) -> Result<(FlowId, FlowStatus), Error> {
        self.make(spec, true).await
    }

    async fn make(&self, mut spec: FlowSpec, starts: bool) -> Result<(FlowId, FlowStatus), Error> {
        let store = self.store(spec.context_id).await?;
        spec.caller_id.get_or_insert_with(|| JobSpec::ANONYMOUS.to_owned());
        let refused = match self.store_flow(&store, &spec, starts).await {
            Err(refused) if spec.idempotency_key.is_some() && refused.precedes_key() => refused,
            stored => return stored,
        };
        // A call that is repeated is not refused for what has changed since.
        match store.flows().find_keyed(&spec).await {
            Ok(Some(found)) => created_before(&store, found, starts).await,
            _ => Err(refused),
        }
    }

    async fn store_flow(&self, store: &Store, spec: &FlowSpec, starts: bool) -> Result<(FlowId, FlowStatus), Error> {
        check(spec)?;
        let caller_id = spec.caller_id.as_deref().unwrap_or(JobSpec::ANONYMOUS);
        let (members, mut jobs) = self.prepare(spec).await?;
        let bytes = jobs.iter().map(|job| job.weight().bytes).sum();
        if bytes > MOST_BYTES {
            let setting = "a fixed limit";
            return Err(dispatch::Error::TooLarge { what: "the jobs of the flow", size: bytes, limit: MOST_BYTES, setting }.into());
        }
        // The specification has no named callers: a caller without a number has the number 0.
        let caller = caller_id.parse().unwrap_or(0);
        let kept = spec.retention.map_or(Duration::from_secs(DEFAULT_RETENTION_SECONDS), Seconds::duration);
        let retention = Seconds::from(if spec.idempotency_key.is_some() { kept.max(MIN_KEYED_RETENTION) } else { kept });
        let new = NewFlow { spec, caller, caller_id, retention, jobs: &members };
        let (flow, numbers) = match begin(store, &new).await? {
            FlowCreated::Created(flow, numbers) => (flow, numbers),
            found @ (FlowCreated::Same(..) | FlowCreated::Making(_) | FlowCreated::Reused(_)) => {
                return created_before(store, found, starts).await;
            }
            FlowCreated::TooFast(retry_after) => return Err(dispatch::Error::TooFast { retry_after }.into()),
            FlowCreated::Full => return Err(Error::Full { context: spec.context_id, most: views::Flows::MAX_FLOWS }),
            FlowCreated::NoNumber => return Err(Error::NoNumber(spec.context_id)),
        };
        for (job, number) in jobs.iter_mut().zip(&numbers) {
            job.flow = Some(JobOfFlow { flow, caller, number: *number });
        }
        let storing = async {
            if !store.flows().store_jobs(flow, &new, &numbers).await? {
                return Err(Error::NotFound(flow));
            }
            Box::pin(self.store_all(spec, &members, jobs)).await
        };
        if let Err(error) = storing.await {
            // If this fails, the resumer removes the rest.
            let _ = drive(store, flow, FlowAction::GiveUp).await;
            return Err(error);
        }
        let mut advanced = drive(store, flow, FlowAction::Stored).await?;
        if starts && matches!(advanced, Advanced::Done(status) if !status.is_final()) {
            advanced = drive(store, flow, FlowAction::Start).await?;
        }
        begun(flow, advanced)
    }

    /// Returns the jobs in the form of the flow and in the stored form, each after those that it waits for.
    async fn prepare(&self, spec: &FlowSpec) -> Result<(Vec<NewFlowJob>, Vec<NewJob>), Error> {
        let names = order(spec);
        let places: HashMap<&str, usize> = names.iter().enumerate().map(|(at, name)| (*name, at)).collect();
        let ids: Vec<JobId> = names.iter().map(|_| JobId::random()).collect();
        let types = self.types_of_runners(spec).await?;
        let (mut members, mut jobs) = (Vec::with_capacity(names.len()), Vec::with_capacity(names.len()));
        for (name, id) in names.iter().zip(&ids) {
            let Some(of_flow) = spec.jobs.get(*name) else { continue };
            let waits_for: Vec<usize> = of_flow.depends_on.iter().filter_map(|other| places.get(other.as_str()).copied()).collect();
            let mut prerequisites: Vec<JobId> = waits_for.iter().filter_map(|place| ids.get(*place).cloned()).collect();
            if prerequisites.is_empty() {
                prerequisites.clone_from(&spec.prerequisites);
            }
            let of_job = |error| Error::Job { name: (*name).to_owned(), error: Box::new(error) };
            let script_type = script_type(name, of_flow, &types)?;
            let job = job_spec(spec, name, of_flow, script_type, prerequisites, id);
            let mut job = self.dispatcher.jobs().prepare(job).await.map_err(of_job)?;
            // The id is new, so no other job can have it.
            job.spec.job_id = None;
            members.push(NewFlowJob {
                id: id.clone(),
                name: (*name).to_owned(),
                waits_for,
                spec: job.spec.clone(),
                runner: of_flow.runner,
            });
            jobs.push(job);
        }
        Ok((members, jobs))
    }

    /// Returns the script types of the runners that jobs name. All runners must exist.
    async fn types_of_runners(&self, spec: &FlowSpec) -> Result<BTreeMap<RunnerId, ScriptType>, Error> {
        let named: BTreeSet<RunnerId> = spec.jobs.values().filter_map(|job| job.runner).collect();
        let mut types = BTreeMap::new();
        for id in named {
            let runner = self.runners.get(spec.context_id, id).await?;
            types.insert(id, runner.script_type);
        }
        Ok(types)
    }

    /// Stores the jobs, in calls that are small enough for Redis.
    async fn store_all(&self, spec: &FlowSpec, members: &[NewFlowJob], jobs: Vec<NewJob>) -> Result<(), Error> {
        let (most_jobs, most_relations, most_bytes) = MAX_PER_CALL;
        let (mut some, mut relations, mut bytes, mut stored) = (Vec::new(), 0, 0, 0);
        let mut jobs = jobs.into_iter().peekable();
        while let Some(job) = jobs.next() {
            let weight = job.weight();
            (relations, bytes) = (relations + weight.relations, bytes + weight.bytes);
            some.push(job);
            let next = jobs.peek().map(NewJob::weight);
            let has_room = next.is_some_and(|next| {
                some.len() < most_jobs && relations + next.relations <= most_relations && bytes + next.bytes <= most_bytes
            });
            if has_room {
                continue;
            }
            let many = some.len();
            let of_job = |error| match error {
                dispatch::Error::Entry { index, error } => match members.get(stored + index) {
                    Some(member) => Error::Job { name: member.name.clone(), error },
                    None => Error::Dispatch(*error),
                },
                error => Error::Dispatch(error),
            };
            self.dispatcher.jobs().store_together(spec.context_id, &std::mem::take(&mut some)).await.map_err(of_job)?;
            (relations, bytes, stored) = (0, 0, stored + many);
        }
        Ok(())
    }
}

/// Stores the hash of a flow. If another call is creating the flow with the same idempotency key, waits for a while.
async fn begin(store: &Store, new: &NewFlow<'_>) -> Result<FlowCreated, Error> {
    for pause in PAUSES_MILLIS {
        match store.flows().create(new).await? {
            FlowCreated::Making(_) => tokio::time::sleep(Duration::from_millis(pause)).await,
            created => return Ok(created),
        }
    }
    store.flows().create(new).await.map_err(Error::from)
}

/// Answers with the flow of an idempotency key, which is started if it is to be.
async fn created_before(store: &Store, found: FlowCreated, starts: bool) -> Result<(FlowId, FlowStatus), Error> {
    match found {
        FlowCreated::Same(flow, status) if !starts || status.is_final() => Ok((flow, status)),
        FlowCreated::Same(flow, _) => begun(flow, drive(store, flow, FlowAction::Start).await?),
        FlowCreated::Making(flow) => Err(Error::Making(flow)),
        FlowCreated::Reused(flow) => Err(Error::Reused(flow)),
        _ => unreachable!("these are no answers of a key"),
    }
}

/// Returns the state of a flow that was created and may have been started.
fn begun(flow: FlowId, advanced: Advanced) -> Result<(FlowId, FlowStatus), Error> {
    match advanced {
        // Another client may have started or stopped it meanwhile.
        Advanced::Done(status) | Advanced::More(status) | Advanced::Later(status) | Advanced::Illegal(status) => Ok((flow, status)),
        Advanced::Busy(with) => Err(Error::Busy { flow, with }),
        // Creating it took so long that it was given up.
        Advanced::Missing => Err(Error::NotFound(flow)),
    }
}

fn check(spec: &FlowSpec) -> Result<(), Error> {
    let problems = problems(spec);
    if !problems.is_empty() {
        let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
        return Err(Error::Invalid(told.join("; ")));
    }
    for (param, text) in [("name", &spec.name), ("idempotency_key", &spec.idempotency_key)] {
        if text.as_ref().is_some_and(|text| text.len() > LONGEST_TEXT) {
            return Err(Error::Invalid(format!("{param}: is longer than {LONGEST_TEXT} bytes")));
        }
    }
    if spec.idempotency_key.as_deref() == Some("") {
        return Err(Error::Invalid("idempotency_key: is empty; leave it out, or name the request".to_owned()));
    }
    if spec.retention.is_some_and(|retention| retention.duration().is_zero()) {
        return Err(Error::Invalid("retention: is 0, so nobody could ever see how the flow ended; leave it out for seven days".to_owned()));
    }
    Ok(())
}

/// Returns the script type of a job: its own, or that of its runner. If both are given they must be the same.
fn script_type(name: &str, job: &FlowJobSpec, types: &BTreeMap<RunnerId, ScriptType>) -> Result<ScriptType, Error> {
    let of_runner = job.runner.and_then(|runner| Some((runner, types.get(&runner)?)));
    match (of_runner, &job.script_type) {
        (Some((runner, theirs)), Some(own)) if theirs != own => Err(Error::Invalid(format!(
            "jobs.{name}: is of type {own}, but runner {runner} runs {theirs}; leave script_type out, or name another runner"
        ))),
        (Some((_, theirs)), _) => Ok(theirs.clone()),
        (None, own) => Ok(own.clone().unwrap_or_else(ScriptType::osis)),
    }
}

/// Builds the specification of a job of a flow. The job is kept until its flow has ended.
fn job_spec(flow: &FlowSpec, name: &str, job: &FlowJobSpec, script_type: ScriptType, prerequisites: Vec<JobId>, id: &JobId) -> JobSpec {
    let job = job.job();
    let mut env_vars = flow.env_vars.clone();
    env_vars.extend(job.env_vars);
    JobSpec {
        script_type,
        context_id: flow.context_id,
        caller_id: flow.caller_id.clone(),
        env_vars,
        prerequisites,
        retention: Some(Seconds::from(views::Flows::JOBS_OF_OPEN_FLOWS_ARE_KEPT)),
        name: Some(name.to_owned()),
        job_id: Some(id.clone()),
        ..job
    }
}
