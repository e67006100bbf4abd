use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ContextId, IdentityId, Role, Timestamp, Token};

/// Who makes a call.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Who {
    /// Its identity, if it has logged in with one.
    pub identity_id: Option<IdentityId>,
    /// Whether it is whoever runs the server, who may do everything.
    pub operator: bool,
    /// The `caller_id` of jobs that it creates without naming one.
    pub caller_id: String,
    /// Its roles in contexts.
    #[serde(default)]
    pub roles: BTreeMap<ContextId, Vec<Role>>,
}

/// Who has logged in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoggedIn {
    /// Its identity.
    pub identity_id: IdentityId,
    /// What it shows from now on. It is told only now.
    pub token: String,
    /// When the token ends.
    pub expires_at: Timestamp,
}

/// Whom a token stands for.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Presented {
    /// Its identity.
    pub identity_id: IdentityId,
    /// When the token ends, if it does.
    pub expires_at: Option<Timestamp>,
}

/// A token that was just made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NewToken {
    /// What is known of it from now on.
    #[serde(flatten)]
    pub token: Token,
    /// What whoever has it shows.
    pub secret: String,
}
