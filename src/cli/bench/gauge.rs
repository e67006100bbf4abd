use std::path::Path;

use anyhow::Context as _;

use crate::store::{Endpoint, Plain};

/// Looks into the private Redis of a server that is measured.
pub(super) struct Gauge(Plain);

/// What took longer than this is remembered by Redis, in microseconds.
const SLOW: u32 = 500;
/// Redis remembers so many of the latest slow commands.
const KEPT: u32 = 4096;

impl Gauge {
    /// The Redis of the server whose data is in this directory.
    pub(super) async fn of(data: &Path) -> anyhow::Result<Self> {
        let url = format!("unix://{}", data.join("redis.sock").display());
        let secret = std::fs::read_to_string(data.join("redis.secret")).context("the server has no Redis of its own")?;
        let redis = Plain::connect(&Endpoint { url, password: Some(secret.trim().to_owned()), ..Endpoint::default() })
            .await
            .context("the Redis of the server does not answer")?;
        for (setting, value) in [("slowlog-log-slower-than", SLOW), ("slowlog-max-len", KEPT)] {
            redis.call::<String>(redis::cmd("CONFIG").arg("SET").arg(setting).arg(value)).await?;
        }
        Ok(Self(redis))
    }

    /// Forgets what was.
    pub(super) async fn reset(&self) -> anyhow::Result<()> {
        self.0.call::<String>(redis::cmd("SLOWLOG").arg("RESET")).await?;
        self.0.call::<String>(redis::cmd("CONFIG").arg("RESETSTAT")).await?;
        Ok(())
    }

    /// The longest time, in milliseconds, that Redis did nothing but one command since the reset; 0 stands for less than half of one.
    pub(super) async fn longest_ms(&self) -> anyhow::Result<f64> {
        let slow: Vec<Vec<redis::Value>> = self.0.call(redis::cmd("SLOWLOG").arg("GET").arg(KEPT)).await?;
        let times = slow.into_iter().filter_map(|mut entry| match (entry.len() > 2).then(|| entry.swap_remove(2)) {
            Some(redis::Value::Int(micros)) => Some(micros as f64 / 1000.0),
            _ => None,
        });
        Ok(times.fold(0.0, f64::max))
    }

    /// The time that Redis spent in scripts since the reset, in microseconds.
    pub(super) async fn script_us(&self) -> anyhow::Result<f64> {
        let info: String = self.0.call(redis::cmd("INFO").arg("commandstats")).await?;
        let usec = |line: &str| line.split_once(",usec=")?.1.split(',').next()?.parse::<f64>().ok();
        Ok(info.lines().filter(|line| line.starts_with("cmdstat_eval")).filter_map(usec).sum())
    }
}
