use super::create::distinct;
use super::views::JobCalls;
use super::{Error, OpenContext};
use hero_engine::{Names, Program};
use hero_model::{Actor, Backoff, ContextId, JobError, JobFilter, JobId, JobSpec, Name, RunnerId, ScriptType, nearest};
use hero_store::NewJob;

/// Maximum length of a text field other than the script, in bytes.
pub(super) const LONGEST_TEXT: usize = 1024;
/// Default maximum length of a script of a built-in type, in bytes.
const LONGEST_SCRIPT: usize = 64 << 10;
/// Maximum number of labels of a job, and of environment variables.
const MOST_ENTRIES: usize = 256;
/// Maximum number of labels of a filter.
const MOST_FILTERED: usize = 16;
/// Maximum number of other jobs that a job may wait for, and of jobs that may wait for it.
pub const MOST_RELATIVES: usize = 1000;

impl JobCalls<'_> {
    /// Checks a job, now as well as its parameters, and fills in the defaults. Another call starts it later.
    #[doc(hidden)]
    pub async fn prepare(self, spec: JobSpec) -> Result<NewJob, Error> {
        let job = self.complete(spec).await?;
        self.admit(&job).await?;
        Ok(job)
    }

    /// Checks whether a job could be created now. What an earlier call created is no different: see
    /// [`created_before`](Self::created_before).
    pub(super) async fn admit(self, job: &NewJob) -> Result<(), Error> {
        // While Redis is nearly full, a job that may have been created before goes on: the function that stores it tells.
        let may_exist = job.spec.idempotency_key.is_some() || job.spec.job_id.is_some();
        if !may_exist && !self.0.contexts().store(job.spec.context_id).await?.0.pressure.admits_jobs() {
            return Err(Error::out_of_memory());
        }
        self.check_actors(&job.spec).await
    }

    /// Refuses a job that nobody could run, here or elsewhere.
    pub(super) async fn check_actors(self, spec: &JobSpec) -> Result<(), Error> {
        if self.is_of_runner(spec).await? { Ok(()) } else { self.check_script_type(spec.context_id, &spec.script_type).await }
    }

    /// Checks the parameters of a job and fills in the defaults.
    pub(super) async fn complete(self, mut spec: JobSpec) -> Result<NewJob, Error> {
        let open = self.0.contexts().store(spec.context_id).await?.0;
        check_bounds(&spec, open.longest_script.unwrap_or(LONGEST_SCRIPT))?;
        // Before any of them is looked up, and again afterwards, because one id may have been spelled in two ways.
        check_relations(&mut spec)?;
        self.spell_relations(&mut spec).await?;
        check_relations(&mut spec)?;
        if let Some(path) = spec.log_path.as_deref().filter(|path| !path.is_empty()) {
            self.0.log_directory().of(spec.context_id).resolve(path).map_err(|error| Error::invalid("log_path", error.to_string()))?;
        }
        // Both are stored even where they are the defaults, because any program may run the job or end its attempt, and its
        // defaults may be others, as those of another version of hero.
        spec.timeout.get_or_insert(JobSpec::DEFAULT_TIMEOUT.into());
        spec.retry_backoff.get_or_insert(Backoff::DEFAULT_FIRST_WAIT.into());
        spec.caller_id.get_or_insert_with(|| JobSpec::ANONYMOUS.to_owned());
        // A numeric worker id is an instance number here.
        spec.instance = spec.instance.or_else(|| spec.worker_id.as_ref()?.as_str().parse().ok());
        if spec.instance.is_some() {
            spec.group.get_or_insert_with(Name::default_group);
        }
        let id = spec.job_id.clone().unwrap_or_else(JobId::random);
        Ok(NewJob { id, spec, start: false, waited: false, occurrence: None, flow: None })
    }

    /// True if a job is for a runner of its script type elsewhere. Its script type need not be known here.
    async fn is_of_runner(self, spec: &JobSpec) -> Result<bool, Error> {
        let Some(number) = spec.group.as_ref().and_then(RunnerId::of_group) else { return Ok(false) };
        if spec.script_type.is_built_in() {
            return Ok(false);
        }
        let runner = self.0.contexts().store(spec.context_id).await?.runners().get(number).await?;
        Ok(runner.is_some_and(|runner| !runner.local && runner.script_type == spec.script_type))
    }

    /// Returns the error in a script of a context, if an engine for its type is available to find one.
    #[doc(hidden)]
    pub async fn check_script(self, context: ContextId, script_type: &ScriptType, script: &str) -> Result<Option<JobError>, Error> {
        self.0.contexts().store(context).await?;
        Ok(self.compiled(script_type, script, Names::Checked).await)
    }

    /// Like [`Self::check_script`], but for any context.
    pub(super) async fn compiled(self, script_type: &ScriptType, script: &str, names: Names) -> Option<JobError> {
        self.0.0.compiler.get()?(script_type, script, names).await
    }

    /// Refuses an unknown script type. A type is known if it is built in, configured, or has a live actor somewhere.
    pub async fn check_script_type(self, context: ContextId, script_type: &ScriptType) -> Result<(), Error> {
        if script_type.is_built_in() || self.0.0.settings.script_types.contains(script_type) {
            return Ok(());
        }
        let has_actor = |actors: &[Actor]| actors.iter().any(|actor| actor.script_type == *script_type);
        let seen = self.0.contexts().store(context).await?.actors().lately().await?;
        if has_actor(&seen) {
            return Ok(());
        }
        // Its first actor may have just started.
        let actors = self.0.actors().list(context).await?;
        if has_actor(&actors) {
            return Ok(());
        }
        let mut names: Vec<&str> = ScriptType::BUILT_IN.to_vec();
        names.extend(self.0.0.settings.script_types.iter().map(ScriptType::as_str));
        names.extend(actors.iter().map(|actor| actor.script_type.as_str()));
        names.sort_unstable();
        names.dedup();
        let near = nearest(script_type.as_str(), names.iter().copied().chain(Program::names())).map(ToOwned::to_owned);
        Err(Error::UnknownScriptType { script_type: script_type.clone(), known: names.join(", "), near })
    }
}

