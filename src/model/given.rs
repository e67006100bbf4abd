use serde::{Deserialize, Deserializer};

/// Reads a value, and the default for `null`, which means "not given" for every member of what callers send.
pub fn or_default<'de, T: Deserialize<'de> + Default, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}
