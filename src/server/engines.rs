//! Finds the programs that run the scripts of the pools, once at the start.

mod python;
mod v;

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::settings::{PoolSettings, ScriptTypeSettings, Settings};
use crate::engine::{Command, Program, look_up};
use crate::exit::Usage;
use crate::model::ScriptType;

/// The program of each pool.
pub(crate) struct Engines(Vec<Result<Program, Absent>>);

/// The reason why a script type that needs no configuration cannot run here.
type Absent = String;

impl Engines {
    /// Finds the programs that the pools need. A program that is configured and missing is an error.
    pub(crate) async fn find(settings: &Settings) -> anyhow::Result<Self> {
        let mut programs = Vec::new();
        for pool in &settings.pools {
            programs.push(find(settings, pool).await.map_err(Usage)?);
        }
        let has_pool = |script_type: &ScriptType| settings.pools.iter().any(|pool| pool.script_type == *script_type);
        for configured in settings.script_types.iter().filter(|configured| !has_pool(&configured.name)) {
            of_nobody(configured).await.map_err(Usage)?;
        }
        Ok(Self(programs))
    }

    /// Returns the program of a pool, by its index in the settings, if the script type can run here.
    pub(crate) fn of_pool(&self, at: usize) -> Option<Program> {
        self.0.get(at)?.as_ref().ok().cloned()
    }

    /// Returns the script types of pools that cannot run here, with the reasons.
    pub(crate) fn absent(&self, settings: &Settings) -> BTreeMap<ScriptType, String> {
        let pools = || settings.pools.iter().zip(&self.0);
        let is_offered = |script_type: &ScriptType| pools().any(|(pool, program)| pool.script_type == *script_type && program.is_ok());
        pools()
            .filter(|(pool, _)| !is_offered(&pool.script_type))
            .filter_map(|(pool, program)| Some((pool.script_type.clone(), program.as_ref().err()?.clone())))
            .collect()
    }
}

/// Checks the program of a script type that no pool here runs. Its jobs are for actors elsewhere, but a configured
/// program must exist: otherwise the mistake shows only when somebody adds the pool.
async fn of_nobody(configured: &ScriptTypeSettings) -> Result<(), String> {
    if configured.is_python() {
        return python::find(&configured.name, Some(configured), None).await.map(drop);
    }
    let Some(command) = &configured.command else { return Ok(()) };
    look_up(&command[0]).map(drop).map_err(|why| format!("script_types.{}.command: {why}", configured.name))
}

async fn find(settings: &Settings, pool: &PoolSettings) -> Result<Result<Program, Absent>, String> {
    let script_type = &pool.script_type;
    let configured = settings.script_types.iter().find(|configured| configured.name == *script_type);
    let is_python = configured.map_or(script_type.as_str() == ScriptType::PYTHON, ScriptTypeSettings::is_python);
    if pool.venv.is_some() && !is_python {
        return Err(format!("pool {script_type}: venv is for pools whose scripts are Python"));
    }
    if script_type.is_built_in() {
        return Ok(Ok(Program::Rhai));
    }
    let missing = |read: &[PathBuf]| {
        let missing = read.iter().find(|path| !path.exists());
        missing.map(|path| format!("script_types.{script_type}.read: there is no {}", path.display()))
    };
    if let Some(missing) = configured.and_then(|configured| missing(&configured.read)) {
        return Err(missing);
    }
    match configured {
        _ if is_python => python::find(script_type, configured, pool.venv.as_deref()).await.map(|found| found.map(Program::Python)),
        Some(ScriptTypeSettings { command: Some(command), file, read, memory, .. }) => {
            let mut command = command.clone();
            let program = look_up(&command[0]).map_err(|why| format!("script_types.{script_type}.command: {why}"))?;
            command[0] = program.to_string_lossy().into_owned();
            Ok(Ok(Program::Command(Command { command, file: file.clone(), readable: read.clone(), memory: *memory })))
        }
        _ if script_type.as_str() == ScriptType::V => Ok(v::find(configured).await.map(Program::V)),
        _ => Err(format!(
            "pool {script_type}: there is no engine for this script type; osis, sal, python and v have one, and a configuration file names \
             the command for others: [script_types.{script_type}] command = [\"PROGRAM\", \"{{script}}\"]"
        )),
    }
}
