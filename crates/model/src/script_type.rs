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
    /// The script types that this program runs without other programs.
    pub const BUILT_IN: [&'static str; 2] = ["osis", "sal"];

    /// The type of scripts in Python. It needs Python to be installed.
    pub const PYTHON: &'static str = "python";

    /// The type of scripts in V. It needs the compiler of V to be installed.
    pub const V: &'static str = "v";

    /// The type of runners that are programs in Rust. There are no scripts in Rust, so nothing here runs this type:
    /// such a program takes its jobs from Redis.
    pub const RUST: &'static str = "rust";

    /// The default type: Rhai with the objects of the job's context.
    pub fn osis() -> Self {
        "osis".parse().expect("osis is a name")
    }

    /// Rhai with system functions.
    pub fn sal() -> Self {
        "sal".parse().expect("sal is a name")
    }

    /// The type as it is in keys.
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
