use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{SortKey, at_path};
use crate::Json;

/// Which objects of a collection are wanted, and in which order.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Find {
    /// The conditions by field: a value, or any of `gte`, `gt`, `lte`, `lt` and `prefix` with theirs. An array matches
    /// if one of its elements does, and a missing field is `null`. All objects if absent.
    #[serde(default, rename = "filter", skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, Value>")]
    pub conditions: BTreeMap<String, Condition>,
    /// The field to sort by, which needs an index; the id by default.
    pub order_by: Option<String>,
    /// Whether the order is reversed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub descending: bool,
    /// The most objects to give, from 1 to 1,000; 100 by default.
    pub limit: Option<u32>,
    /// The `next_cursor` of the previous page.
    pub cursor: Option<String>,
}

/// A condition for a field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Json", into = "Json")]
pub struct Condition {
    /// The condition as the caller wrote it.
    given: Json,
    test: Test,
}

/// A condition for the key of a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Test {
    /// Equal to this key.
    Is(SortKey),
    /// Within this range.
    In(Range),
}

/// A range of keys of one kind of values.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Range {
    /// The lower bound, inclusive.
    pub gte: Option<SortKey>,
    /// The lower bound, exclusive.
    pub gt: Option<SortKey>,
    /// The upper bound, inclusive.
    pub lte: Option<SortKey>,
    /// The upper bound, exclusive.
    pub lt: Option<SortKey>,
    /// The prefix of the keys of texts.
    pub prefix: Option<SortKey>,
}

impl TryFrom<Json> for Condition {
    type Error = String;

    fn try_from(given: Json) -> Result<Self, String> {
        // Matched by hand: deserializing the tree again would parse texts in it that serde takes for JSON.
        let test = match given.to_value().map_err(|error| error.to_string())? {
            Value::Object(bounds) => Test::In(Range::of(bounds)?),
            Value::Array(_) => return Err("whether a field is an array with these elements cannot be asked; ask for one element".into()),
            value => Test::Is(key_of(&value)?),
        };
        Ok(Self { given, test })
    }
}

impl From<Condition> for Json {
    fn from(condition: Condition) -> Self {
        condition.given
    }
}

/// The longest text in a condition, in bytes. It is bounded because it is compared with each object.
const MAX_TEXT_BYTES: usize = 4096;

fn key_of(value: &Value) -> Result<SortKey, String> {
    match value.as_str() {
        Some(text) if text.len() > MAX_TEXT_BYTES => Err(format!("a text in a condition has at most {MAX_TEXT_BYTES} bytes")),
        _ => Ok(SortKey::of(value)),
    }
}

impl Range {
    fn of(bounds: Map<String, Value>) -> Result<Self, String> {
        let mut range = Self::default();
        for (name, value) in &bounds {
            match value {
                Value::Null => return Err(format!("{name} is null, which is no bound; leave it out, or ask for null itself")),
                Value::Array(_) | Value::Object(_) => return Err("arrays and objects have no order, so they are no bounds".into()),
                _ => {}
            }
            let bound = match name.as_str() {
                "gte" => &mut range.gte,
                "gt" => &mut range.gt,
                "lte" => &mut range.lte,
                "lt" => &mut range.lt,
                "prefix" if value.is_string() => &mut range.prefix,
                "prefix" => return Err("prefix is a text".into()),
                other => {
                    let other: String = other.chars().take(48).collect();
                    return Err(format!("unknown bound {other:?}; a condition is a value, or an object of gte, gt, lte, lt and prefix"));
                }
            };
            *bound = Some(key_of(value)?);
        }
        if bounds.is_empty() {
            return Err("a condition without gte, gt, lte, lt or prefix says nothing".into());
        }
        Ok(range)
    }

    fn has(&self, key: &SortKey) -> bool {
        let compared = |bound: &Option<SortKey>, fits: fn(&SortKey, &SortKey) -> bool| {
            bound.as_ref().is_none_or(|bound| bound.kind() == key.kind() && fits(key, bound))
        };
        compared(&self.gte, SortKey::ge)
            && compared(&self.gt, SortKey::gt)
            && compared(&self.lte, SortKey::le)
            && compared(&self.lt, SortKey::lt)
            && self.prefix.as_ref().is_none_or(|prefix| key.begins_with(prefix))
    }
}

impl Condition {
    /// The condition for the key of a value.
    pub fn test(&self) -> &Test {
        &self.test
    }

