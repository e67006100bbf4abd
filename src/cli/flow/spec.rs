//! Builds the flow described by a file, or lists all of its faults.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use anyhow::Context as _;
use serde_json::Value;
use serde_saphyr::Location;

use super::file::{Diagnostic, FileJob, FlowFile, SourcePosition, position};
use super::reading::{self, Reading};
use super::{Source, inputs};
use crate::cli::input::language;
use crate::cli::input::script::{as_rhai, name, read_script};
use crate::cli::input::typed::{quoted, typed};
use crate::coordinator::flows::{Problem, problems};
use crate::engine::{self, Names};
use crate::exit::Usage;
use crate::model::{ContextId, FlowJobSpec, FlowSpec, JobError, Json, RunnerId, ScriptType};
use crate::read_text::read_text;

/// The maximum number of bytes read of a file.
const LONGEST_FILE: usize = 8 << 20;

/// Reads a file. Returns its flow or all of its faults.
pub(super) fn read(file: &Path) -> anyhow::Result<Result<FlowSpec, Vec<Diagnostic>>> {
    if language::of_file(file).is_some() {
        let shown = quoted(&file.display().to_string());
        // A check says the name of each file itself.
        return Err(Usage(match typed() {
            "hero flow check" => format!("this is not a flow; `hero check {shown}` checks a script"),
            _ => format!("{}: this is not a flow; `hero run {shown}` runs a script", name(file)),
        })
        .into());
    }
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
    /// Returns the flow with the scripts of its files, if there are no other faults. Does not report missing keys of
    /// `maimed` jobs, which were read in part.
    fn spec(self, beside: &Path, maimed: &HashSet<String>, mut faults: Vec<Diagnostic>) -> Result<FlowSpec, Vec<Diagnostic>> {
        let (mut jobs, mut places, mut scripts) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        for (name, (location, job)) in self.jobs.0 {
            let of_names: Vec<Location> = job.depends_on.iter().map(|other| other.referenced).collect();
            places.insert(name.clone(), (location, of_names));
            let (spec, script) = job.spec(&name, location, beside);
            match script {
                Ok(at) => {
                    faults.extend(script_faults(&name, &spec, at));
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
            idempotency_key: None,
        };
        faults.extend(problems(&spec).into_iter().map(|problem| located(problem, &spec, &places)));
        faults
            .extend(scripts.into_iter().filter(|(name, _)| !maimed.contains(name)).flat_map(|(name, at)| unnamed_inputs(&name, &spec, at)));
        faults.sort_by_key(|fault| fault.at);
        if faults.is_empty() { Ok(spec) } else { Err(faults) }
    }
}

/// Reports the jobs whose outputs a script reads without waiting for them.
fn unnamed_inputs(name: &str, spec: &FlowSpec, at: Option<SourcePosition>) -> Vec<Diagnostic> {
    let Some(job) = spec.jobs.get(name).filter(|job| is_rhai(job.script_type.as_ref(), job.runner)) else { return Vec::new() };
    let others = inputs::of_script(&job.script).into_iter().filter(|other| *other != name && spec.jobs.contains_key(*other));
    let missing = others.filter(|other| job.depends_on.iter().all(|known| known != other));
    let told = |other| format!("jobs.{name}.script: inputs.{other} is not there, because depends_on does not name {other:?}");
    missing.map(|other| Diagnostic::new(at, told(other))).collect()
}

impl FileJob {
    /// Returns the job, and the location of its script or the fault of it.
    fn spec(mut self, name: &str, location: Location, beside: &Path) -> (FlowJobSpec, Result<Option<SourcePosition>, NoScript>) {
        let (script, by_name, at) = match (self.script.take(), self.file.take()) {
            (Some(script), None) => (script.value, None, Ok(position(script.referenced))),
            (None, Some(file)) => {
                let read = read_script(&beside.join(&file.value)).with_context(|| format!("jobs.{name}.file"));
                let by_name = language::of_file(&file.value);
                match read {
                    Ok(script) => (script, by_name, Ok(position(file.referenced))),
                    Err(error) => (String::new(), by_name, Err(NoScript::at(position(file.referenced), format!("{error:#}")))),
                }
            }
            (None, None) => {
                let fault = Diagnostic::new(position(location), format!("jobs.{name}: needs a script, or the file of one"));
                (String::new(), None, Err(NoScript { fault, is_named: false }))
            }
            (Some(_), Some(file)) => {
                let message = format!("jobs.{name}: has a script and a file; one of the two is enough");
                (String::new(), None, Err(NoScript::at(position(file.referenced), message)))
            }
        };
        let script_type = self.script_type.take().or(by_name);
        let script = if is_rhai(script_type.as_ref(), self.runner) { as_rhai(script) } else { script };
        (self.with_script(script, script_type), at)
    }
}

/// The reason why a job has no script.
struct NoScript {
    fault: Diagnostic,
    /// Whether the file names a script.
    is_named: bool,
}

impl NoScript {
    fn at(place: Option<SourcePosition>, message: String) -> Self {
        Self { fault: Diagnostic::new(place, message), is_named: true }
    }
}

/// Whether a script is Rhai, which can be checked here. The script of a runner may be anything.
fn is_rhai(script_type: Option<&ScriptType>, runner: Option<RunnerId>) -> bool {
    script_type.map_or(runner.is_none(), ScriptType::is_built_in)
}

fn script_faults(name: &str, job: &FlowJobSpec, at: Option<SourcePosition>) -> Vec<Diagnostic> {
    if !is_rhai(job.script_type.as_ref(), job.runner) {
        return Vec::new();
    }
    let fault = |error: JobError| {
        let message = format!("jobs.{name}.script: {}", error.message);
        Diagnostic { at, message, script: Some(Box::new((job.script.clone(), error))) }
    };
    engine::check_all(&job.script, Names::Checked).into_iter().map(fault).collect()
}

/// Adds the location in the file to a problem.
fn located(problem: Problem, spec: &FlowSpec, places: &BTreeMap<String, (Location, Vec<Location>)>) -> Diagnostic {
    let message = problem.to_string();
    let Some((location, of_names)) = problem.job.as_ref().and_then(|job| places.get(job)) else { return Diagnostic::new(None, message) };
    let names = problem.job.as_ref().and_then(|job| spec.jobs.get(job)).map(|job| &job.depends_on);
    // If a name is repeated, its second location is meant.
    let at = names.zip(problem.depends_on.as_ref()).and_then(|(names, other)| names.iter().rposition(|name| name == other));
    Diagnostic::new(position(at.and_then(|at| of_names.get(at).copied()).unwrap_or(*location)), message)
}

impl Source {
    /// Returns the flow in the file. The error lists the faults with their locations.
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
        spec.idempotency_key.clone_from(&self.idempotency_key);
        self.give(&mut spec)?;
        Ok(spec)
    }

    /// Applies the values of the command line to all jobs. They take precedence over the file.
    fn give(&self, spec: &mut FlowSpec) -> anyhow::Result<()> {
        if let Some(given) = self.arguments.value()? {
            for (name, job) in &mut spec.jobs {
                let own = job.args.as_ref().map(Json::to_value).transpose()?;
                job.args = Some(match (own, &given) {
                    (Some(Value::Object(mut own)), Value::Object(given)) => {
                        own.extend(given.clone());
                        Value::Object(own).into()
                    }
                    (None, given) => given.clone().into(),
                    (Some(_), _) => return Err(Usage(format!("jobs.{name} has args of its own that are no map, or --args is none")).into()),
                });
            }
        }
        for (name, value) in self.environment.variables()? {
            spec.jobs.values_mut().for_each(|job| drop(job.env_vars.remove(&name)));
            spec.env_vars.insert(name, value);
        }
        Ok(())
    }
}
