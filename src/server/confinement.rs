//! Confinement of the children of this server: tested before anything starts, required if the settings say so, and
//! logged.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;

use super::context_pool::{ContextPool, left_out};
use super::resources;
use super::settings::{Confinement, Settings};
use crate::engine::{self, Capability, Child, EngineSettings};
use crate::exit::Usage;
use crate::model::ScriptType;
use crate::process::Spawner;
use crate::process::cgroup::Groups;
use crate::process::confine::{self, JobUser, Profile};

/// Returns the control groups for supervisors, where the system offers them.
pub(crate) async fn groups() -> anyhow::Result<Option<Groups>> {
    let entered = tokio::task::spawn_blocking(Groups::enter).await.context("the control groups could not be looked for")?;
    Ok(match entered {
        Ok(groups) => {
            tracing::info!(base = %groups.base().display(), "each supervisor has a control group of its own");
            Some(groups)
        }
        Err(why) => {
            tracing::info!(
                why,
                "supervisors have no control groups of their own, so memory and processes of jobs are limited by counting them"
            );
            None
        }
    })
}

/// Describes for a check whether control groups can be used. Only a start can enter one.
pub(crate) fn foreseen_groups() -> String {
    match Groups::foresee() {
        Ok(base) => format!(
            "control groups: only a start tries them; one from here makes them in {}, and the engines that were tried here had none",
            base.display()
        ),
        Err(why) => format!("control groups: only a start tries them; one from here has none, because {why}"),
    }
}

/// Describes the confinement of a private Redis.
pub(crate) async fn of_redis(spawner: &Spawner, hero: &Path) -> anyhow::Result<String> {
    let said = confine::tried(spawner, hero, &Profile::Redis { writable: Vec::new() }).await;
    said.context("cannot find out how the private Redis is confined")
}

/// Describes the steps of confinement that commands of scripts lack, if any context grants commands. Otherwise commands
/// are confined as engines are.
pub(crate) fn left_out_of_commands(settings: &Settings) -> Option<String> {
    let granted = settings.pools.iter().flat_map(|pool| pool.contexts.iter().map(move |context| (*context, pool)));
    let mut contexts = granted.filter(|(context, pool)| settings.granted_in(*context, pool.granted()).contains(&Capability::Process));
    contexts.find_map(|(context, _)| match resources::of_context(settings, context).user() {
        JobUser::Root(why) => Some(format!("setuid ({why})")),
        JobUser::Same | JobUser::Own(_) => None,
    })
}

/// Starts and ends each of these engines. If confinement is required, fails unless the system offers all steps for the
/// engines, for the commands of scripts, and for the private Redis if there is one.
pub(crate) async fn try_out(
    spawner: &Spawner,
    settings: &Settings,
    engines: Vec<(ScriptType, EngineSettings)>,
    of_redis: Option<&str>,
) -> anyhow::Result<()> {
    let refused = |what: &str, lacks: &str| {
        Err(anyhow::Error::new(Usage(format!(
            "confinement is required, and here {what} would run without {lacks}\n\
             docs/confinement.md says what allows it; --confinement preferred runs scripts all the same"
        ))))
    };
    let lacks = of_redis.map(confine::left_out).unwrap_or_default();
    let is_required = settings.confinement == Confinement::Required;
    if is_required && !lacks.is_empty() {
        return refused("the private Redis", &lacks.join(", "));
    }
    if let Some(lacks) = left_out_of_commands(settings).filter(|_| is_required) {
        return refused("commands of scripts (the capability process)", &lacks);
    }
    let mut tried = Vec::new();
    for (script_type, engine) in engines {
        if tried.contains(&engine) {
            continue;
        }
        match Child::start(spawner, &engine).await {
            Err(engine::Error::Weak(lacks)) => return refused(&format!("an engine of {script_type}"), &lacks),
            started => started.map(drop).with_context(|| format!("cannot start an engine of {script_type}"))?,
        }
        tried.push(engine);
    }
    Ok(())
}

/// Logs the confinement of everything, with warnings for missing steps.
pub(crate) fn tell(settings: &Settings, pools: &[Arc<ContextPool>], of_redis: Option<&str>) {
    // One line for all pools that are confined in the same way.
    let mut alike: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for entry in pools {
        for steps in entry.pool.status.confinements() {
            alike.entry(steps.to_string()).or_default().insert(entry.pool.settings.script_type.to_string());
        }
    }
    for (steps, types) in alike {
        let pools = types.into_iter().collect::<Vec<_>>().join(",");
        tracing::info!(pools, steps, "engines are confined");
    }
    if let Some(steps) = of_redis {
        tracing::info!(steps, "the private Redis is confined");
    }
    let engines = left_out(pools.iter().map(|entry| &*entry.pool.status));
    let redis = of_redis.map(confine::left_out).unwrap_or_default();
    let without = |who: &str, lacks: String| (!lacks.is_empty()).then(|| format!("{who} without {lacks}"));
    let commands = left_out_of_commands(settings).unwrap_or_default();
    let weak: Vec<String> = [
        without("scripts run in engines", engines.join(", ")),
        without("commands of scripts run", commands),
        without("the private Redis runs", redis.join(", ")),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !weak.is_empty() {
        tracing::warn!(
            "WEAK CONFINEMENT: {}; whoever breaks out of it gets further than he should. \
             docs/confinement.md says what allows it; with --confinement required nothing starts so",
            weak.join("; ")
        );
    }
}
