use std::collections::{BTreeMap, HashMap};

use redis::Pipeline;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::codec::{Text, job};
use super::connection::Link;
use super::{Error, Store};
use crate::model::{Job, JobId, Name, ScriptType, Status, Timestamp};

/// Which jobs to list or follow. What is left out does not restrict.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct JobFilter {
    /// Only jobs of this status.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Status")]
    pub status: Option<Status>,
    /// Only jobs of this script type.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ScriptType")]
    pub script_type: Option<ScriptType>,
    /// Only jobs that this caller created.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub caller_id: Option<String>,
    /// Only jobs for this group.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Name")]
    pub group: Option<Name>,
    /// Only jobs of this name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub name: Option<String>,
    /// Only jobs that have all these labels.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Only jobs created at this time or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Timestamp")]
    pub created_after: Option<Timestamp>,
    /// Only jobs created before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Timestamp")]
    pub created_before: Option<Timestamp>,
}

impl JobFilter {
    /// Whether a job passes.
    pub fn admits(&self, job: &Job) -> bool {
        self.status.is_none_or(|status| status == job.status)
            && self.script_type.is_none_or_matches(job.script_type.as_ref())
            && self.caller_id.is_none_or_matches(job.caller_id.as_ref())
            && self.group.is_none_or_matches(job.group.as_ref())
            && self.name.is_none_or_matches(job.name.as_ref())
            && self.labels.iter().all(|(label, value)| job.labels.get(label) == Some(value))
            && self.created_after.is_none_or(|after| job.created_at.is_some_and(|created| created >= after))
            && self.created_before.is_none_or(|before| job.created_at.is_some_and(|created| created < before))
    }

    /// Whether the status alone decides, so that a job's hash need not be read.
    pub fn is_only_status(&self) -> bool {
        *self == Self { status: self.status, ..Self::default() }
    }
}

trait Matches<T> {
    fn is_none_or_matches(&self, other: Option<&T>) -> bool;
}

impl<T: PartialEq> Matches<T> for Option<T> {
    fn is_none_or_matches(&self, other: Option<&T>) -> bool {
        self.is_none() || self.as_ref() == other
    }
}

/// A page of jobs, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobPage {
    /// The jobs.
    pub jobs: Vec<Job>,
    /// Where the next page begins; absent on the last. A page may hold fewer jobs than asked for and still have a next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub next_cursor: Option<String>,
}

/// Counters of a script type, as the scripts keep them.
pub type Counters = BTreeMap<String, u64>;

/// How a Redis is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StoreInfo {
    /// Its version.
    pub version: String,
    /// Bytes in use.
    pub used_memory: u64,
    /// Bytes it may use; 0 is no limit.
    pub max_memory: u64,
    /// Keys it threw away for want of memory; anything but 0 may have been a job.
    pub evicted_keys: u64,
    /// What is wrong with how it is set up, or has gone wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// At most so many jobs are looked at for one page.
const LOOKED_AT: usize = 10_000;

impl Store {
    /// A job, if it exists.
    pub async fn job(&self, id: &JobId) -> Result<Option<Job>, Error> {
        let fields: HashMap<String, Text> = self.0.commands.call(redis::cmd("HGETALL").arg(self.keys().job(id))).await?;
        Ok((!fields.is_empty()).then(|| job(id, fields)))
    }

    async fn jobs(&self, ids: &[JobId]) -> Result<Vec<Job>, Error> {
        let mut pipeline = Pipeline::with_capacity(ids.len());
        // A key that is no hash is somebody else's.
        pipeline.ignore_errors();
        for id in ids {
            pipeline.cmd("HGETALL").arg(self.keys().job(id));
        }
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let answers: Vec<redis::RedisResult<HashMap<String, Text>>> = self.0.commands.each(&pipeline).await?;
        let found = ids
            .iter()
            .zip(answers)
            .filter_map(|(id, fields)| fields.ok().filter(|fields| !fields.is_empty()).map(|fields| job(id, fields)));
        Ok(found.collect())
    }

