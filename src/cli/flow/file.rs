//! The file of a flow: YAML, of which JSON is a part.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Deserializer};
use serde_saphyr::{Location, Spanned};

use super::reading::{self, Reading};
use super::{Source, inputs};
use crate::cli::exit::Usage;
use crate::cli::language;
use crate::cli::script::{as_rhai, name, read_script, read_text};
use crate::coordinator::flows::{Problem, problems};
use crate::engine::{self, Names};
use crate::model::{
    ContextId, FlowJobSpec, FlowSpec, JobError, JobId, Json, Name, OnFailure, Priority, RunnerId, ScriptType, Seconds, or_default,
};

/// The most bytes that are read of a file.
const LONGEST_FILE: usize = 8 << 20;

/// A flow: jobs that wait for each other.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Flow of hero")]
pub(super) struct FlowFile {
    /// A name for people.
    #[serde(default)]
    name: Option<String>,
    /// What the scripts of all jobs see as `env`.
    #[serde(default)]
    env_vars: BTreeMap<String, String>,
    /// What becomes of the other jobs when one ends in error: `stop` (the default) stops them, `continue` has those go on that do not wait for it.
    #[serde(default)]
    on_failure: OnFailure,
    /// Jobs, none of the flow's own, that must finish before it begins, by their ids.
    #[serde(default)]
    prerequisites: Vec<JobId>,
    /// Seconds to keep the flow and its jobs after its end; seven days by default.
    #[serde(default)]
    #[schemars(with = "Option<f64>")]
    retention: Option<Seconds>,
    /// The context it belongs to.
    #[serde(default)]
    context_id: u32,
    /// Its jobs, by names of letters, digits and `_`.
    #[serde(deserialize_with = "later")]
    #[schemars(with = "BTreeMap<String, FileJob>")]
    pub(super) jobs: Jobs,
}

/// One job of a flow: `script`, or the `file` that has it.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FileJob {
    /// The script to run.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    script: Option<Spanned<String>>,
    /// The file that has the script, beside the file of the flow. What it is called says the script type, if nothing else does.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    file: Option<Spanned<PathBuf>>,
    /// Which kind of actor runs it: `osis`, `sal`, `python`, `v` or a configured type; by default that of its runner, or `osis`.
    #[serde(default)]
    script_type: Option<ScriptType>,
    /// What the script sees as `args`.
    #[serde(default)]
    args: Option<Json>,
    /// The names of the jobs that must finish first. The script sees what they gave as `inputs.NAME`.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    depends_on: Vec<Spanned<String>>,
    /// The number of the runner that runs it.
    #[serde(default)]
    #[schemars(with = "Option<u32>")]
    runner: Option<RunnerId>,
    /// Only actors of this group may run it.
    #[serde(default)]
    group: Option<Name>,
    /// 0 urgent, 1 normal, 2 low.
    #[serde(default, deserialize_with = "or_default")]
    priority: Priority,
    /// The most seconds one attempt may take; 60 by default.
    #[serde(default)]
    #[schemars(with = "Option<f64>")]
    timeout: Option<Seconds>,
    /// Extra attempts after an error or a timeout.
    #[serde(default)]
    retries: u32,
    /// Seconds before the second attempt, doubling for each further one up to 300; 1 by default.
    #[serde(default)]
    #[schemars(with = "Option<f64>")]
    retry_backoff: Option<Seconds>,
    /// What the script sees as `env` besides what the flow gives.
    #[serde(default)]
    env_vars: BTreeMap<String, String>,
    /// Labels to find the job by.
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

/// The jobs of a flow by their names, and where each name stands.
#[derive(Debug, Default)]
pub(super) struct Jobs(pub(super) BTreeMap<String, (Location, FileJob)>);

/// A line and a column, both from 1.
pub(super) type Place = (u64, u64);

/// The jobs are read by themselves.
fn later<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Jobs, D::Error> {
    <()>::deserialize(deserializer).map(|()| Jobs::default())
}

