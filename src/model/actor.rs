use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Name, Queue, ScriptType, Target, Timestamp};

/// What an actor says of itself in Redis, refreshed as long as it lives.
///
/// Everything is optional when read: a foreign actor writes what it likes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Presence {
    /// The process that hosts it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32")]
    pub pid: Option<u32>,
    /// The machine of that process.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub hostname: Option<String>,
    /// When it started.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Timestamp")]
    pub started_at: Option<Timestamp>,
    /// The version of its program.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub version: Option<String>,
    /// What its scripts may use.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
    /// When it last said that it lives.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Timestamp")]
    pub last_heartbeat: Option<Timestamp>,
    /// Which start of which process it is, so that a restart under the same name is told apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub incarnation: Option<String>,
    /// How many jobs it runs now.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32")]
    pub in_flight: Option<u32>,
    /// How its engine is confined: the steps in force, or `weak: …`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub confinement: Option<String>,
}

/// A live actor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Actor {
    /// The script type it runs.
    pub script_type: ScriptType,
    /// Its group.
    pub group: Name,
    /// Its number within the group.
    pub instance: u32,
    /// What it says of itself.
    #[serde(flatten)]
    pub presence: Presence,
}

impl Actor {
    /// Whether it takes jobs from a queue.
    pub fn takes_from(&self, queue: &Queue) -> bool {
        self.script_type == queue.script_type
            && match &queue.target {
                Target::Type => true,
                Target::Group(group) => self.group == *group,
                Target::Instance(group, instance) => self.group == *group && self.instance == *instance,
            }
    }
}
