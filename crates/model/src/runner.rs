//! Runners: they run the jobs of a group, here or on another node.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::{Address, ContextId, Name, ScriptType, SignerKey, Timestamp};

/// The number of a runner in its context, from 1. It is never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunnerId(pub u32);

impl RunnerId {
    /// Returns the group of the jobs for this runner, which is also its default topic: `runner{n}`.
    pub fn group(self) -> Name {
        format!("runner{self}").parse().expect("letters and digits are a name")
    }

    /// Returns the runner of a group, if the group is one of a runner.
    pub fn of_group(group: &Name) -> Option<Self> {
        group.as_str().strip_prefix("runner")?.parse().ok()
    }
}

impl fmt::Display for RunnerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for RunnerId {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

impl JsonSchema for RunnerId {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "RunnerId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 1, "maximum": u32::MAX })
    }
}

/// A runner, which runs the jobs of its script type in its group, `runner{runner_id}`.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Runner {
    /// Its number.
    pub runner_id: RunnerId,
    /// The script type of its jobs.
    pub script_type: ScriptType,
    /// Whether it is a pool of this context; otherwise its jobs are sent to `address`.
    pub local: bool,
    /// Its topic there and here; `runner{runner_id}` by default.
    pub topic: Name,
    /// Its address, if it is not local.
    pub address: Option<Address>,
    /// The key that signs the results of its jobs.
    pub pubkey: Option<SignerKey>,
    /// The context at the other side in which its jobs run.
    #[serde(default)]
    pub target_context: ContextId,
    /// Its purpose, in the words of its creator.
    pub name: Option<String>,
    /// When it was created, to the second.
    pub created_at: Timestamp,
    /// When it was last changed, to the second.
    pub updated_at: Timestamp,
}

/// Runners by number.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunnerPage {
    /// The runners.
    pub runners: Vec<Runner>,
    /// The cursor of the next page, if there are more.
    pub next_cursor: Option<String>,
}

/// Changes of a runner. Absent fields stay unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RunnerChange {
    /// The script type of its jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script_type: Option<ScriptType>,
    /// Whether it is a pool of this context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local: Option<bool>,
    /// Its topic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topic: Option<Name>,
    /// Its address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<Address>,
    /// The key that signs the results of its jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pubkey: Option<SignerKey>,
    /// The context on the other node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_context: Option<ContextId>,
    /// Its purpose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}
