//! Environment variables that begin with `HERO_` but are not settings.

use std::collections::BTreeMap;

use super::{SETTINGS, Setting};
use crate::model::nearest;

const PREFIX: &str = "HERO_";
/// The variables of commands that call a server.
const OF_COMMANDS: [&str; 3] = ["HERO_SERVER", "HERO_CA", "HERO_TOKEN"];
/// The variables that hero sets for its own processes and those of jobs, which may start a hero again.
const OF_PROCESSES: [&str; 8] =
    ["HERO_ARGS", "HERO_ARGUMENTS", "HERO_ASK_FD", "HERO_ATTEMPT", "HERO_CALLER_ID", "HERO_CONTEXT_ID", "HERO_JOB_ID", "HERO_RESULT_FD"];
/// The prefix of such a variable on its way into a process that is being confined.
const ON_THE_WAY: &str = "HERO_OF_JOB_";

/// Returns the unknown variables, except those that others set for a service called hero.
fn unknown(env: &BTreeMap<String, String>) -> impl Iterator<Item = &str> {
    let is_known = |name: &str| {
        OF_COMMANDS.contains(&name)
            || OF_PROCESSES.contains(&name)
            || name.starts_with(ON_THE_WAY)
            || names().any(|setting| setting == name)
    };
    let given = env.iter().filter(|(name, value)| name.starts_with(PREFIX) && !value.is_empty());
    given.filter(move |(name, value)| !is_known(name) && !is_of_a_service(name, value)).map(|(name, _)| name.as_str())
}

fn names() -> impl Iterator<Item = String> {
    SETTINGS.iter().map(Setting::env)
}

/// Whether an orchestrator set the variable to locate a service: `HERO_SERVICE_HOST`, `HERO_PORT=tcp://10.0.0.1:8700`,
/// `HERO_PORT_8700_TCP_ADDR`.
fn is_of_a_service(name: &str, value: &str) -> bool {
    let is_address = ["tcp://", "udp://", "sctp://"].iter().any(|scheme| value.starts_with(scheme));
    let of_a_port = || name.split("_PORT_").skip(1).any(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit()));
    is_address || name.contains("_SERVICE_HOST") || name.contains("_SERVICE_PORT") || of_a_port()
}

/// Describes the first variable that looks misspelt.
pub(super) fn misspelt(env: &BTreeMap<String, String>) -> Option<String> {
    let known: Vec<String> = names().chain(OF_COMMANDS.map(ToOwned::to_owned)).collect();
    let resembled = |name: &str| nearest(bare(name), known.iter().map(|name| bare(name)));
    unknown(env).find_map(|name| Some(format!("the environment variable {name} is no setting; did you mean {PREFIX}{}?", resembled(name)?)))
}

/// Returns one line for each variable without effect, with the name that may be meant.
pub(super) fn warnings(env: &BTreeMap<String, String>) -> Vec<String> {
    let warning = |name: &str| {
        // The meant name has fewer words, as for HERO_REDIS_URL. One with a typing error is refused.
        let letters = |name: &str| name.replace('_', "");
        let begun = names().filter(|known| letters(name).starts_with(&letters(known))).max_by_key(String::len);
        let meant = begun.map_or_else(String::new, |known| format!("; did you mean {known}?"));
        format!("the environment variable {name} has no effect: it is no setting{meant}")
    };
    unknown(env).map(warning).collect()
}

/// Returns one line for each variable that looks like a misspelt variable of the commands that call a server.
pub fn misspelt_of_commands(env: &BTreeMap<String, String>) -> Vec<String> {
    let resembled = |name: &str| nearest(bare(name), OF_COMMANDS.into_iter().map(bare));
    let warning = |name| Some(format!("the environment variable {name} has no effect; did you mean {PREFIX}{}?", resembled(name)?));
    unknown(env).filter_map(warning).collect()
}

fn bare(name: &str) -> &str {
    name.strip_prefix(PREFIX).unwrap_or(name)
}
