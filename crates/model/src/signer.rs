use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::id::text_id;
use super::{PublicKey, excerpt};

/// A public key with which messages are signed: 64 hexadecimal digits (ed25519), or 130 (secp256k1, uncompressed), in lower case.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SignerKey(Arc<str>);

/// The error for a text that is not such a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no public key of a signer: 64 hexadecimal digits (ed25519), or 130 that begin with 04 (secp256k1, uncompressed)")]
pub struct InvalidSignerKey(String);

impl SignerKey {
    /// The key as it is stored.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the key as the key of an identity, if it is of secp256k1.
    pub fn of_identity(&self) -> Option<PublicKey> {
        self.0.parse().ok()
    }
}

impl From<&PublicKey> for SignerKey {
    fn from(key: &PublicKey) -> Self {
        Self(key.as_str().into())
    }
}

impl FromStr for SignerKey {
    type Err = InvalidSignerKey;

    fn from_str(text: &str) -> Result<Self, InvalidSignerKey> {
        let bare = text.strip_prefix("0x").unwrap_or(text);
        if bare.len() == 64 && bare.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(Self(bare.to_ascii_lowercase().into()));
        }
        text.parse::<PublicKey>().map(|key| Self::from(&key)).map_err(|_| InvalidSignerKey(excerpt(text, 32).into_owned()))
    }
}

text_id!(SignerKey, { "type": "string", "pattern": "^(0x)?([0-9A-Fa-f]{64}|04[0-9A-Fa-f]{128})$" });
