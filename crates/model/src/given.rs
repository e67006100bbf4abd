use std::fmt;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer};

/// Reads a value, and the default for `null`, which means "not given" for every member of what callers send.
pub fn or_default<'de, T: Deserialize<'de> + Default, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Reads a whole number that is not negative; `expected` says which there may be.
pub fn whole_number<'de, D: Deserializer<'de>>(deserializer: D, expected: &'static str) -> Result<u64, D::Error> {
    struct Whole(&'static str);

    impl Visitor<'_> for Whole {
        type Value = u64;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }

        fn visit_u64<E>(self, number: u64) -> Result<u64, E> {
            Ok(number)
        }
    }

    deserializer.deserialize_u64(Whole(expected))
}
