//! Parses values as people write them: `30s`, `64MB`, `yes`, `a,b`.

use std::str::FromStr;
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Error};

use crate::model::{MASKED, parse_size, parse_time};

/// A typed value from a TOML file, or a text from elsewhere.
#[derive(serde::Deserialize)]
#[serde(untagged)]
enum Raw {
    Switch(bool),
    Integer(i64),
    Float(f64),
    Text(String),
}

impl std::fmt::Display for Raw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Switch(value) => value.fmt(f),
            Self::Integer(value) => value.fmt(f),
            Self::Float(value) => value.fmt(f),
            Self::Text(value) => value.fmt(f),
        }
    }
}

/// Parses a value through its text.
fn read<'de, D: Deserializer<'de>, T>(from: D, parse: impl FnOnce(&str) -> Result<T, String>) -> Result<T, D::Error> {
    parse(Raw::deserialize(from)?.to_string().trim()).map_err(D::Error::custom)
}

/// Parses any type that implements [`FromStr`].
pub(super) fn parsed<'de, D: Deserializer<'de>, T: FromStr<Err: std::fmt::Display>>(from: D) -> Result<T, D::Error> {
    read(from, |text| text.parse().map_err(|error| format!("{text:?}: {error}")))
}

/// Parses an optional text; empty counts as missing.
pub(super) fn maybe<'de, D: Deserializer<'de>, T: FromStr<Err: std::fmt::Display>>(from: D) -> Result<Option<T>, D::Error> {
    read(from, |text| (!text.is_empty()).then(|| text.parse().map_err(|error| format!("{text:?}: {error}"))).transpose())
}

/// Parses a whole number.
pub(super) fn count<'de, D: Deserializer<'de>, T: TryFrom<u64>>(from: D) -> Result<T, D::Error> {
    read(from, |text| {
        let number = text.replace('_', "").parse::<u64>().ok();
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| format!("{text:?} is not a whole number in range"))
    })
}

/// Parses `true` or `false`, in any of the usual words.
pub(super) fn switch<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    read(from, |text| match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Ok(true),
        "false" | "no" | "off" | "0" | "" => Ok(false),
        _ => Err(format!("{text:?} is neither true nor false")),
    })
}

/// Parses a duration: seconds, or a number with a unit.
pub(super) fn time<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    read(from, parse_time)
}

/// Parses a number of bytes, with or without a unit.
pub(super) fn size<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    read(from, parse_size)
}

/// Parses several texts: a list in TOML, else separated by commas.
pub(super) fn list<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    #[derive(serde::Deserialize)]
    #[serde(untagged)]
    enum Items {
        Joined(String),
        Each(Vec<String>),
    }
    let items = match Items::deserialize(from).map_err(|_| D::Error::custom("not a list of texts"))? {
        Items::Joined(text) => text.split(',').map(|item| item.trim().to_owned()).collect(),
        Items::Each(items) => items,
    };
    Ok(items.into_iter().filter(|item| !item.is_empty()).collect())
}

/// Parses a table, or its short text form. Errors describe the keys of the table as `key`.
pub(super) fn read_table<T>(value: &figment::value::Value, key: &str) -> Result<T, String>
where
    T: FromStr<Err = String> + serde::de::DeserializeOwned,
{
    match value.as_str() {
        Some(text) => text.parse(),
        None => table(value, key),
    }
}

/// Parses a table. Errors describe its keys as `key`.
pub(super) fn table<T: serde::de::DeserializeOwned>(value: &figment::value::Value, key: &str) -> Result<T, String> {
    use figment::error::Kind;

    value.deserialize().map_err(|error| match &error.kind {
        Kind::UnknownField(field, known) => super::unknown(key, field, known.iter().copied()),
        Kind::Message(message) if !error.path.is_empty() => format!("{}: {message}", error.path.join(".")),
        kind if !error.path.is_empty() => format!("{}: {kind}", error.path.join(".")),
        kind => kind.to_string(),
    })
}

/// Hides the password in `redis://user:password@host`.
pub(super) fn without_password(url: &str) -> String {
    let hidden = url.split_once("://").and_then(|(scheme, rest)| {
        let (login, host) = rest.rsplit_once('@')?;
        let (user, _) = login.split_once(':')?;
        Some(format!("{scheme}://{user}:{MASKED}@{host}"))
    });
    hidden.unwrap_or_else(|| url.to_owned())
}

/// Serializes an address with its password hidden.
pub(super) fn masked<S: serde::Serializer>(url: &Option<String>, to: S) -> Result<S::Ok, S::Error> {
    serde::Serialize::serialize(&url.as_deref().map(without_password), to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_in_an_address_is_hidden() {
        assert_eq!(without_password("redis://u:p@ss@h:1/0"), "redis://u:***@h:1/0");
        assert_eq!(without_password("redis://:p@h"), "redis://:***@h");
        assert_eq!(without_password("unix:///run/redis.sock"), "unix:///run/redis.sock");
    }
}