    /// Which of these jobs exist, in their order.
    pub async fn exist(&self, ids: &[JobId]) -> Result<Vec<bool>, Error> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut pipeline = Pipeline::with_capacity(ids.len());
        for id in ids {
            pipeline.cmd("EXISTS").arg(self.keys().job(id));
        }
        self.0.commands.pipeline(&pipeline).await
    }

    /// A page of jobs, newest first. Foreign jobs are in it once an actor or the indexer has seen them.
    pub async fn list(&self, filter: &JobFilter, cursor: Option<&str>, limit: usize) -> Result<Option<JobPage>, Error> {
        let hours = self.index_hours().await?;
        let (mut hour, mut end) = match cursor.map(parse_cursor) {
            None => (hours.last().cloned().unwrap_or_default(), usize::MAX),
            Some(Some((hour, end))) => (hour, end),
            Some(None) => return Ok(None),
        };
        let (mut jobs, mut looked) = (Vec::new(), 0);
        loop {
            let key = self.keys().index_of_hour(&hour);
            let length: usize = self.0.commands.call(redis::cmd("LLEN").arg(&key)).await?;
            end = end.min(length);
            while end > 0 {
                let start = end.saturating_sub(limit.clamp(50, 500));
                let ids: Vec<String> = self.0.commands.call(redis::cmd("LRANGE").arg(&key).arg(start).arg(end - 1)).await?;
                let ids: Vec<JobId> = ids.iter().rev().filter_map(|id| id.parse().ok()).collect();
                looked += ids.len();
                let found = self.jobs(&ids).await?;
                for job in found {
                    if jobs.len() == limit {
                        // The page is full in the middle of a chunk: the next begins behind its last job.
                        let last: &Job = jobs.last().expect("a full page has a last job");
                        let behind = ids.iter().position(|id| *id == last.job_id).map_or(end, |at| end - at - 1);
                        return Ok(Some(JobPage { jobs, next_cursor: Some(format!("{hour}-{behind}")) }));
                    }
                    if filter.admits(&job) {
                        jobs.push(job);
                    }
                }
                end = start;
                if looked >= LOOKED_AT || jobs.len() == limit {
                    let more = end > 0 || hours.first().is_some_and(|first| *first < hour);
                    return Ok(Some(JobPage { jobs, next_cursor: more.then(|| format!("{hour}-{end}")) }));
                }
            }
            match hours.iter().rev().find(|earlier| **earlier < hour) {
                Some(earlier) => (hour, end) = (earlier.clone(), usize::MAX),
                None => return Ok(Some(JobPage { jobs, next_cursor: None })),
            }
        }
    }

    /// The hours in which jobs were created, oldest first.
    pub async fn index_hours(&self) -> Result<Vec<String>, Error> {
        let keys = self.scan(&self.keys().index_pattern()).await?;
        let mut hours: Vec<String> = keys.iter().filter_map(|key| self.keys().parse_index(key)).map(ToOwned::to_owned).collect();
        hours.sort_unstable();
        hours.dedup();
        Ok(hours)
    }

    /// All keys of a pattern, found by SCAN in small steps.
    pub(super) async fn scan(&self, pattern: &str) -> Result<Vec<String>, Error> {
        let (mut cursor, mut found) = (0_u64, Vec::new());
        loop {
            let (next, keys) = self.scan_step(cursor, pattern).await?;
            found.extend(keys);
            cursor = next;
            if cursor == 0 {
                return Ok(found);
            }
        }
    }

    /// One step of SCAN, which looks at about a thousand keys.
    pub(super) async fn scan_step(&self, cursor: u64, pattern: &str) -> Result<(u64, Vec<String>), Error> {
        if let Some(signpost) = self.0.signpost.as_ref().filter(|_| cursor == 0) {
            // SCAN names no key: a node that has lost the slot would find nothing and not say why.
            let _: u64 = self.0.commands.call(redis::cmd("EXISTS").arg(signpost)).await?;
        }
        let mut scan = redis::cmd("SCAN");
        scan.arg(cursor).arg("MATCH").arg(pattern).arg("COUNT").arg(1000);
        let (next, keys): (u64, Vec<Text>) = self.0.commands.call(&scan).await?;
        Ok((next, keys.into_iter().filter_map(|key| key.0).collect()))
    }

    /// The counters of every script type that the scripts know.
    pub async fn counters(&self) -> Result<BTreeMap<ScriptType, Counters>, Error> {
        let pattern = self.keys().stats(&"x".parse().expect("x is a name"));
        let prefix = pattern.trim_end_matches('x').to_owned();
        let mut counters = BTreeMap::new();
        for key in self.scan(&format!("{prefix}*")).await? {
            let Some(script_type) = key.strip_prefix(&prefix).and_then(|word| word.parse().ok()) else { continue };
            let of_type: HashMap<String, Text> = self.0.commands.call(redis::cmd("HGETALL").arg(&key)).await?;
            counters.insert(script_type, of_type.into_iter().filter_map(|(what, number)| Some((what, number.parse()?))).collect());
        }
        Ok(counters)
    }

    /// How Redis is.
    pub async fn store_info(&self) -> Result<StoreInfo, Error> {
        store_info(&self.0.commands).await
    }

    /// Whether Redis answers.
    pub async fn ping(&self) -> Result<(), Error> {
        let _: String = self.0.commands.call(&redis::cmd("PING")).await?;
        Ok(())
    }
}

