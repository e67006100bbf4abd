use serde::{Deserialize, Serialize};

/// Whether a call of an unknown function is an error. A script may catch it, and another version may have the function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Names {
    /// It is an error, and so is a closure that would fail because its receiver is in use.
    Checked,
    /// It is not.
    Any,
}
