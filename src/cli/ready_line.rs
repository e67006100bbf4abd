//! The line that `hero serve` and `hero actor` print on stdout when they are ready.

use std::net::SocketAddr;

use super::settings::{Instances, PoolSettings};
use crate::model::{ContextId, Name};

/// The line of `hero serve`: `hero 0.1.0 ready on ws://127.0.0.1:8700 (redis: …, pools: osis ×2, sal:io 3,5)`.
///
/// `redis` describes which Redis is used. It must not contain passwords.
pub(super) fn line(address: SocketAddr, redis: &str, pools: &[PoolSettings], contexts: &[ContextId]) -> String {
    format!("hero {} ready on ws://{address} ({})", env!("CARGO_PKG_VERSION"), what(redis, pools, contexts))
}

/// The line of `hero actor`: `hero 0.1.0 actors ready (redis: …, pools: osis ×2)`.
pub(super) fn actors(redis: &str, pools: &[PoolSettings], contexts: &[ContextId]) -> String {
    format!("hero {} actors ready ({})", env!("CARGO_PKG_VERSION"), what(redis, pools, contexts))
}

/// Redis, the pools, and the contexts if there are others than 0.
fn what(redis: &str, pools: &[PoolSettings], contexts: &[ContextId]) -> String {
    let numbers = contexts.iter().map(ContextId::to_string).collect::<Vec<_>>().join("+");
    let contexts = if numbers == "0" { String::new() } else { format!(", contexts: {numbers}") };
    format!("redis: {redis}, pools: {}{contexts}", list(pools))
}

fn list(pools: &[PoolSettings]) -> String {
    if pools.is_empty() { "none".to_owned() } else { pools.iter().map(describe).collect::<Vec<_>>().join(", ") }
}

fn describe(pool: &PoolSettings) -> String {
    let group = if pool.group == Name::default_group() { String::new() } else { format!(":{}", pool.group) };
    let instances = match &pool.instances {
        Instances::Count(count) => format!("×{count}"),
        Instances::Numbers(numbers) => numbers.iter().map(u32::to_string).collect::<Vec<_>>().join("+"),
    };
    format!("{}{group} {instances}", pool.script_type)
}

/// The server's address in its ready line.
pub(super) fn parse(line: &str) -> Option<&str> {
    let (_, rest) = line.strip_prefix("hero ")?.split_once(" ready on ")?;
    rest.split_whitespace().next().filter(|url| url.starts_with("ws://"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_read_from_the_ready_line() {
        let pools = ["osis=2".parse().unwrap(), "sal:io=1".parse().unwrap()];
        let text = line(([127, 0, 0, 1], 4711).into(), "private, /d/redis.sock", &pools, &[ContextId(0)]);
        assert_eq!(
            text,
            format!(
                "hero {} ready on ws://127.0.0.1:4711 (redis: private, /d/redis.sock, pools: osis ×2, sal:io ×1)",
                env!("CARGO_PKG_VERSION")
            )
        );
        assert_eq!(parse(&text), Some("ws://127.0.0.1:4711"));
        assert!(actors("private", &pools, &[ContextId(0), ContextId(4)]).ends_with("sal:io ×1, contexts: 0+4)"));
        assert_eq!(parse("a log line that says ready on ws://x"), None);
    }
}
