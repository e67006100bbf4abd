//! The one line that `hero serve` prints on stdout when it serves.

use std::net::SocketAddr;

use super::settings::{Instances, PoolSettings};

/// `hero 0.1.0 ready on ws://127.0.0.1:8700 (redis: …, pools: osis ×2, sal:io 3,5)`.
///
/// `redis` says in words which Redis is used; passwords do not belong into it.
pub(super) fn line(address: SocketAddr, redis: &str, pools: &[PoolSettings]) -> String {
    format!("hero {} ready on ws://{address} (redis: {redis}, pools: {})", env!("CARGO_PKG_VERSION"), list(pools))
}

/// `hero 0.1.0 actors ready (redis: …, pools: osis ×2)`: the line of `hero actor`.
pub(super) fn actors(redis: &str, pools: &[PoolSettings]) -> String {
    format!("hero {} actors ready (redis: {redis}, pools: {})", env!("CARGO_PKG_VERSION"), list(pools))
}

fn list(pools: &[PoolSettings]) -> String {
    if pools.is_empty() { "none".to_owned() } else { pools.iter().map(describe).collect::<Vec<_>>().join(", ") }
}

fn describe(pool: &PoolSettings) -> String {
    let group = if pool.group.as_str() == "default" { String::new() } else { format!(":{}", pool.group) };
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
        let text = line(([127, 0, 0, 1], 4711).into(), "private, /d/redis.sock", &pools);
        assert_eq!(
            text,
            format!(
                "hero {} ready on ws://127.0.0.1:4711 (redis: private, /d/redis.sock, pools: osis ×2, sal:io ×1)",
                env!("CARGO_PKG_VERSION")
            )
        );
        assert_eq!(parse(&text), Some("ws://127.0.0.1:4711"));
        assert_eq!(parse("a log line that says ready on ws://x"), None);
    }
}
