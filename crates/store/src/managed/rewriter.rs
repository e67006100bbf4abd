use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::network::connection::RedisConnection;
use crate::{Endpoint, Error};
use hero_service::{self as service, Service};

/// The interval at which the append-only file is compared with the data in memory.
const CHECK_INTERVAL: Duration = Duration::from_secs(60);
/// A file shorter than this is never rewritten here.
const MIN_FILE_BYTES: u64 = 64 << 20;
/// An idle Redis rewrites a file that is this many times as long as the data in memory.
const REWRITE_RATIO: u64 = 2;
/// Redis counts as idle with fewer commands than this each second: the loops of an idle server send some.
const IDLE_COMMANDS_PER_SECOND: u64 = 500;

/// Makes a private Redis rewrite its append-only file after load, while it is idle. Redis itself does so only when the file grows.
pub(super) struct Rewriter {
    link: RedisConnection,
}

impl Rewriter {
    /// Watches this Redis until shutdown.
    pub(super) fn start(endpoint: &Endpoint, shutdown: CancellationToken) -> Result<(), Error> {
        let link = RedisConnection::new(endpoint.client(0)?)?;
        tokio::spawn(service::run(Self { link }, shutdown));
        Ok(())
    }
}

/// Whether INFO describes an idle Redis with a file that is too long.
fn is_due(info: &str) -> bool {
    let value = |name: &str| {
        let of = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        of.and_then(|number| number.trim().parse::<u64>().ok())
    };
    let (Some(file), Some(data), Some(rate)) =
        (value("aof_current_size"), value("used_memory_dataset"), value("instantaneous_ops_per_sec"))
    else {
        return false;
    };
    let is_busy =
        rate >= IDLE_COMMANDS_PER_SECOND || value("aof_rewrite_in_progress") != Some(0) || value("rdb_bgsave_in_progress") != Some(0);
    !is_busy && file >= MIN_FILE_BYTES && file >= data.saturating_mul(REWRITE_RATIO)
}

impl Service for Rewriter {
    type Error = Error;

    const NAME: &'static str = "shortening the append-only file of the private Redis";

    async fn tick(&mut self) -> Result<Duration, Error> {
        let info: String = self.link.call(&redis::cmd("INFO")).await?;
        if is_due(&info) {
            let _: redis::Value = self.link.call(&redis::cmd("BGREWRITEAOF")).await?;
        }
        Ok(CHECK_INTERVAL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(file: u64, data: u64, rate: u64, rewrites: u64) -> String {
        format!(
            "# Memory\r\nused_memory_dataset:{data}\r\n# Persistence\r\naof_rewrite_in_progress:{rewrites}\r\nrdb_bgsave_in_progress:0\r\n\
             aof_current_size:{file}\r\n# Stats\r\ninstantaneous_ops_per_sec:{rate}\r\n"
        )
    }

    #[test]
    fn a_file_is_rewritten_at_rest_when_it_is_much_longer_than_the_data() {
        const MB: u64 = 1 << 20;
        assert!(is_due(&info(911 * MB, 30 * MB, 60, 0)));
        for not_yet in
            [info(911 * MB, 30 * MB, 9_000, 0), info(911 * MB, 30 * MB, 60, 1), info(911 * MB, 600 * MB, 60, 0), info(30 * MB, MB, 60, 0)]
        {
            assert!(!is_due(&not_yet), "{not_yet}");
        }
        assert!(!is_due("what no Redis says"));
    }
}
