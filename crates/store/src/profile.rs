use std::collections::BTreeMap;

use super::library::LIBRARY;
use super::value::Text;
use super::{Endpoint, Error};
use crate::network::plain_connection::PlainConnection;

/// Measures how a Redis spends its time. That Redis must serve nothing else.
pub struct Profile(PlainConnection);

/// The work that a Redis has done since it started, or since [`Profile::reset`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RedisWork {
    /// Calls of functions.
    pub functions: u64,
    /// Commands, also those within functions.
    pub commands: u64,
    /// The size of the append-only file in bytes, if there is one.
    pub file_bytes: Option<u64>,
}

/// Redis records commands that took longer than this, in microseconds.
const SLOW_COMMAND_MICROS: u32 = 500;
/// Redis records this many of the latest slow commands.
const KEPT_COMMANDS: u32 = 4096;

impl Profile {
    /// Lets a Redis record slow commands.
    pub async fn of(endpoint: &Endpoint) -> Result<Self, Error> {
        let redis = PlainConnection::connect(endpoint).await?;
        for (setting, value) in [("slowlog-log-slower-than", SLOW_COMMAND_MICROS), ("slowlog-max-len", KEPT_COMMANDS)] {
            redis.call::<String>(redis::cmd("CONFIG").arg("SET").arg(setting).arg(value)).await?;
        }
        Ok(Self(redis))
    }

    /// Lets a Redis record commands that took a tenth of a millisecond, too.
    pub async fn remember_more(&self) -> Result<(), Error> {
        self.0.call::<String>(redis::cmd("CONFIG").arg("SET").arg("slowlog-log-slower-than").arg(100)).await.map(drop)
    }

    /// Deletes all records.
    pub async fn reset(&self) -> Result<(), Error> {
        self.0.call::<String>(redis::cmd("SLOWLOG").arg("RESET")).await?;
        self.0.call::<String>(redis::cmd("CONFIG").arg("RESETSTAT")).await?;
        Ok(())
    }

    /// Returns the longest time, in milliseconds, for which one command kept Redis busy since the reset; 0 means less than 0.5.
    pub async fn longest_ms(&self) -> Result<f64, Error> {
        let slow: Vec<Vec<redis::Value>> = self.0.call(redis::cmd("SLOWLOG").arg("GET").arg(KEPT_COMMANDS)).await?;
        let times = slow.into_iter().filter_map(|mut entry| match (entry.len() > 2).then(|| entry.swap_remove(2)) {
            Some(redis::Value::Int(micros)) => Some(micros as f64 / 1000.0),
            _ => None,
        });
        Ok(times.fold(0.0, f64::max))
    }

    /// Returns the longest call of each function of hero since the reset, in milliseconds, without calls that were too short to be
    /// recorded.
    pub async fn longest_of_functions_ms(&self) -> Result<BTreeMap<String, f64>, Error> {
        let entries: Vec<(u64, u64, f64, Vec<Text>, Text, Text)> = self.0.call(redis::cmd("SLOWLOG").arg("GET").arg(KEPT_COMMANDS)).await?;
        let mut longest = BTreeMap::new();
        for (_, _, micros, words, ..) in entries {
            let own = words.get(1).and_then(|name| name.0.as_deref()?.strip_prefix(&LIBRARY.name)?.strip_prefix('_'));
            if let Some(function) = own {
                let time = longest.entry(function.to_owned()).or_insert(0.0);
                *time = f64::max(*time, micros / 1000.0);
            }
        }
        Ok(longest)
    }

    /// Returns what Redis has done, without the commands of this profile.
    pub async fn work(&self) -> Result<RedisWork, Error> {
        let info: String = self.0.call(redis::cmd("INFO").arg("commandstats").arg("persistence")).await?;
        Ok(work(&info))
    }

    /// Returns the time that Redis spent in functions since the reset, in microseconds.
    pub async fn function_us(&self) -> Result<f64, Error> {
        let info: String = self.0.call(redis::cmd("INFO").arg("commandstats")).await?;
        let usec = |line: &str| line.split_once(",usec=")?.1.split(',').next()?.parse::<f64>().ok();
        Ok(info.lines().filter(|line| line.starts_with("cmdstat_fcall")).filter_map(usec).sum())
    }
}

/// Reads the sections `commandstats` and `persistence`.
fn work(info: &str) -> RedisWork {
    let calls = |line: &str| {
        let (command, figures) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        Some((command.to_owned(), figures.split(',').next()?.parse::<u64>().ok()?))
    };
    let calls: Vec<(String, u64)> = info.lines().filter_map(calls).collect();
    let sum = |counts: &dyn Fn(&str) -> bool| calls.iter().filter(|(command, _)| counts(command)).map(|(_, calls)| calls).sum();
    RedisWork {
        functions: sum(&|command| command == "fcall" || command == "fcall_ro"),
        commands: sum(&|command| !["info", "slowlog", "config"].contains(&command.split('|').next().unwrap_or_default())),
        file_bytes: info.lines().find_map(|line| line.strip_prefix("aof_current_size:")?.trim().parse().ok()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_counts_functions_and_all_commands_but_those_that_measure() {
        let info = "# Persistence\r\naof_enabled:1\r\naof_current_size:512\r\n# Commandstats\r\ncmdstat_fcall:calls=3,usec=9,usec_per_call=3.00\r\n\
            cmdstat_fcall_ro:calls=1,usec=1\r\ncmdstat_hset:calls=10,usec=5\r\ncmdstat_info:calls=7,usec=1\r\n\
            cmdstat_config|resetstat:calls=1,usec=1\r\ncmdstat_script|load:calls=1,usec=1\r\n";
        assert_eq!(work(info), RedisWork { functions: 4, commands: 15, file_bytes: Some(512) });
        assert_eq!(work("").file_bytes, None);
    }
}
