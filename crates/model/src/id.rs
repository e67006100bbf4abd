use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::excerpt;

/// The error for a text that is not an id or a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidId {
    /// Not the 36 characters of a hyphenated UUID.
    #[error("{0:?} is not a UUID (36 characters, such as 6f1c4d1e-8f5b-4c7e-9d0a-2b3c4d5e6f70)")]
    NotUuid(String),
    /// Not usable as part of a Redis key.
    #[error("{0:?} is not a name (1 to 128 of the characters A-Z a-z 0-9 _ . -)")]
    NotName(String),
}

/// Shortens an id that is much too long for an error message.
fn shorten(text: &str) -> String {
    excerpt(text, 48).into_owned()
}

/// The id of a job: a UUID, exactly as in Redis keys.
///
/// hero creates ids in lower case; foreign programs may use upper case. Clients may write an id in either case, so
/// lookups try the id as it was written first.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobId(Arc<str>);

impl JobId {
    /// Creates a random id (UUID v4).
    pub fn random() -> Self {
        let mut text = uuid::Uuid::encode_buffer();
        Self((*uuid::Uuid::new_v4().hyphenated().encode_lower(&mut text)).into())
    }

    /// The id as it is in keys.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the id in lower case, or `None` if it already is.
    pub fn in_lower_case(&self) -> Option<Self> {
        self.0.bytes().any(|byte| byte.is_ascii_uppercase()).then(|| Self(self.0.to_ascii_lowercase().into()))
    }
}

impl FromStr for JobId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let valid = text.len() == 36
            && text.bytes().enumerate().all(|(at, byte)| match at {
                8 | 13 | 18 | 23 => byte == b'-',
                _ => byte.is_ascii_hexdigit(),
            });
        if valid { Ok(Self(text.into())) } else { Err(InvalidId::NotUuid(shorten(text))) }
    }
}

/// A part of a Redis key that a user chooses: a group, a worker, a circle.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(Arc<str>);

impl Name {
    /// The group of actors that name none, and of jobs that name an instance without a group.
    pub fn default_group() -> Self {
        Self("default".into())
    }

    /// The name as it is in keys.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Name {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let valid =
            (1..=128).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'));
        if valid { Ok(Self(text.into())) } else { Err(InvalidId::NotName(shorten(text))) }
    }
}

/// The name of one start of one server: `host:pid:random`. It owns leases and receives replies.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ServerId(Arc<str>);

impl ServerId {
    /// Creates a new id for this process. Two calls never return the same id.
    pub fn new() -> Self {
        let host = rustix::system::uname();
        let host: String = host.nodename().to_string_lossy().chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(64).collect();
        Self(format!("{host}:{}:{:016x}", std::process::id(), rand::random::<u64>()).into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for ServerId {
    fn default() -> Self {
        Self::new()
    }
}

/// The number of a tenant. Context 0 always exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ContextId(pub u32);

impl fmt::Display for ContextId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl JsonSchema for ContextId {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ContextId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 0, "maximum": u32::MAX })
    }
}

/// Implements the text traits that ids share: displayed as text, read by [`FromStr`], and described inline by
/// `$schema`.
macro_rules! text_id {
    ($name:ident, $schema:tt) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    };
}
pub(super) use text_id;

text_id!(JobId, { "type": "string", "format": "uuid" });
text_id!(Name, { "type": "string", "pattern": "^[A-Za-z0-9_.-]{1,128}$" });

impl fmt::Display for ServerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ServerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_id_is_a_uuid_kept_as_written() {
        let text = "6F1C4D1E-8f5b-4c7e-9d0a-2b3c4d5e6f70";
        let id = text.parse::<JobId>().unwrap();
        assert_eq!(id.as_str(), text);
        let lower = id.in_lower_case().unwrap();
        assert_eq!((lower.as_str(), lower.in_lower_case()), (text.to_lowercase().as_str(), None));
        for bad in [
            "",
            "x",
            "6f1c4d1e8f5b4c7e9d0a2b3c4d5e6f70",
            "6f1c4d1e-8f5b-4c7e-9d0a-2b3c4d5e6f7g",
            "*",
            "6f1c4d1e-8f5b-4c7e-9d0a-2b3c4d5e6f70\n",
        ] {
            assert!(bad.parse::<JobId>().is_err(), "{bad:?}");
        }
        assert!(JobId::random().as_str().parse::<JobId>().is_ok());
    }

    #[test]
    fn a_name_cannot_break_out_of_a_key() {
        assert!("io.fast_1-b".parse::<Name>().is_ok());
        assert_eq!(Name::default_group().as_str().parse(), Ok(Name::default_group()));
        for bad in ["", "a:b", "{x}", "a b", "*", "é", &"x".repeat(129)] {
            assert!(bad.parse::<Name>().is_err(), "{bad:?}");
        }
    }
}
