use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::excerpt;

/// Maximum number of characters of a name in an error message.
const MAX_NAME_CHARS: usize = 64;

/// Reads a value, or the default for `null`, which means "not given" in every member of a request.
pub fn or_default<'de, T: Deserialize<'de> + Default, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Reads a whole number that is not negative; `expected` describes the allowed numbers for errors.
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

/// Reads an object and refuses duplicate names, because the second would silently replace the first.
pub fn each_once<'de, V: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, V>, D::Error> {
    struct Names<V>(PhantomData<V>);

    impl<'de, V: Deserialize<'de>> Visitor<'de> for Names<V> {
        type Value = BTreeMap<String, V>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut members = BTreeMap::new();
            while let Some(name) = map.next_key::<String>()? {
                if members.contains_key(&name) {
                    return Err(A::Error::custom(format_args!("the name {:?} stands there twice", excerpt(&name, MAX_NAME_CHARS))));
                }
                members.insert(name, map.next_value()?);
            }
            Ok(members)
        }
    }

    deserializer.deserialize_map(Names(PhantomData))
}

/// As [`each_once`], but reads `null` as an empty object.
pub fn each_once_or_none<'de, V: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, V>, D::Error> {
    struct Once<V>(BTreeMap<String, V>);

    impl<'de, V: Deserialize<'de>> Deserialize<'de> for Once<V> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            each_once(deserializer).map(Self)
        }
    }

    Ok(Option::<Once<V>>::deserialize(deserializer)?.map_or_else(BTreeMap::new, |Once(members)| members))
}
