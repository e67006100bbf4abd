//! Finds the programs that run the scripts of the pools, once at the start.

use std::collections::BTreeMap;

use super::settings::{PoolSettings, ScriptTypeSettings, Settings};
use crate::engine::{Absent, Program, ProgramSettings};
use crate::exit::Usage;
use crate::model::ScriptType;

/// The program of each pool.
pub(crate) struct Engines(Vec<Result<Program, Absent>>);

impl Engines {
    /// Finds the programs that the pools need. A program that is configured and missing is an error.
    pub(crate) async fn find(settings: &Settings) -> anyhow::Result<Self> {
        let mut programs = Vec::new();
        for pool in &settings.pools {
            programs.push(find(settings, pool).await.map_err(Usage)?);
        }
        let has_pool = |script_type: &ScriptType| settings.pools.iter().any(|pool| pool.script_type == *script_type);
        // The jobs of a type without a pool here are for actors elsewhere, but a configured program must exist: otherwise
        // the mistake shows only when somebody adds the pool.
        let of_nobody = |configured: &&ScriptTypeSettings| configured.names_program() && !has_pool(&configured.name);
        for configured in settings.script_types.iter().filter(of_nobody) {
            Program::find(&configured.program()).await.map(drop).map_err(Usage)?;
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

async fn find(settings: &Settings, pool: &PoolSettings) -> Result<Result<Program, Absent>, String> {
    let script_type = &pool.script_type;
    let configured = settings.script_types.iter().find(|configured| configured.name == *script_type);
    let configured = configured.cloned().unwrap_or_else(|| ScriptTypeSettings::unconfigured(script_type.clone()));
    if pool.venv.is_some() && !configured.is_python() {
        return Err(format!("pool {script_type}: venv is for pools whose scripts are Python"));
    }
    if let Some(missing) = configured.read.iter().find(|path| !path.exists()) {
        return Err(format!("script_types.{script_type}.read: there is no {}", missing.display()));
    }
    Program::find(&ProgramSettings { pool_venv: pool.venv.as_deref(), ..configured.program() }).await
}
