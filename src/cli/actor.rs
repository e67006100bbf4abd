use clap::{Args, Subcommand};

use super::global::Global;
use super::output::{self, Style};
use super::serve::{check, environment, print_config};
use crate::cli::output::table::{Fit, Table, ago, cells};
use crate::exit::Exit;
use crate::model::ContextId;
use crate::process::confine::left_out;
use crate::server::daemon::runtime;
use crate::server::preflight::Purpose;
use crate::server::run;
use crate::server::settings::{Flags, resolve};

/// Actors for the jobs of a shared Redis, or the list of live actors.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct ActorCommand {
    #[command(subcommand)]
    command: Option<Look>,
    #[command(flatten)]
    settings: Flags<false>,
    /// Print all settings with their origins, then exit
    #[arg(long)]
    print_config: bool,
    /// Check everything that a start needs, report problems, then exit. Does not disturb running actors
    #[arg(long, conflicts_with = "print_config")]
    check: bool,
}

#[derive(Debug, Subcommand)]
enum Look {
    /// List live actors
    List(List),
}

#[derive(Debug, Args)]
struct List {
    /// The context of the actors
    #[arg(long, value_name = "N", default_value_t = 0)]
    context: u32,
}

impl ActorCommand {
    pub(super) fn main(&self, global: &Global) -> anyhow::Result<Exit> {
        if let Some(Look::List(look)) = &self.command {
            global.warn_of_misspelt_variables();
            return super::client(list(global, ContextId(look.context)));
        }
        let resolved = resolve(&self.settings, &environment())?;
        if self.print_config {
            return print_config(&resolved, global.json);
        }
        if self.check {
            return check(resolved, Purpose::Actors, global.json);
        }
        runtime()?.block_on(run::actors(resolved, |line| output::line(line)))?;
        Ok(Exit::Ok)
    }
}

/// Lists the missing steps of confinement. `--json` shows the reasons, and the steps in force.
fn confinement(steps: &str) -> String {
    let missing: Vec<String> = left_out(steps).iter().map(|name| format!("no {}", name.split(" (").next().unwrap_or(name))).collect();
    if missing.is_empty() { "all steps".to_owned() } else { format!("weak: {}", missing.join(", ")) }
}

const HEAD: [(&str, Fit); 10] = [
    ("TYPE", Fit::Cut),
    ("GROUP", Fit::Cut),
    ("INSTANCE", Fit::Keep),
    ("RUNNING", Fit::Keep),
    ("HOST", Fit::Cut),
    ("PID", Fit::Spare(3)),
    ("STARTED", Fit::Spare(2)),
    ("HEARD", Fit::Keep),
    ("CAPABILITIES", Fit::Spare(9)),
    ("CONFINEMENT", Fit::Cut),
];

async fn list(global: &Global, context: ContextId) -> anyhow::Result<Exit> {
    let actors = global.connect().await?.list_actors(context).await?;
    if global.json {
        output::json(&actors)?;
        return Ok(Exit::Ok);
    }
    let dash = || "-".to_owned();
    let mut table = Table::new(Style::stdout(), &HEAD);
    let (absent, live): (Vec<_>, Vec<_>) = actors.into_iter().partition(|actor| actor.unavailable.is_some());
    for actor in live {
        let presence = actor.presence;
        let capabilities = presence.capabilities.join(",");
        table.row(cells![
            actor.script_type.to_string(),
            actor.group.to_string(),
            actor.instance.to_string(),
            presence.in_flight.map_or_else(dash, |count| format!("{count}{}", if presence.draining { ", draining" } else { "" })),
            presence.hostname.unwrap_or_else(dash),
            presence.pid.map_or_else(dash, |pid| pid.to_string()),
            ago(presence.started_at),
            ago(presence.last_heartbeat),
            if capabilities.is_empty() { dash() } else { capabilities },
            presence.confinement.as_deref().map_or_else(|| if actor.foreign { "foreign".to_owned() } else { dash() }, confinement),
        ]);
    }
    table.print()?;
    for actor in absent {
        output::note(format!("no {}: {}", actor.script_type, actor.unavailable.unwrap_or_default()));
    }
    Ok(Exit::Ok)
}

#[cfg(test)]
mod tests {
    use super::confinement;

    #[test]
    fn a_weak_confinement_names_what_is_missing() {
        let steps = "weak: no setuid (/root is closed to other users), no PID namespace (Operation not permitted); umask";
        assert_eq!(confinement(steps), "weak: no setuid, no PID namespace");
        assert_eq!(confinement("umask,landlock:7"), "all steps");
    }
}
