use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::id::{InvalidId, Name, text_id};

/// The language and rights a script runs with: `osis`, `sal`, or a name the operator configures.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScriptType(Name);

impl ScriptType {
    /// The script types this program can run by itself.
    pub const BUILT_IN: [&'static str; 2] = ["osis", "sal"];

    /// The type of scripts in Python, which runs where that is installed.
    pub const PYTHON: &'static str = "python";

    /// The type of scripts in V, which runs where its compiler is installed.
    pub const V: &'static str = "v";

    /// The type of runners that are programs in Rust. No scripts are in it, so nothing here runs it: such a program takes its jobs from Redis.
    pub const RUST: &'static str = "rust";

    /// The default: Rhai over the job's context.
    pub fn osis() -> Self {
        "osis".parse().expect("osis is a name")
    }

    /// Rhai with system functions.
    pub fn sal() -> Self {
        "sal".parse().expect("sal is a name")
    }

    /// The type as it stands in keys.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Whether this program runs the type without any configuration.
    pub fn is_built_in(&self) -> bool {
        Self::BUILT_IN.contains(&self.as_str())
    }
}

impl Default for ScriptType {
    fn default() -> Self {
        Self::osis()
    }
}

impl FromStr for ScriptType {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        text.parse().map(Self)
    }
}

text_id!(ScriptType, { "type": "string", "pattern": "^[A-Za-z0-9_.-]{1,128}$" });