/// Something that is wrong with a file, and where.
#[derive(Debug)]
pub(super) struct Fault {
    /// Its place, where that is known.
    pub(super) at: Option<Place>,
    /// What is wrong.
    pub(super) message: String,
    /// If it is a script: that, and what is wrong with it.
    pub(super) script: Option<Box<(String, JobError)>>,
}

impl Fault {
    pub(super) fn new(at: Option<Place>, message: String) -> Self {
        Self { at, message, script: None }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            Some((line, column)) => write!(f, "{line}:{column}: {}", self.message),
            None => write!(f, " {}", self.message),
        }
    }
}

pub(super) fn place(location: Location) -> Option<Place> {
    (location.line() > 0).then(|| (location.line(), location.column()))
}

/// The JSON Schema of the file.
pub(super) fn schema() -> String {
    let schema = SchemaSettings::draft07().into_generator().into_root_schema_for::<FlowFile>();
    let text = serde_json::to_string_pretty(&schema).expect("a schema has a JSON form");
    format!("{text}\n")
}

/// Reads a file: the flow that it describes, or everything that is wrong with it.
pub(super) fn read(file: &Path) -> anyhow::Result<Result<FlowSpec, Vec<Fault>>> {
    let text = read_text("flow", file)?;
    if text.len() > LONGEST_FILE {
        return Err(Usage(format!("{}: has {} bytes, the file of a flow has {LONGEST_FILE} at most", name(file), text.len())).into());
    }
    let Reading { flow, maimed, faults } = reading::read(&text);
    let beside = file.parent().unwrap_or(Path::new(""));
    Ok(match flow {
        Some(flow) => flow.spec(beside, &maimed, faults),
        None => Err(faults),
    })
}

impl FlowFile {
    /// The flow, with the scripts of its files, if nothing else is wrong with it. Of jobs that are maimed nothing is missed.
    fn spec(self, beside: &Path, maimed: &HashSet<String>, mut faults: Vec<Fault>) -> Result<FlowSpec, Vec<Fault>> {
        let (mut jobs, mut places, mut scripts) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        for (name, (location, job)) in self.jobs.0 {
            let of_names: Vec<Location> = job.depends_on.iter().map(|other| other.referenced).collect();
            places.insert(name.clone(), (location, of_names));
            let (spec, script) = job.spec(&name, location, beside);
            match script {
                Ok(at) => {
                    faults.extend(wrong_script(&name, &spec, at));
                    scripts.push((name.clone(), at));
                }
                Err(no) if no.is_named || !maimed.contains(&name) => faults.push(no.fault),
                Err(_) => {}
            }
            jobs.insert(name, spec);
        }
        let spec = FlowSpec {
            jobs,
            name: self.name,
            env_vars: self.env_vars,
            on_failure: self.on_failure,
            prerequisites: self.prerequisites,
            retention: self.retention,
            caller_id: None,
            context_id: ContextId(self.context_id),
        };
        faults.extend(problems(&spec).into_iter().map(|problem| located(problem, &spec, &places)));
        faults
            .extend(scripts.into_iter().filter(|(name, _)| !maimed.contains(name)).flat_map(|(name, at)| unnamed_inputs(&name, &spec, at)));
        faults.sort_by_key(|fault| fault.at);
        if faults.is_empty() { Ok(spec) } else { Err(faults) }
    }
}

/// The jobs whose outputs a script wants to see, and that it does not wait for.
fn unnamed_inputs(name: &str, spec: &FlowSpec, at: Option<Place>) -> Vec<Fault> {
    let Some(job) = spec.jobs.get(name).filter(|job| is_rhai(job.script_type.as_ref(), job.runner)) else { return Vec::new() };
    let others = inputs::of_script(&job.script).into_iter().filter(|other| *other != name && spec.jobs.contains_key(*other));
    let missing = others.filter(|other| job.depends_on.iter().all(|known| known != other));
    let told = |other| format!("jobs.{name}.script: inputs.{other} is not there, because depends_on does not name {other:?}");
    missing.map(|other| Fault::new(at, told(other))).collect()
}

