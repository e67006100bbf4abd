use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use hero_model::whole_number;

/// How many items a page has at most: 100 by default, 1000 at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct PageSize(u16);

impl PageSize {
    const MAX_ITEMS: u16 = 1000;

    /// The size as a number.
    pub fn get(self) -> usize {
        self.0.into()
    }
}

impl Default for PageSize {
    fn default() -> Self {
        Self(100)
    }
}

impl<'de> Deserialize<'de> for PageSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let size = whole_number(deserializer, "a whole number from 1 to 1000")?;
        match u16::try_from(size) {
            Ok(size @ 1..=Self::MAX_ITEMS) => Ok(Self(size)),
            _ => Err(D::Error::custom(format!("a page has 1 to {} items, not {size}; go on with next_cursor", Self::MAX_ITEMS))),
        }
    }
}

impl JsonSchema for PageSize {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "PageSize".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 1, "maximum": Self::MAX_ITEMS })
    }
}
