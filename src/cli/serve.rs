use std::collections::BTreeMap;

use clap::Args;

use super::output;
use crate::exit::Exit;
use crate::server::daemon::runtime;
use crate::server::preflight::{self, Purpose};
use crate::server::run;
use crate::server::settings::{Flags, Resolved, resolve};

/// A server with its actors, and a private Redis unless `--redis` names one.
#[derive(Debug, Args)]
pub(super) struct Serve {
    #[command(flatten)]
    settings: Flags<true>,
    /// Print all settings with their origins, then exit
    #[arg(long)]
    print_config: bool,
    /// Check everything that a start needs, report problems, then exit. Does not disturb a running server
    #[arg(long, conflicts_with = "print_config")]
    check: bool,
}

impl Serve {
    pub(super) fn main(&self, json: bool) -> anyhow::Result<Exit> {
        let resolved = resolve(&self.settings, &environment())?;
        if self.print_config {
            return print_config(&resolved, json);
        }
        if self.check {
            return check(resolved, Purpose::Server, json);
        }
        runtime()?.block_on(run::server(resolved, |line| output::line(line)))?;
        Ok(Exit::Ok)
    }
}

/// Returns the environment variables that are text. Skips others, at which `std::env::vars` would panic.
pub(super) fn environment() -> BTreeMap<String, String> {
    std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))).collect()
}

/// Prints every setting with its origin.
pub(super) fn print_config(resolved: &Resolved, json: bool) -> anyhow::Result<Exit> {
    for warning in &resolved.warnings {
        output::note(format!("warning: {warning}"));
    }
    if json {
        output::json(&resolved.to_json())?
    } else {
        output::lines(resolved.to_toml().trim_end())?
    }
    Ok(Exit::Ok)
}

/// Checks everything that a start needs, and reports the findings.
pub(super) fn check(resolved: Resolved, purpose: Purpose, json: bool) -> anyhow::Result<Exit> {
    let found = runtime()?.block_on(preflight::check(resolved, purpose))?;
    if json {
        output::json(&serde_json::json!({ "ok": true, "found": found }))?;
    } else {
        for line in found {
            output::line(line)?;
        }
        output::line("all well: this would start")?;
    }
    Ok(Exit::Ok)
}