impl OpenContext {
    /// Returns the maximum length of a script of a built-in type in this context, in bytes.
    pub fn longest_script(&self) -> usize {
        self.0.longest_script.unwrap_or(LONGEST_SCRIPT)
    }
}

/// Refuses a job that exceeds a fixed limit, whether it comes by a call or a message.
pub fn check_bounds(spec: &JobSpec, longest_script: usize) -> Result<(), Error> {
    check_texts(spec)?;
    let size = spec.script.len();
    if spec.script_type.is_built_in() && size > longest_script {
        return Err(Error::TooLarge { what: "script", size, limit: longest_script, setting: "script_source" });
    }
    if spec.timeout.is_some_and(|timeout| timeout.duration().is_zero()) {
        return Err(Error::invalid("timeout", "is 0, so the job could never run; leave it out for the default"));
    }
    Ok(())
}

fn check_texts(spec: &JobSpec) -> Result<(), Error> {
    let texts = [
        ("name", &spec.name),
        ("caller_id", &spec.caller_id),
        ("log_path", &spec.log_path),
        ("idempotency_key", &spec.idempotency_key),
        ("client_rpc_id", &spec.client_rpc_id),
    ];
    for (param, text) in texts {
        if text.as_ref().is_some_and(|text| text.len() > LONGEST_TEXT) {
            return Err(Error::invalid(param, format!("is longer than {LONGEST_TEXT} bytes")));
        }
    }
    if spec.idempotency_key.as_deref() == Some("") {
        return Err(Error::invalid("idempotency_key", "is empty; leave it out, or name the request"));
    }
    for (param, entries) in [("labels", &spec.labels), ("env_vars", &spec.env_vars)] {
        if entries.len() > MOST_ENTRIES {
            return Err(Error::invalid(param, format!("has more than {MOST_ENTRIES} entries")));
        }
        if let Some(name) = entries.keys().find(|name| name.is_empty() || name.len() > LONGEST_TEXT || name.contains(['=', '\0'])) {
            return Err(Error::invalid(param, format!("the name {name:?} is empty, too long, or has a '=' in it")));
        }
    }
    if let Some((label, _)) = spec.labels.iter().find(|(_, value)| value.len() > LONGEST_TEXT) {
        return Err(Error::invalid("labels", format!("the value of {label:?} is longer than {LONGEST_TEXT} bytes")));
    }
    Ok(())
}

/// Each label of a filter costs the functions in Redis one comparison per job.
pub(super) fn check_filter(filter: &JobFilter) -> Result<(), Error> {
    for (param, text) in [("filter.name", &filter.name), ("filter.caller_id", &filter.caller_id)] {
        if text.as_ref().is_some_and(|text| text.len() > LONGEST_TEXT) {
            return Err(Error::invalid(param, format!("is longer than {LONGEST_TEXT} bytes, as that of no job is")));
        }
    }
    if filter.labels.len() > MOST_FILTERED {
        let number = filter.labels.len();
        return Err(Error::invalid("filter.labels", format!("has {number} entries, the limit is {MOST_FILTERED}")));
    }
    if filter.labels.iter().any(|(label, value)| label.len().max(value.len()) > LONGEST_TEXT) {
        return Err(Error::invalid("filter.labels", format!("a name or value is longer than {LONGEST_TEXT} bytes, as that of no job is")));
    }
    Ok(())
}

/// Limits the number of jobs that a job names, each counted once: each relation costs the function that links it a few
/// microseconds.
#[doc(hidden)]
pub fn check_relations(spec: &mut JobSpec) -> Result<(), Error> {
    for (param, ids) in [("prerequisites", &mut spec.prerequisites), ("dependents", &mut spec.dependents)] {
        distinct(ids);
        if ids.len() > MOST_RELATIVES {
            return Err(Error::invalid(param, format!("names {} jobs, the limit is {MOST_RELATIVES}", ids.len())));
        }
    }
    Ok(())
}
