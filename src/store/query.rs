use std::collections::{BTreeMap, HashMap};

use redis::{Pipeline, RedisResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::codec::{Text, job, json};
use super::connection::Link;
use super::{Error, Store};
use crate::model::{Job, JobId, Name, ScriptType, Status, Timestamp};

/// What a function sees of a filter: a field, how it is compared (`filter.lua` says how it may be), and with what.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Condition {
    field: &'static str,
    how: &'static str,
    text: String,
}

impl Condition {
    /// Adds all conditions to a call, their number first.
    pub(super) fn add(all: &[Self], call: &mut redis::Cmd) {
        call.arg(all.len());
        for condition in all {
            call.arg(condition.field).arg(condition.how).arg(&condition.text);
        }
    }
}

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
    /// Only jobs that have all these labels; 16 at most.
    #[serde(deserialize_with = "crate::model::or_default", skip_serializing_if = "BTreeMap::is_empty")]
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

    /// The fields of a job's hash that decide.
    pub(super) fn fields(&self) -> Vec<&'static str> {
        let fields = [
            (self.status.is_some(), "status"),
            (self.script_type.is_some(), "script_type"),
            (self.caller_id.is_some(), "caller_id"),
            (self.group.is_some(), "group"),
            (self.name.is_some(), "name"),
            (!self.labels.is_empty(), "labels"),
            (self.created_after.is_some() || self.created_before.is_some(), "created_at"),
        ];
        fields.into_iter().filter_map(|(decides, field)| decides.then_some(field)).collect()
    }

    /// What the functions that look for jobs compare. A job that does not pass there does not pass; of one that does, the caller makes sure.
    pub(super) fn conditions(&self) -> Vec<Condition> {
        let is = |field, text: Option<&str>| text.map(|text| Condition { field, how: "is", text: text.to_owned() });
        let time = |how, time: Option<Timestamp>| {
            // Only the form with four digits of the year compares as a text.
            time.map(|time| Condition { field: "created_at", how, text: time.to_string() }).filter(|condition| condition.text.len() == 24)
        };
        let label = |(label, value): (&String, &String)| Condition {
            field: "labels",
            how: "label",
            text: format!("{}:{}", json(label), json(value)),
        };
        let conditions = [
            self.status.map(|status| Condition { field: "status", how: "status", text: status.as_str().to_owned() }),
            time("from", self.created_after),
            time("until", self.created_before),
            is("script_type", self.script_type.as_ref().map(ScriptType::as_str)),
            is("caller_id", self.caller_id.as_deref()),
            is("group", self.group.as_ref().map(Name::as_str)),
            is("name", self.name.as_deref()),
        ];
        let conditions = conditions.into_iter().flatten().chain(self.labels.iter().map(label));
        // Bytes that are no text read as this character, and so the text is not what stands there.
        conditions.filter(|condition| !condition.text.contains('\u{fffd}')).collect()
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

/// Counters of a script type, as the functions keep them.
pub type Counters = BTreeMap<String, u64>;

/// The state of a Redis.
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

impl Store {
    /// A job, if it exists.
    pub async fn job(&self, id: &JobId) -> Result<Option<Job>, Error> {
        let fields: HashMap<String, Text> = self.0.commands.call(redis::cmd("HGETALL").arg(self.keys().job(id))).await?;
        Ok((!fields.is_empty()).then(|| job(id, fields)))
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

    /// The hours in which jobs were created, oldest first.
    pub async fn index_hours(&self) -> Result<Vec<String>, Error> {
        let keys = self.members(&self.keys().hours()).await?;
        Ok(keys.iter().filter_map(|key| self.keys().parse_index(key)).map(ToOwned::to_owned).collect())
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

    /// The counters of every script type that the functions know.
    pub async fn counters(&self) -> Result<BTreeMap<ScriptType, Counters>, Error> {
        let keys = self.members(&self.keys().types()).await?;
        let of = |key: String| Some((self.keys().parse_stats(&key)?, key));
        let keys: Vec<(ScriptType, String)> = keys.into_iter().filter_map(of).collect();
        let mut pipeline = Pipeline::with_capacity(keys.len());
        for (_, key) in &keys {
            pipeline.cmd("HGETALL").arg(key);
        }
        // A key that is no hash has no counters.
        pipeline.ignore_errors();
        let counted: Vec<RedisResult<HashMap<String, Text>>> =
            if keys.is_empty() { Vec::new() } else { self.0.commands.each(&pipeline).await? };
        let number = |(what, number): (String, Text)| Some((what, number.parse()?));
        let counters = keys.into_iter().zip(counted).filter_map(|((script_type, _), counted)| Some((script_type, counted.ok()?)));
        Ok(counters.map(|(script_type, counted)| (script_type, counted.into_iter().filter_map(number).collect())).collect())
    }

    /// The state of Redis.
    pub async fn store_info(&self) -> Result<StoreInfo, Error> {
        let (mut info, overfull) = tokio::try_join!(store_info(&self.0.commands), self.overfull())?;
        info.warnings.extend(overfull);
        Ok(info)
    }

    /// Whether Redis answers.
    pub async fn ping(&self) -> Result<(), Error> {
        let _: String = self.0.commands.call(&redis::cmd("PING")).await?;
        Ok(())
    }
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
    let known: Vec<redis::Value> = link.call(redis::cmd("COMMAND").arg("INFO").arg("fcall").arg("blmove")).await?;
    if known.len() < 2 || known.iter().any(|command| matches!(command, redis::Value::Nil)) {
        return Err(Error::Unsuitable(
            "this server has no FCALL or no BLMOVE, so it is not a real Redis; install redis-server or valkey-server".into(),
        ));
    }
    // All this is answered also by a server that still reads its data; this is not.
    let _: String = link.call(&redis::cmd("PING")).await?;
    Ok(store_info(link).await?.warnings)
}

/// What is unwise in how a cluster is set up.
pub(super) async fn cluster_warning(link: &Link) -> Option<String> {
    // A user that may not read the configuration is not warned.
    let found: HashMap<String, String> = link.call(redis::cmd("CONFIG").arg("GET").arg("cluster-require-full-coverage")).await.ok()?;
    (found.values().next()? == "yes").then(|| {
        "when one node of the cluster fails, no context is served until its replica has taken over; \
         set cluster-require-full-coverage no"
            .to_owned()
    })
}
