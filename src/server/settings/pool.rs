use std::path::PathBuf;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::{grant, value};
use crate::engine::Capability;
use crate::model::{ContextId, Name, ScriptType};
use crate::sal::Hosts;

/// The maximum number of actors of one kind in a process. A larger number is a typing error.
const MAX_ACTORS: u32 = 1024;

/// The actors of one script type and group that a process runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoolSettings {
    /// The script type they run.
    #[serde(rename = "type")]
    pub script_type: ScriptType,
    /// Their group.
    #[serde(default = "Name::default_group")]
    pub group: Name,
    /// The number of actors, or their instance numbers.
    #[serde(default)]
    pub instances: Instances,
    /// The contexts they serve, each with the same number of actors. Before resolving, an empty list means all
    /// configured contexts.
    #[serde(default, deserialize_with = "super::context::contexts")]
    pub contexts: Vec<ContextId>,
    /// Whether the pool names no contexts, and so also serves contexts made at run time.
    #[serde(skip)]
    pub everywhere: bool,
    /// Whether the callers of a queue take turns, regardless of the order of their jobs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fair: bool,
    /// The grants of their scripts; by default those of the script type.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "grant::capabilities")]
    pub capabilities: Option<Vec<Capability>>,
    /// The hosts that their scripts may connect to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// The Redis that their scripts may use, with `{context}` for the number of the context.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "value::masked")]
    pub redis: Option<String>,
    /// The virtual environment of its Python scripts, instead of that of the script type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub venv: Option<PathBuf>,
    /// The legacy work queues they also take from; the script type's by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker_ids: Option<Vec<Name>>,
    /// The rhailib circles they also take from; the script type's by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub circles: Option<Vec<Name>>,
    /// The conveyor queues they also take from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conveyor_queues: Option<Vec<Name>>,
}

/// A layout of queues and hashes other than our own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayoutName {
    /// The layout of the dispatcher protocol.
    Legacy,
    /// The layout of rhailib.
    Rhailib,
    /// The layout of the coordinator's runners.
    Runner,
}

impl LayoutName {
    const ALL: [(&'static str, Self); 3] = [("legacy", Self::Legacy), ("rhailib", Self::Rhailib), ("runner", Self::Runner)];
}

/// Parses `all`, `none`, or names separated by commas.
pub(super) fn layout_names<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<LayoutName>, D::Error> {
    let names = super::value::list(from)?;
    match names.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["all"] => return Ok(LayoutName::ALL.map(|(_, layout)| layout).to_vec()),
        ["none"] | [] => return Ok(Vec::new()),
        _ => {}
    }
    let named = |name: &String| LayoutName::ALL.iter().find(|(known, _)| known == name).map(|(_, layout)| *layout);
    let unknown = |name: &String| format!("{name:?} is not one of all, none, {}", LayoutName::ALL.map(|(name, _)| name).join(", "));
    names.iter().map(|name| named(name).ok_or_else(|| D::Error::custom(unknown(name)))).collect()
}

/// The number of actors of a pool, or their instance numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "instances are a number, or a list of numbers such as [3, 5]")]
pub enum Instances {
    /// This number of actors; each takes the lowest free instance number.
    Count(u32),
    /// Exactly these instance numbers; an actor whose number is taken refuses to start.
    Numbers(Vec<u32>),
}

impl Default for Instances {
    fn default() -> Self {
        Self::Count(1)
    }
}

impl Instances {
    /// Returns the number of actors.
    pub fn len(&self) -> usize {
        match self {
            Self::Count(count) => *count as usize,
            Self::Numbers(numbers) => numbers.len(),
        }
    }

    /// Whether there is no actor.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl PoolSettings {
    /// Creates a pool of `count` actors in the group `default`.
    pub fn new(script_type: ScriptType, count: u32) -> Self {
        Self {
            script_type,
            group: Name::default_group(),
            instances: Instances::Count(count),
            contexts: Vec::new(),
            everywhere: false,
            fair: false,
            capabilities: None,
            hosts: Vec::new(),
            redis: None,
            venv: None,
            worker_ids: None,
            circles: None,
            conveyor_queues: None,
        }
    }

    /// Describes the first fault of this pool on its own.
    fn fault(&self) -> Option<String> {
        let (script_type, group) = (&self.script_type, &self.group);
        let of = format!("pool {script_type}:{group}");
        if self.instances.is_empty() {
            return Some(format!("{of} has no instances; leave it out instead"));
        }
        if self.instances.len() > MAX_ACTORS as usize {
            return Some(format!("{of} has more than {MAX_ACTORS} instances"));
        }
        if let Instances::Numbers(numbers) = &self.instances {
            let mut seen = std::collections::BTreeSet::new();
            if let Some(twice) = numbers.iter().find(|number| !seen.insert(**number)) {
                return Some(format!("{of} names instance {twice} twice"));
            }
        }
        if let Some(venv) = self.venv.as_ref().filter(|venv| venv.is_relative()) {
            return Some(format!("{of}: venv: {:?} is not a whole path", venv.display().to_string()));
        }
        self.wrong_grant().map(|fault| format!("{of}: {fault}"))
    }