    /// Whether the field of an object at a path meets the condition.
    pub fn holds(&self, object: &Value, path: &str) -> bool {
        match at_path(object, path) {
            Value::Array(items) if !items.is_empty() => items.iter().any(|item| self.has(&SortKey::of(item))),
            value => self.has(&SortKey::of(value)),
        }
    }

    /// Whether a value with this key meets the condition.
    pub fn has(&self, key: &SortKey) -> bool {
        match &self.test {
            Test::Is(wanted) => wanted == key,
            Test::In(range) => range.has(key),
        }
    }
}

/// Returns the keys of the field of an object at a path of names separated by dots, in order and without duplicates. A
/// non-empty array has the keys of its elements.
pub fn keys_at(object: &Value, path: &str) -> BTreeSet<SortKey> {
    match at_path(object, path) {
        Value::Array(items) if !items.is_empty() => items.iter().map(SortKey::of).collect(),
        value => BTreeSet::from([SortKey::of(value)]),
    }
}

/// Some objects of a collection.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObjectPage {
    /// The objects, in order.
    pub objects: Vec<Json>,
    /// The `cursor` of the next page; absent on the last.
    pub next_cursor: Option<String>,
    /// The fields of the filter that no index was used for. Objects were read one after another and compared, at most
    /// 10,000 for one page, so the page may be short although more follow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compared: Vec<String>,
    /// How many objects were read.
    pub looked_at: u64,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn condition(value: Value) -> Result<Condition, String> {
        Condition::try_from(Json::from(value))
    }

    #[test]
    fn a_condition_is_a_value_or_a_range() {
        let object = json!({"age": 36, "name": "Ada", "tags": ["math", "code"], "gone": null, "none": []});
        for (path, wanted, holds) in [
            ("age", json!(36), true),
            ("age", json!(36.0), true),
            ("age", json!("36"), false),
            ("age", json!({"gte": 36, "lt": 37}), true),
            ("age", json!({"gt": 36}), false),
            ("age", json!({"lte": 35.9}), false),
            ("age", json!({"lt": "a"}), false),
            ("name", json!({"gte": 0}), false),
            ("name", json!({"prefix": "A"}), true),
            ("name", json!({"prefix": "a"}), false),
            ("name", json!({"prefix": ""}), true),
            ("age", json!({"prefix": ""}), false),
            ("tags", json!("code"), true),
            ("tags", json!({"prefix": "ma"}), true),
            ("tags", json!("art"), false),
            ("gone", json!(null), true),
            ("never", json!(null), true),
            ("none", json!(null), false),
            ("age", json!(null), false),
        ] {
            assert_eq!(condition(wanted.clone()).unwrap().holds(&object, path), holds, "{path}: {wanted}");
        }
    }

    #[test]
    fn a_condition_holds_for_a_field_whose_name_has_a_dot() {
        let object = json!({"a.b": 1, "a": {"b": 2, "1.0": {"c": 3}}});
        for (path, value) in [(r"a\.b", 1), ("a.b", 2), (r"a.1\.0.c", 3)] {
            assert!(condition(json!(value)).unwrap().holds(&object, path), "{path}");
        }
    }

    #[test]
    fn what_is_no_condition_is_refused_with_a_reason() {
        for (wrong, reason) in [
            (json!({}), "says nothing"),
            (json!({"ge": 1}), "unknown bound \"ge\""),
            (json!({"gte": [1]}), "no order"),
            (json!({"gte": null, "lt": 5}), "gte is null"),
            (json!({"prefix": 1}), "prefix is a text"),
            (json!([1]), "one element"),
            (json!("x".repeat(4097)), "at most 4096"),
            (json!({"lt": "x".repeat(4097)}), "at most 4096"),
        ] {
            let error = condition(wrong.clone()).unwrap_err();
            assert!(error.contains(reason), "{wrong}: {error}");
        }
    }

    /// The name by which serde_json marks JSON in a text is a name like any other.
    #[test]
    fn nothing_in_a_bound_is_read_again() {
        let text = format!("{}{}", "[".repeat(60), "]".repeat(60));
        let marked = format!(r#"{{"gte": {{"$serde_json::private::RawValue": "{text}"}}}}"#);
        let error = serde_json::from_str::<Condition>(&marked).unwrap_err().to_string();
        assert!(error.contains("no order"), "{error}");
    }

    #[test]
    fn a_condition_is_written_as_it_was_given() {
        let find: Find = serde_json::from_str(r#"{"filter":{"a":{"gte":1.50},"b":"x"}}"#).unwrap();
        assert_eq!(serde_json::to_string(&find).unwrap(), r#"{"filter":{"a":{"gte":1.5},"b":"x"}}"#);
    }
}
