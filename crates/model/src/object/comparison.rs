//! Conditions in their written form: `born>=1800`.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde_json::{Value, json};

use super::Condition;
use crate::{Json, tree};

/// A field, an operator and a value.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    field: String,
    /// The name of the bound; `None` for equality.
    bound: Option<&'static str>,
    value: Value,
}

/// The operators. Longer ones come first, because they begin with shorter ones.
const OPERATORS: [(&str, Option<&str>); 6] =
    [(">=", Some("gte")), ("<=", Some("lte")), ("^=", Some("prefix")), (">", Some("gt")), ("<", Some("lt")), ("=", None)];

/// Reads `born>=1800`: a field, an operator, and a value, which is a text unless it is valid JSON.
impl FromStr for Comparison {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let at = text.find(['=', '<', '>', '^']).filter(|at| *at > 0);
        let split = at.and_then(|at| {
            let (field, rest) = text.split_at(at);
            let (operator, bound) = OPERATORS.into_iter().find(|(operator, _)| rest.starts_with(operator))?;
            Some((field, bound, &rest[operator.len()..]))
        });
        let (field, bound, value) = split.ok_or("a field, one of = > >= < <= ^=, and a value are expected")?;
        let (field, value) = (field.trim(), value.trim());
        if value.starts_with(['=', '<', '>']) || field.ends_with('!') {
            return Err("there is only one of = > >= < <= ^= between a field and a value".to_owned());
        }
        // Everything but a number, a boolean, null or a quoted text is a text.
        let value = match tree(value) {
            Ok(Value::Array(_) | Value::Object(_)) | Err(_) => Value::from(value),
            Ok(known) if bound == Some("prefix") && !known.is_string() => Value::from(value),
            Ok(known) => known,
        };
        Ok(Self { field: field.to_owned(), bound, value })
    }
}

/// Returns the condition for each field. Fails if two comparisons of a field cannot be combined.
pub fn conditions(comparisons: &[Comparison]) -> Result<BTreeMap<String, Condition>, String> {
    let mut fields: BTreeMap<String, Value> = BTreeMap::new();
    for Comparison { field, bound, value } in comparisons {
        match (fields.get_mut(field), bound) {
            (None, None) => drop(fields.insert(field.clone(), value.clone())),
            (None, Some(bound)) => drop(fields.insert(field.clone(), json!({ *bound: value }))),
            (Some(Value::Object(range)), Some(bound)) if !range.contains_key(*bound) => {
                drop(range.insert((*bound).to_owned(), value.clone()))
            }
            _ => return Err(format!("says two things of {field} that do not go together; say one")),
        }
    }
    let of = |(field, value)| Condition::try_from(Json::from(value)).map(|one| (field, one));
    fields.into_iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_is_written_as_one_reads_it() {
        for (text, field, bound, value) in [
            ("city=Ghent", "city", None, json!("Ghent")),
            ("born=1815", "born", None, json!(1815)),
            ("zip=\"9000\"", "zip", None, json!("9000")),
            ("gone=null", "gone", None, json!(null)),
            ("address.zip>=9000", "address.zip", Some("gte"), json!(9000)),
            ("a<b", "a", Some("lt"), json!("b")),
            ("name^=12", "name", Some("prefix"), json!("12")),
            ("born >= 1800", "born", Some("gte"), json!(1800)),
            ("x=[1]", "x", None, json!("[1]")),
        ] {
            assert_eq!(text.parse::<Comparison>().unwrap(), Comparison { field: field.into(), bound, value }, "{text}");
        }
        for wrong in ["", "city", "=Ghent", "a^b", ">1", "a==1", "a!=1", "a=<5", "a<=>5"] {
            assert!(wrong.parse::<Comparison>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn two_bounds_make_a_range_and_two_values_are_refused() {
        let of = |texts: &[&str]| conditions(&texts.iter().map(|text| text.parse::<Comparison>().unwrap()).collect::<Vec<_>>());
        let range = of(&["born>=1800", "born<1900"]).unwrap();
        assert_eq!(range["born"], Condition::try_from(Json::from(json!({"gte": 1800, "lt": 1900}))).unwrap());
        for wrong in [&["a=1", "a=2"][..], &["a=1", "a>2"], &["a>1", "a=2"], &["a>1", "a>2"]] {
            assert!(of(wrong).is_err(), "{wrong:?}");
        }
    }
}
