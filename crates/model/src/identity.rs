//! Identities of callers, the tokens that stand for them, and their roles in contexts.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::id::text_id;
use super::{Timestamp, excerpt, unhex};

/// The number of an identity, from 1. It is never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct IdentityId(pub u32);

impl IdentityId {
    /// Returns the identity that a `caller_id` names: the decimal number of an identity, in its canonical form.
    pub fn of_caller(caller: &str) -> Option<Self> {
        let number: u32 = caller.parse().ok()?;
        (number > 0 && number.to_string() == caller).then_some(Self(number))
    }
}

impl fmt::Display for IdentityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for IdentityId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse()
            .map(Self)
            .map_err(|_| format!("{text:?} is not the number of an identity, such as 3; `hero identity list` shows those that there are"))
    }
}

impl JsonSchema for IdentityId {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "IdentityId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 1, "maximum": u32::MAX })
    }
}

/// A secp256k1 public key: the 65 bytes of its uncompressed form as 130 hexadecimal digits, in lower case.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PublicKey(Arc<str>);

/// The error for a text that is not a public key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPublicKey {
    /// It does not have the form of a public key.
    #[error("{0:?} is no public key: 130 hexadecimal digits that begin with 04 (secp256k1, uncompressed)")]
    Form(String),
    /// It has the form of a public key, but is no point of the curve.
    #[error("the public key is no point of secp256k1")]
    NotOnCurve,
}

impl PublicKey {
    /// The key as it is stored.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for PublicKey {
    type Err = InvalidPublicKey;

    fn from_str(text: &str) -> Result<Self, InvalidPublicKey> {
        let text = text.strip_prefix("0x").unwrap_or(text);
        let bytes: [u8; 65] =
            unhex(text).filter(|bytes: &[u8; 65]| bytes[0] == 4).ok_or_else(|| InvalidPublicKey::Form(excerpt(text, 32).into_owned()))?;
        k256::PublicKey::from_sec1_bytes(&bytes).map_err(|_| InvalidPublicKey::NotOnCurve)?;
        Ok(Self(text.to_ascii_lowercase().into()))
    }
}

text_id!(PublicKey, { "type": "string", "pattern": "^(0x)?04[0-9A-Fa-f]{128}$" });

/// A caller that can be granted rights.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Identity {
    /// Its number.
    pub identity_id: IdentityId,
    /// Its public key, if it has one.
    pub pubkey: Option<PublicKey>,
    /// The addresses at which it can be reached.
    #[serde(default)]
    pub address: Vec<String>,
    /// When it was created, to the second.
    pub created_at: Timestamp,
    /// When it was last changed, to the second.
    pub updated_at: Timestamp,
}

/// Identities by number.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdentityPage {
    /// The identities.
    pub identities: Vec<Identity>,
    /// The cursor of the next page, if there are more. A page may have fewer identities than `limit` although more
    /// follow.
    pub next_cursor: Option<String>,
}

/// The public name of a token: 16 hexadecimal digits, which reveal nothing about its secret.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TokenId(Arc<str>);

/// The error for a text that is not the id of a token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not the id of a token: 16 hexadecimal digits, as list_tokens gives them")]
pub struct InvalidTokenId(String);

impl TokenId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for TokenId {
    type Err = InvalidTokenId;

    fn from_str(text: &str) -> Result<Self, InvalidTokenId> {
        let valid = text.len() == 16 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if valid { Ok(Self(text.into())) } else { Err(InvalidTokenId(excerpt(text, 32).into_owned())) }
    }
}

text_id!(TokenId, { "type": "string", "pattern": "^[0-9a-f]{16}$" });

/// A token without its secret, which is shown only once, to its creator.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Token {
    /// Its public name.
    pub token_id: TokenId,
    /// Its identity.
    pub identity_id: IdentityId,
    /// Its purpose, in the words of its creator.
    pub name: Option<String>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it expires; absent if it never does.
    pub expires_at: Option<Timestamp>,
}

/// A role of an identity in a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// May do everything in the context, and grant rights in it.
    Admin,
    /// May create, start, stop and read its own jobs, and use the objects.
    Caller,
    /// May read everything.
    Reader,
    /// May run the jobs and flows of others: read, start, stop and retry them.
    Executor,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 4] = [Self::Admin, Self::Caller, Self::Reader, Self::Executor];

    /// The field in the hash of a context that lists the identities with the role.
    pub const fn list(self) -> &'static str {
        match self {
            Self::Admin => "admins",
            Self::Caller => "callers",
            Self::Reader => "readers",
            Self::Executor => "executors",
        }
    }

    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Caller => "caller",
            Self::Reader => "reader",
            Self::Executor => "executor",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_number_of_an_identity_is_one() {
        assert_eq!(IdentityId::of_caller("7"), Some(IdentityId(7)));
        for other in ["", "0", "07", "+7", "7 ", "-7", "4294967296", "anonymous", "operator", "alice"] {
            assert_eq!(IdentityId::of_caller(other), None, "{other:?}");
        }
    }

    #[test]
    fn a_public_key_is_a_point_of_the_curve_in_any_case() {
        // The generator point of secp256k1.
        let generator = "0479BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8";
        let key: PublicKey = generator.parse().unwrap();
        assert_eq!(key.as_str(), generator.to_lowercase());
        assert_eq!(format!("0x{generator}").parse(), Ok(key));
        assert_eq!(generator.replace("D4B8", "D4B9").parse::<PublicKey>(), Err(InvalidPublicKey::NotOnCurve));
        for bad in ["", "04", &generator[2..], &format!("{generator}00"), &generator.replace("04", "02")] {
            assert!(matches!(bad.parse::<PublicKey>(), Err(InvalidPublicKey::Form(_))), "{bad}");
        }
    }
}
