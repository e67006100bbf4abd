use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

use super::super::settings::ScriptTypeSettings;
use super::Absent;
use crate::engine::{V, look_up};

/// The environment variable with the path of the compiler.
const VARIABLE: &str = "V_BIN";
/// Timeout for the compiler to report its version.
const PROBE: Duration = Duration::from_secs(20);

/// Finds the compiler of V: the one in `V_BIN`, or `v` in PATH.
pub(super) async fn find(configured: Option<&ScriptTypeSettings>) -> Result<V, Absent> {
    let named = std::env::var(VARIABLE).ok().filter(|named| !named.is_empty());
    let compiler = match &named {
        Some(named) => look_up(named).map_err(|why| format!("{VARIABLE}: {why}"))?,
        None => look_up("v").map_err(|why| format!("{why}, or name the compiler of V with {VARIABLE}"))?,
    };
    let shown = compiler.display();
    let mut command = Command::new(&compiler);
    command.arg("version").stdin(Stdio::null()).kill_on_drop(true);
    let said = match timeout(PROBE, command.output()).await {
        Ok(said) => said.map_err(|error| format!("{shown} can't be run: {error}"))?,
        Err(_) => return Err(format!("{shown} did not say within {} s what it is", PROBE.as_secs())),
    };
    if !said.status.success() || !said.stdout.starts_with(b"V ") {
        return Err(format!("{shown} is no compiler of V: `v version` does not say so"));
    }
    // The library is in the directory of the compiler.
    let file = compiler.canonicalize().map_err(|error| format!("{shown}: {error}"))?;
    let directory = file.parent().filter(|directory| directory.parent().is_some()).map(ToOwned::to_owned);
    let readable = configured.map_or(&[][..], |configured| &configured.read).iter().cloned().chain(directory).chain([file]).collect();
    let memory = configured.map_or(ScriptTypeSettings::MEMORY, |configured| configured.memory);
    Ok(V { compiler, readable, memory, to_compile: V::TO_COMPILE })
}
