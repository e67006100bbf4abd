//! Values as Redis and other programs give them.

use std::collections::HashMap;

use redis::{FromRedisValue, ParsingError, Value};

/// A text that foreign programs may have written: any bytes, or missing.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Text(pub(super) Option<String>);

impl FromRedisValue for Text {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        Ok(Self(match value {
            Value::BulkString(bytes) => {
                Some(String::from_utf8(bytes).unwrap_or_else(|odd| String::from_utf8_lossy(odd.as_bytes()).into_owned()))
            }
            Value::SimpleString(text) => Some(text),
            Value::Int(number) => Some(number.to_string()),
            Value::Okay => Some("OK".into()),
            _ => None,
        }))
    }
}

impl Text {
    /// Returns the text, if there is any.
    pub(super) fn some(self) -> Option<String> {
        self.0.filter(|text| !text.is_empty())
    }

    /// The length in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.0.as_ref().map_or(0, String::len)
    }

    /// Parses the text as this type, if possible.
    pub(super) fn parse<T: std::str::FromStr>(&self) -> Option<T> {
        self.0.as_deref().and_then(|text| text.parse().ok())
    }
}

/// The fields of a hash. Fields whose names are no text are not hero's and are left out.
#[derive(Debug, Default)]
pub(super) struct Fields(pub(super) HashMap<String, Text>);

impl FromRedisValue for Fields {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let pairs = Vec::<(Vec<u8>, Text)>::from_redis_value(value)?;
        Ok(Self(pairs.into_iter().filter_map(|(name, text)| Some((String::from_utf8(name).ok()?, text))).collect()))
    }
}

impl std::ops::Deref for Fields {
    type Target = HashMap<String, Text>;

    fn deref(&self) -> &HashMap<String, Text> {
        &self.0
    }
}

/// Serializes plain data, which always succeeds.
pub(super) fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("plain data has a JSON form")
}
