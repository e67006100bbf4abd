use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};

use super::{Name, ScriptType, whole_number};

/// The priority of a job: 0 urgent, 1 normal, 2 low.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize)]
#[serde(into = "u8")]
pub enum Priority {
    /// 0: before everything else.
    Urgent,
    /// 1: in turn.
    #[default]
    Normal,
    /// 2: when nothing else waits.
    Low,
}

impl From<Priority> for u8 {
    fn from(priority: Priority) -> Self {
        match priority {
            Priority::Urgent => 0,
            Priority::Normal => 1,
            Priority::Low => 2,
        }
    }
}

impl TryFrom<u8> for Priority {
    type Error = &'static str;

    fn try_from(number: u8) -> Result<Self, Self::Error> {
        match number {
            0 => Ok(Self::Urgent),
            1 => Ok(Self::Normal),
            2 => Ok(Self::Low),
            _ => Err("a priority is 0 (urgent), 1 (normal) or 2 (low)"),
        }
    }
}

impl<'de> Deserialize<'de> for Priority {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = whole_number(deserializer, "0 (urgent), 1 (normal) or 2 (low)")?;
        u8::try_from(number).unwrap_or(u8::MAX).try_into().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Priority {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Priority".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 0, "maximum": 2 })
    }
}

/// The actors that may take a job.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Target {
    /// Any actor of the script type.
    Type,
    /// Any actor of the group.
    Group(Name),
    /// One actor.
    Instance(Name, u32),
}

impl Target {
    /// Returns the target for this group and instance. An instance without a group belongs to the default group.
    pub fn of(group: Option<Name>, instance: Option<u32>) -> Self {
        match (group, instance) {
            (group, Some(instance)) => Self::Instance(group.unwrap_or_else(Name::default_group), instance),
            (Some(group), None) => Self::Group(group),
            (None, None) => Self::Type,
        }
    }

    /// The group of the target, also if it is one actor.
    pub fn group(&self) -> Option<&Name> {
        match self {
            Self::Type => None,
            Self::Group(group) | Self::Instance(group, _) => Some(group),
        }
    }

    /// The number of the actor, if the target is one actor.
    pub fn instance(&self) -> Option<u32> {
        match self {
            Self::Instance(_, instance) => Some(*instance),
            Self::Type | Self::Group(_) => None,
        }
    }
}

/// A work queue: script type, target and priority. `hero_store::keys` gives its key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Queue {
    /// The script type of its jobs.
    pub script_type: ScriptType,
    /// The actors that take from it.
    pub target: Target,
    /// Its priority; normal has no suffix.
    pub priority: Priority,
}

/// One work queue as `list_queues` shows it.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QueueInfo {
    /// The Redis key of the queue.
    pub name: String,
    /// The script type of its jobs.
    pub script_type: ScriptType,
    /// Only actors of this group take from it.
    pub group: Option<Name>,
    /// Only this actor of the group takes from it.
    pub instance: Option<u32>,
    /// 0 urgent, 1 normal, 2 low.
    pub priority: Priority,
    /// How many jobs wait in it.
    pub depth: u64,
    /// How many live actors take from it.
    pub actors: u32,
    /// Whether it is paused: actors take nothing from it until it is resumed.
    #[serde(default)]
    pub paused: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_without_a_group_is_one_of_the_default_group() {
        let io: Name = "io".parse().unwrap();
        assert_eq!(Target::of(None, Some(2)), Target::Instance(Name::default_group(), 2));
        assert_eq!(Target::of(Some(io.clone()), Some(2)), Target::Instance(io.clone(), 2));
        assert_eq!((Target::of(Some(io.clone()), None), Target::of(None, None)), (Target::Group(io.clone()), Target::Type));
        for target in [Target::Type, Target::Group(io.clone()), Target::Instance(io, 2)] {
            assert_eq!(Target::of(target.group().cloned(), target.instance()), target);
        }
    }
}
