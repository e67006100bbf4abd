use std::borrow::Cow;

use serde_json::{Number, Value};

/// The sort key of a value: bytes that compare as the values do.
///
/// `null` comes first, then `false`, `true`, numbers, texts, and last arrays and objects, which have no order among
/// themselves. Integers are exact and compare with fractions as numbers do. Texts compare by the codes of their
/// characters. No key has a zero byte.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SortKey(Vec<u8>);

/// Maximum number of bytes of a key in an index.
const MAX_KEY_BYTES: usize = 512;
const NUMBER: u8 = b'3';
const TEXT: u8 = b'4';
const OTHER: u8 = b'5';

impl SortKey {
    /// Returns the key of a value. Missing fields have the key of `null`.
    pub fn of(value: &Value) -> Self {
        Self(match value {
            Value::Null => vec![b'0'],
            Value::Bool(false) => vec![b'1'],
            Value::Bool(true) => vec![b'2'],
            Value::Number(number) => of_number(number),
            Value::String(text) => of_text(text),
            Value::Array(_) | Value::Object(_) => vec![OTHER],
        })
    }

    /// Returns the key as an index has it: its first bytes. Two keys with the same first bytes may differ after them.
    pub fn cut(&self) -> Self {
        Self(self.0[..self.0.len().min(MAX_KEY_BYTES)].to_vec())
    }

    /// Whether an index has the whole key.
    pub fn is_whole(&self) -> bool {
        self.0.len() <= MAX_KEY_BYTES
    }

    /// Reads a key of an index.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the first byte of the keys of its kind, and the byte after the last of these.
    pub fn kind(&self) -> (u8, u8) {
        let kind = self.0.first().copied().unwrap_or(OTHER);
        // Both booleans are of one kind.
        match kind {
            b'1' | b'2' => (b'1', NUMBER),
            kind => (kind, kind + 1),
        }
    }

    /// Whether it is the key of a text that begins with that of another key.
    pub fn begins_with(&self, prefix: &Self) -> bool {
        self.0.starts_with(&prefix.0)
    }
}

fn of_text(text: &str) -> Vec<u8> {
    let mut key = vec![TEXT];
    for byte in text.bytes() {
        // Zero ends a key in an index, so it is written as two bytes. So is one, to keep the order.
        match byte {
            0 => key.extend([1, 1]),
            1 => key.extend([1, 2]),
            byte => key.push(byte),
        }
    }
    key
}

fn of_number(number: &Number) -> Vec<u8> {
    let float = number.as_f64().unwrap_or_default();
    // Minus zero equals zero.
    let bits = if float == 0.0 { 0 } else { float.to_bits() };
    let ordered = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
    // The distance of an integer from the nearest float, at most 1,024 for 64 bits.
    let off = number.as_i128().map_or(0, |integer| integer - float as i128);
    format!("{}{ordered:016x}{:04x}", char::from(NUMBER), off + 0x8000).into_bytes()
}

/// Returns the value at a path, or `null` if there is none.
pub(super) fn at_path<'v>(object: &'v Value, path: &str) -> &'v Value {
    names(path).try_fold(object, |value, name| value.get(&*name)).unwrap_or(&Value::Null)
}

/// Splits a path at its dots. A dot in a name has a backslash before it: `versions.1\.0`.
pub fn names(path: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let mut rest = Some(path);
    std::iter::from_fn(move || {
        let text = rest?;
        let is_end = |at: &usize| !text[..*at].ends_with('\\');
        let end = text.match_indices('.').map(|(at, _)| at).find(is_end);
        rest = end.map(|end| &text[end + 1..]);
        let name = &text[..end.unwrap_or(text.len())];
        Some(if name.contains("\\.") { name.replace("\\.", ".").into() } else { name.into() })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_dot_in_a_name_has_a_backslash_before_it() {
        for (path, expected) in [
            ("a", vec!["a"]),
            ("a.b", vec!["a", "b"]),
            (r"a\.b", vec!["a.b"]),
            (r"a.1\.0.b", vec!["a", "1.0", "b"]),
            (r"\.", vec!["."]),
            (r"a\b.c", vec![r"a\b", "c"]),
            ("a..b", vec!["a", "", "b"]),
            ("", vec![""]),
        ] {
            assert_eq!(names(path).collect::<Vec<_>>(), expected, "{path}");
        }
    }

    #[test]
    fn keys_are_in_the_order_of_values() {
        let ascending = [
            json!(null),
            json!(false),
            json!(true),
            json!(-1e300),
            json!(i64::MIN),
            json!(i64::MIN + 1),
            json!(-2.5),
            json!(-2),
            json!(-1e-300),
            json!(0),
            json!(1e-300),
            json!(1),
            json!(1.5),
            json!(2),
            json!(9_007_199_254_740_992_i64),
            json!(9_007_199_254_740_993_i64),
            json!(i64::MAX - 1),
            json!(i64::MAX),
            json!(1e300),
            json!(""),
            json!("\0"),
            json!("\u{1}"),
            json!(" "),
            json!("a"),
            json!("a\0b"),
            json!("ab"),
            json!("é"),
        ];
        for pair in ascending.windows(2) {
            assert!(SortKey::of(&pair[0]) < SortKey::of(&pair[1]), "{} < {}", pair[0], pair[1]);
        }
        assert_eq!(SortKey::of(&json!(2)), SortKey::of(&json!(2.0)));
        assert_eq!(SortKey::of(&json!(0)), SortKey::of(&json!(-0.0)));
    }

    proptest! {
        #[test]
        fn texts_compare_as_their_keys(one: String, other: String) {
            let key = |text: &str| SortKey::of(&json!(text));
            prop_assert_eq!(one.cmp(&other), key(&one).cmp(&key(&other)));
            prop_assert!(!key(&one).as_bytes().contains(&0));
        }

        #[test]
        fn numbers_compare_as_their_keys(one: i64, other: f64) {
            let exact = rust_decimal::Decimal::try_from(other).ok();
            if let Some(exact) = exact.filter(|exact| rust_decimal::prelude::ToPrimitive::to_f64(exact) == Some(other)) {
                let order = rust_decimal::Decimal::from(one).cmp(&exact);
                prop_assert_eq!(order, SortKey::of(&json!(one)).cmp(&SortKey::of(&json!(other))));
            }
        }

        #[test]
        fn integers_compare_as_their_keys(one: i64, apart in -3_i64..=3) {
            let other = one.saturating_add(apart);
            prop_assert_eq!(one.cmp(&other), SortKey::of(&json!(one)).cmp(&SortKey::of(&json!(other))));
        }
    }

    #[test]
    fn a_path_leads_through_objects() {
        let object = json!({"address": {"city": "Ghent"}, "tags": ["a"]});
        assert_eq!(at_path(&object, "address.city"), &json!("Ghent"));
        for nowhere in ["city", "address.street", "address.city.x", "tags.0", ""] {
            assert_eq!(at_path(&object, nowhere), &Value::Null, "{nowhere}");
        }
    }
}
