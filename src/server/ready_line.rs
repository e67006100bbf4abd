//! The line that `hero serve` and `hero actor` print on stdout when they are ready.

use std::collections::BTreeMap;

use crate::model::{ContextId, Name, ScriptType};
use crate::server::settings::{Instances, PoolSettings};

/// Returns the line of `hero serve`: `hero 0.1.0 ready on ws://127.0.0.1:8700 (redis: …, pools: osis ×2, sal:io 3,5)`.
///
/// `redis` describes the Redis in use. It must not contain passwords.
pub(crate) fn line(url: &str, redis: &str, pools: &[PoolSettings], contexts: &[ContextId], absent: &Absent) -> String {
    format!("hero {} ready on {url} ({})", env!("CARGO_PKG_VERSION"), what(redis, pools, contexts, absent))
}

/// Returns the line of `hero actor`: `hero 0.1.0 actors ready (redis: …, pools: osis ×2)`.
pub(crate) fn actors(redis: &str, pools: &[PoolSettings], contexts: &[ContextId], absent: &Absent) -> String {
    format!("hero {} actors ready ({})", env!("CARGO_PKG_VERSION"), what(redis, pools, contexts, absent))
}

/// The script types of pools that cannot run here, with the reasons.
type Absent = BTreeMap<ScriptType, String>;

/// Describes Redis, the pools, the contexts if there are others than 0, and the pools that cannot run.
fn what(redis: &str, pools: &[PoolSettings], contexts: &[ContextId], absent: &Absent) -> String {
    let numbers = contexts.iter().map(ContextId::to_string).collect::<Vec<_>>().join("+");
    let contexts = if numbers == "0" { String::new() } else { format!(", contexts: {numbers}") };
    let offered: Vec<String> = pools.iter().filter(|pool| !absent.contains_key(&pool.script_type)).map(describe).collect();
    let absent: String = absent.iter().map(|(script_type, why)| format!("; no {script_type}: {why}")).collect();
    format!("redis: {redis}, pools: {}{contexts}{absent}", list(&offered))
}

fn list(pools: &[String]) -> String {
    if pools.is_empty() { "none".to_owned() } else { pools.join(", ") }
}

fn describe(pool: &PoolSettings) -> String {
    let group = if pool.group == Name::default_group() { String::new() } else { format!(":{}", pool.group) };
    let instances = match &pool.instances {
        Instances::Count(count) => format!("×{count}"),
        Instances::Numbers(numbers) => numbers.iter().map(u32::to_string).collect::<Vec<_>>().join("+"),
    };
    format!("{}{group} {instances}", pool.script_type)
}

/// Extracts the server's address from its ready line.
pub(crate) fn parse(line: &str) -> Option<&str> {
    let (_, rest) = line.strip_prefix("hero ")?.split_once(" ready on ")?;
    rest.split_whitespace().next().filter(|url| url.starts_with("ws://") || url.starts_with("wss://"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_read_from_the_ready_line() {
        let pools = ["osis=2".parse().unwrap(), "sal:io=1".parse().unwrap()];
        let text = line("ws://127.0.0.1:4711", "private, /d/redis.sock", &pools, &[ContextId(0)], &Absent::new());
        assert_eq!(
            text,
            format!(
                "hero {} ready on ws://127.0.0.1:4711 (redis: private, /d/redis.sock, pools: osis ×2, sal:io ×1)",
                env!("CARGO_PKG_VERSION")
            )
        );
        assert_eq!(parse(&text), Some("ws://127.0.0.1:4711"));
        let absent = Absent::from([("sal".parse().unwrap(), "there is none".to_owned())]);
        let text = actors("private", &pools, &[ContextId(0), ContextId(4)], &absent);
        assert!(text.ends_with("pools: osis ×2, contexts: 0+4; no sal: there is none)"), "{text}");
        assert_eq!(parse("a log line that says ready on ws://x"), None);
    }
}