impl FileJob {
    /// The job, and the place of its script, or what is wrong with that.
    fn spec(self, name: &str, location: Location, beside: &Path) -> (FlowJobSpec, Result<Option<Place>, NoScript>) {
        let (script, by_name, at) = match (self.script, self.file) {
            (Some(script), None) => (script.value, None, Ok(place(script.referenced))),
            (None, Some(file)) => {
                let read = read_script(&beside.join(&file.value)).with_context(|| format!("jobs.{name}.file"));
                let by_name = language::of_file(&file.value);
                match read {
                    Ok(script) => (script, by_name, Ok(place(file.referenced))),
                    Err(error) => (String::new(), by_name, Err(NoScript::at(place(file.referenced), format!("{error:#}")))),
                }
            }
            (None, None) => {
                let fault = Fault::new(place(location), format!("jobs.{name}: needs a script, or the file of one"));
                (String::new(), None, Err(NoScript { fault, is_named: false }))
            }
            (Some(_), Some(file)) => {
                let message = format!("jobs.{name}: has a script and a file; one of the two is enough");
                (String::new(), None, Err(NoScript::at(place(file.referenced), message)))
            }
        };
        let script_type = self.script_type.or(by_name);
        let script = if is_rhai(script_type.as_ref(), self.runner) { as_rhai(script) } else { script };
        let job = FlowJobSpec {
            script,
            script_type,
            args: self.args,
            depends_on: self.depends_on.into_iter().map(|other| other.value).collect(),
            runner: self.runner,
            group: self.group,
            priority: self.priority,
            timeout: self.timeout,
            retries: self.retries,
            retry_backoff: self.retry_backoff,
            env_vars: self.env_vars,
            labels: self.labels,
        };
        (job, at)
    }
}

/// Why a job has no script.
struct NoScript {
    fault: Fault,
    /// Whether the file names one.
    is_named: bool,
}

impl NoScript {
    fn at(place: Option<Place>, message: String) -> Self {
        Self { fault: Fault::new(place, message), is_named: true }
    }
}

/// Whether a script is read by an engine that is here, too. That of a runner may be anything.
fn is_rhai(script_type: Option<&ScriptType>, runner: Option<RunnerId>) -> bool {
    script_type.map_or(runner.is_none(), ScriptType::is_built_in)
}

fn wrong_script(name: &str, job: &FlowJobSpec, at: Option<Place>) -> Option<Fault> {
    if !is_rhai(job.script_type.as_ref(), job.runner) {
        return None;
    }
    let error = engine::check(&job.script, Names::Checked).err()?;
    let message = format!("jobs.{name}.script: {}", error.message);
    Some(Fault { at, message, script: Some(Box::new((job.script.clone(), error))) })
}

/// A problem with where it stands in the file.
fn located(problem: Problem, spec: &FlowSpec, places: &BTreeMap<String, (Location, Vec<Location>)>) -> Fault {
    let message = problem.to_string();
    let Some((location, of_names)) = problem.job.as_ref().and_then(|job| places.get(job)) else { return Fault::new(None, message) };
    let names = problem.job.as_ref().and_then(|job| spec.jobs.get(job)).map(|job| &job.depends_on);
    // Of a name that stands there twice the second is meant.
    let at = names.zip(problem.depends_on.as_ref()).and_then(|(names, other)| names.iter().rposition(|name| name == other));
    Fault::new(place(at.and_then(|at| of_names.get(at).copied()).unwrap_or(*location)), message)
}

impl Source {
    /// The flow that the file describes. What is wrong with it is an error that says where.
    pub(super) fn spec(&self) -> anyhow::Result<FlowSpec> {
        let mut spec = match read(&self.file)? {
            Ok(spec) => spec,
            Err(faults) => {
                let file = name(&self.file);
                let told: Vec<String> = faults.iter().map(|fault| format!("{file}:{fault}")).collect();
                return Err(Usage(told.join("\n")).into());
            }
        };
        if let Some(context) = self.context {
            spec.context_id = ContextId(context);
        }
        Ok(spec)
    }
}