    /// Whether it serves a context, named by the settings or made at run time.
    pub fn serves(&self, context: ContextId, settings: &super::Settings) -> bool {
        self.contexts.contains(&context) || self.everywhere && !settings.contexts.contains(&context)
    }

    /// Returns the grants of its scripts in a context that does not narrow them.
    pub fn granted(&self) -> &[Capability] {
        self.capabilities.as_deref().unwrap_or(Capability::by_default(&self.script_type))
    }

    /// Describes a mismatch of grants and resources: something is granted and not named, or named and not granted.
    fn wrong_grant(&self) -> Option<String> {
        let has = |capability| self.granted().contains(&capability);
        if self.capabilities.is_some() && !self.script_type.is_built_in() {
            return Some("capabilities are for scripts of type osis and sal; those of other types are processes, which have a directory of their own".to_owned());
        }
        if has(Capability::Net) && self.hosts.is_empty() {
            return Some("net is granted, but names no host; add hosts = [\"example.org\"], or \"*\" for all that are public".to_owned());
        }
        if !self.hosts.is_empty() && !has(Capability::Net) {
            return Some("hosts are named, but net is not granted; add it to capabilities, or leave the hosts out".to_owned());
        }
        if has(Capability::Redis) && self.redis.as_deref().is_none_or(str::is_empty) {
            return Some("redis is granted, but names no Redis; add redis = \"redis://HOST:PORT\"; it cannot be the one in which hero keeps its jobs".to_owned());
        }
        if let Some(redis) = &self.redis {
            if !has(Capability::Redis) {
                return Some("a Redis is named, but redis is not granted; add it to capabilities, or leave the Redis out".to_owned());
            }
            if !matches!(redis.split_once("://").map_or("", |(scheme, _)| scheme), "redis" | "rediss" | "unix" | "redis+unix") {
                return Some("redis: a Redis address begins with redis://, rediss:// or unix://".to_owned());
            }
        }
        Hosts::new(self.hosts.iter().map(String::as_str)).err().map(|wrong| format!("hosts: {wrong}"))
    }
}

/// Parses `TYPE[:GROUP]=N`.
impl FromStr for PoolSettings {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = |why: String| format!("{text:?} is not a pool such as osis=4 or sal:io=2: {why}");
        let (kind, count) = text.split_once('=').ok_or_else(|| bad("the number is missing".to_owned()))?;
        let count = count.trim().parse().map_err(|_| bad(format!("{count:?} is not a number of actors")))?;
        let (script_type, group) = kind.trim().split_once(':').map_or((kind.trim(), None), |(name, group)| (name, Some(group)));
        let mut pool = Self::new(script_type.parse().map_err(|error| bad(format!("{error}")))?, count);
        if let Some(group) = group {
            pool.group = group.parse().map_err(|error| bad(format!("{error}")))?;
        }
        Ok(pool)
    }
}

/// Parses pools from tables, from texts, or from texts separated by commas; `none` is no pool.
pub(super) fn pools<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<PoolSettings>, D::Error> {
    let pools = match <figment::value::Value as Deserialize>::deserialize(from)? {
        figment::value::Value::String(_, text) if matches!(text.trim(), "none" | "") => Vec::new(),
        figment::value::Value::String(_, text) => {
            text.split(',').map(|pool| pool.trim().parse()).collect::<Result<_, _>>().map_err(D::Error::custom)?
        }
        figment::value::Value::Array(_, tables) => tables
            .iter()
            .map(|table| super::value::read_table(table, "the pool key"))
            .collect::<Result<Vec<_>, _>>()
            .map_err(D::Error::custom)?,
        _ => return Err(D::Error::custom("pools are tables: [[pools]]")),
    };
    match pools.iter().find_map(PoolSettings::fault) {
        Some(fault) => Err(D::Error::custom(fault)),
        None => Ok(pools),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_reads_from_one_word() {
        let pool: PoolSettings = "sal:io=2".parse().unwrap();
        assert_eq!((pool.script_type.as_str(), pool.group.as_str(), pool.instances), ("sal", "io", Instances::Count(2)));
        assert_eq!("osis=4".parse::<PoolSettings>().unwrap().group, Name::default_group());
        for bad in ["", "osis", "osis=", "osis=-1", "osis=many", "a b=1", "osis:=1", ":io=1"] {
            assert!(bad.parse::<PoolSettings>().is_err(), "{bad:?}");
        }
    }
}
