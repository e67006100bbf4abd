//! The environment variables that begin with `HERO_` and are no settings.

use std::collections::BTreeMap;

use super::nearest;
use super::table::{SETTINGS, Setting};

const PREFIX: &str = "HERO_";
/// What the commands read that talk to a server.
const OF_COMMANDS: [&str; 3] = ["HERO_SERVER", "HERO_CA", "HERO_TOKEN"];
/// What hero gives to its own processes and to those of jobs, which may start a hero again.
const OF_PROCESSES: [&str; 8] =
    ["HERO_ARGS", "HERO_ARGUMENTS", "HERO_ASK_FD", "HERO_ATTEMPT", "HERO_CALLER_ID", "HERO_CONTEXT_ID", "HERO_JOB_ID", "HERO_RESULT_FD"];
/// How such a variable begins on its way into a process that is being confined.
const ON_THE_WAY: &str = "HERO_OF_JOB_";
/// How alike two names are, of which one is meant by the other: 1 is the same.
const ALIKE: f64 = 0.85;

/// The variables that nobody knows, without those that others set for a service that is called hero.
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

/// Whether an orchestrator set it, to tell where a service is: `HERO_SERVICE_HOST`, `HERO_PORT=tcp://10.0.0.1:8700`, `HERO_PORT_8700_TCP_ADDR`.
fn is_of_a_service(name: &str, value: &str) -> bool {
    let is_address = ["tcp://", "udp://", "sctp://"].iter().any(|scheme| value.starts_with(scheme));
    let of_a_port = || name.split("_PORT_").skip(1).any(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit()));
    is_address || name.contains("_SERVICE_HOST") || name.contains("_SERVICE_PORT") || of_a_port()
}

/// What is wrong with the first variable that looks like a misspelt one.
pub(super) fn misspelt(env: &BTreeMap<String, String>) -> Option<String> {
    let known: Vec<String> = names().chain(OF_COMMANDS.map(ToOwned::to_owned)).collect();
    let resembled = |name: &str| nearest(bare(name), known.iter().map(|name| bare(name)));
    unknown(env).find_map(|name| Some(format!("the environment variable {name} is no setting; did you mean {PREFIX}{}?", resembled(name)?)))
}

/// One line for each variable that has no effect, with what may be meant.
pub(super) fn warnings(env: &BTreeMap<String, String>) -> Vec<String> {
    let warning = |name: &str| {
        // One with a word too many, such as HERO_REDIS_URL, or one that is alike.
        let begun = names().filter(|known| name.starts_with(known)).max_by_key(String::len);
        let likeness = |known: String| (strsim::jaro_winkler(bare(name), bare(&known)), known);
        let alike = || names().map(likeness).max_by(|(one, _), (other, _)| one.total_cmp(other)).filter(|(alike, _)| *alike >= ALIKE);
        let nearest = begun.or_else(|| Some(alike()?.1)).map_or_else(String::new, |known| format!("; did you mean {known}?"));
        format!("the environment variable {name} has no effect: it is no setting{nearest}")
    };
    unknown(env).map(warning).collect()
}

/// One line for each variable that looks like a misspelt one of those for the commands that talk to a server.
pub fn misspelt_of_commands(env: &BTreeMap<String, String>) -> Vec<String> {
    let resembled = |name: &str| nearest(bare(name), OF_COMMANDS.into_iter().map(bare));
    let warning = |name| Some(format!("the environment variable {name} has no effect; did you mean {PREFIX}{}?", resembled(name)?));
    unknown(env).filter_map(warning).collect()
}

fn bare(name: &str) -> &str {
    name.strip_prefix(PREFIX).unwrap_or(name)
}
