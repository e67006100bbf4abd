//! Objects that scripts and clients store: their ids, queries for them, and the order of their values.

mod comparison;
mod query;
mod sort_key;

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use comparison::{Comparison, conditions};
pub use query::{Condition, Find, ObjectPage, Range, Test, keys_at};
use sort_key::at_path;
pub use sort_key::{SortKey, names};

use super::id::text_id;
use super::{Json, Name};

/// The id of an object in its collection: 1 to 256 bytes without control characters.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId(Arc<str>);

/// The error for a text that is not the id of an object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an id of an object has 1 to {} bytes and no control characters", ObjectId::MAX_BYTES)]
pub struct InvalidObjectId;

impl ObjectId {
    /// The longest id, in bytes.
    pub const MAX_BYTES: usize = 256;

    /// Creates a random id of 20 digits and letters.
    pub fn random() -> Self {
        const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
        let random: u128 = rand::random();
        Self((0..20).map(|at| char::from(DIGITS[(random >> (5 * at)) as usize % DIGITS.len()])).collect::<String>().into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ObjectId {
    type Err = InvalidObjectId;

    fn from_str(text: &str) -> Result<Self, InvalidObjectId> {
        let valid = (1..=Self::MAX_BYTES).contains(&text.len()) && !text.chars().any(char::is_control);
        if valid { Ok(Self(text.into())) } else { Err(InvalidObjectId) }
    }
}

text_id!(ObjectId, { "type": "string", "minLength": 1, "maxLength": 256 });

/// A collection of objects.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Collection {
    /// Its name.
    pub name: Name,
    /// How many objects it has.
    pub objects: u64,
    /// Its indexes, by the names of their fields.
    pub indexes: Vec<Index>,
    /// Whether this server has a schema for its objects.
    pub typed: bool,
}

/// An index of a collection.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Index {
    /// The field. `address.city` names a nested field; a backslash escapes a dot in a name.
    pub field: String,
    /// Whether it has all objects. An index that is being built is not used yet.
    pub ready: bool,
}

/// An object with its id, as the store has it.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredObject {
    /// Its id.
    pub id: ObjectId,
    /// The object, which has a field `id`.
    pub object: Json,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_line_of_some_bytes() {
        for good in ["a", "ada@example.org", "a/b:c", "é", &"x".repeat(256)] {
            assert!(good.parse::<ObjectId>().is_ok(), "{good:?}");
        }
        for bad in ["", "a\nb", "\0", "a\u{7f}", &"x".repeat(257), &"é".repeat(129)] {
            assert!(bad.parse::<ObjectId>().is_err(), "{bad:?}");
        }
        let ids: std::collections::BTreeSet<_> = (0..1000).map(|_| ObjectId::random()).collect();
        assert!(ids.len() == 1000 && ids.iter().all(|id| id.as_str().len() == 20));
    }
}