/// A cursor `{hour}-{end}`: the next job is the one before `end` in that hour's index.
fn parse_cursor(cursor: &str) -> Option<(String, usize)> {
    let (hour, end) = cursor.split_once('-')?;
    let valid = hour.len() == 10 && hour.bytes().all(|byte| byte.is_ascii_digit());
    Some((valid.then(|| hour.to_owned())?, end.parse().ok()?))
}

async fn store_info(link: &Link) -> Result<StoreInfo, Error> {
    let info: String = link.call(&redis::cmd("INFO")).await?;
    let value = |name: &str| info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap_or_default();
    let number = |name| value(name).parse().unwrap_or(0);
    let mut warnings: Vec<String> = eviction_warning(value("maxmemory_policy")).into_iter().collect();
    if number("evicted_keys") > 0 {
        warnings.push(format!("Redis threw {} keys away for want of memory; jobs may have been lost", number("evicted_keys")));
    }
    Ok(StoreInfo {
        version: if value("valkey_version").is_empty() {
            value("redis_version").to_owned()
        } else {
            format!("valkey {}", value("valkey_version"))
        },
        used_memory: number("used_memory"),
        max_memory: number("maxmemory"),
        evicted_keys: number("evicted_keys"),
        warnings,
    })
}

/// What is wrong with a policy for full memory, if it is known.
fn eviction_warning(policy: &str) -> Option<String> {
    let throws_away = !matches!(policy, "" | "noeviction");
    throws_away.then(|| format!("Redis throws keys away when memory is short (maxmemory-policy {policy}): jobs can vanish; set noeviction"))
}

/// Refuses a server that cannot do what the protocol needs; gives what is only unwise.
pub(super) async fn check(link: &Link) -> Result<Vec<String>, Error> {
    let info: String = link.call(redis::cmd("INFO").arg("server")).await?;
    let version = info.lines().find_map(|line| line.strip_prefix("redis_version:")).unwrap_or_default().trim().to_owned();
    let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    if (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) < (7, 0) {
        return Err(Error::Unsuitable(format!(
            "this Redis says it is version {version:?}; hero needs Redis 7.0 or newer, or Valkey (apt-get install redis-server)"
        )));
    }
    let known: Vec<redis::Value> = link.call(redis::cmd("COMMAND").arg("INFO").arg("evalsha").arg("blmove")).await?;
    if known.len() < 2 || known.iter().any(|command| matches!(command, redis::Value::Nil)) {
        return Err(Error::Unsuitable(
            "this server has no EVALSHA or no BLMOVE, so it is not a real Redis; install redis-server or valkey-server".into(),
        ));
    }
    // All this is answered also by a server that still reads its data; this is not.
    let _: String = link.call(&redis::cmd("PING")).await?;
    Ok(store_info(link).await?.warnings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_of_nonsense_is_refused() {
        assert_eq!(parse_cursor("2026112110-5"), Some(("2026112110".into(), 5)));
        for bad in ["", "x", "2026112110", "2026112110-x", "20261121-5", "*-1"] {
            assert_eq!(parse_cursor(bad), None, "{bad}");
        }
    }
}
