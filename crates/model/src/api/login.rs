use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ContextId, IdentityId, Role, Timestamp, Token};

/// The caller and its rights.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Who {
    /// Its identity, if it has logged in with one.
    pub identity_id: Option<IdentityId>,
    /// Whether the caller is the operator, who may do everything.
    pub operator: bool,
    /// The `caller_id` of jobs that it creates without naming one.
    pub caller_id: String,
    /// Its roles in contexts.
    #[serde(default)]
    pub roles: BTreeMap<ContextId, Vec<Role>>,
}

/// A login.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoggedIn {
    /// Its identity.
    pub identity_id: IdentityId,
    /// The bearer token. Shown only once.
    pub token: String,
    /// When the token expires.
    pub expires_at: Timestamp,
}

/// The identity of a token.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Presented {
    /// Its identity.
    pub identity_id: IdentityId,
    /// When the token expires, if it does.
    pub expires_at: Option<Timestamp>,
}

/// A newly created token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NewToken {
    /// The token from now on, without its secret.
    #[serde(flatten)]
    pub token: Token,
    /// The bearer token. Shown only once.
    pub secret: String,
}
