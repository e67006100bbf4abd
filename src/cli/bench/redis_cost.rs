use serde::Serialize;

use crate::store::{Profile, RedisWork};

/// What one job made the private Redis of a server do, on average. Includes what the server asks at rest.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct RedisCost {
    /// Calls of functions.
    pub(super) functions: f64,
    /// Commands, also those within functions.
    pub(super) commands: f64,
    /// Bytes of the append-only file; `None` if it was rewritten meanwhile.
    pub(super) file_bytes: Option<f64>,
}

/// Counts the work of a Redis between two points in time.
pub(super) struct RedisMeter<'a>(Option<(&'a Profile, RedisWork)>);

impl<'a> RedisMeter<'a> {
    /// Starts to count, if this Redis serves nothing else.
    pub(super) async fn start(redis: Option<&'a Profile>) -> anyhow::Result<Self> {
        Ok(Self(match redis {
            Some(redis) => Some((redis, redis.work().await?)),
            None => None,
        }))
    }

    /// Returns the work for each of these jobs.
    pub(super) async fn per_job(self, jobs: u64) -> anyhow::Result<Option<RedisCost>> {
        let Some((redis, before)) = self.0 else { return Ok(None) };
        Ok(Some(cost(before, redis.work().await?, jobs)))
    }
}

fn cost(before: RedisWork, after: RedisWork, jobs: u64) -> RedisCost {
    let per = |from: u64, to: u64| to.saturating_sub(from) as f64 / jobs.max(1) as f64;
    let file = before.file_bytes.zip(after.file_bytes).filter(|(from, to)| from <= to);
    RedisCost {
        functions: per(before.functions, after.functions),
        commands: per(before.commands, after.commands),
        file_bytes: file.map(|(from, to)| per(from, to)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_is_that_of_one_job_and_a_file_that_was_rewritten_has_none() {
        let work = |functions, commands, file| RedisWork { functions, commands, file_bytes: Some(file) };
        let RedisCost { functions, commands, file_bytes } = cost(work(10, 100, 1000), work(30, 500, 9000), 10);
        assert_eq!((functions, commands, file_bytes), (2.0, 40.0, Some(800.0)));
        assert_eq!(cost(work(0, 0, 1000), work(0, 0, 999), 0).file_bytes, None);
    }
}
