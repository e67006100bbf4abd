use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::JobError;

/// The error of a script.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScriptCheck {
    /// The error with its place. Absent if none was found.
    pub error: Option<JobError>,
}

/// A server that drains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Draining {
    /// How many jobs run there.
    pub running: u32,
}
