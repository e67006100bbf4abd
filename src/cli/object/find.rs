use std::collections::BTreeMap;

use clap::Args;
use serde_json::{Value, json};

use crate::cli::exit::Usage;
use crate::cli::global::Global;
use crate::cli::output::{self, Style};
use crate::cli::paging::{Paging, note_more};
use crate::client::Client;
use crate::model::{Condition, Find, Json, Name, ObjectPage};

/// Which objects.
#[derive(Debug, Args)]
pub(in crate::cli) struct FindObjects {
    /// The collection
    collection: Name,
    /// What a field has to be, such as 'born>=1800': =, >, >=, <, <= or ^= (begins with) between a field and a value, which is JSON if it
    /// reads as such, else a text ('zip="9000"' is one); several times for several
    #[arg(long = "where", short = 'w', value_name = "CONDITION", value_parser = comparison)]
    conditions: Vec<Comparison>,
    /// Sort by this field, which needs an index; by the id otherwise
    #[arg(long, value_name = "FIELD")]
    order_by: Option<String>,
    /// The last comes first
    #[arg(long)]
    descending: bool,
    #[command(flatten)]
    paging: Paging,
}

/// A field, how it is compared, and with what.
#[derive(Debug, Clone, PartialEq)]
struct Comparison {
    field: String,
    /// The name of the bound; `None` is equality.
    bound: Option<&'static str>,
    value: Value,
}

/// How values are compared; longer ones first, because they begin as shorter ones do.
const OPERATORS: [(&str, Option<&str>); 6] =
    [(">=", Some("gte")), ("<=", Some("lte")), ("^=", Some("prefix")), (">", Some("gt")), ("<", Some("lt")), ("=", None)];

fn comparison(text: &str) -> Result<Comparison, String> {
    let at = text.find(['=', '<', '>', '^']).filter(|at| *at > 0);
    let split = at.and_then(|at| {
        let (field, rest) = text.split_at(at);
        let (operator, bound) = OPERATORS.into_iter().find(|(operator, _)| rest.starts_with(operator))?;
        Some((field, bound, &rest[operator.len()..]))
    });
    let expected = "a field, one of = > >= < <= ^=, and a value are expected; in quotes, because the shell takes > and < for itself";
    let (field, bound, value) = split.ok_or(expected)?;
    let (field, value) = (field.trim(), value.trim());
    if value.starts_with(['=', '<', '>']) || field.ends_with('!') {
        return Err("there is only one of = > >= < <= ^= between a field and a value".to_owned());
    }
    // What is no number, truth value, null or quoted text is a text.
    let value = match serde_json::from_str::<Value>(value) {
        Ok(Value::Array(_) | Value::Object(_)) | Err(_) => Value::from(value),
        Ok(known) if bound == Some("prefix") && !known.is_string() => Value::from(value),
        Ok(known) => known,
    };
    Ok(Comparison { field: field.to_owned(), bound, value })
}

/// All that is asked of each field.
fn conditions(comparisons: &[Comparison]) -> Result<BTreeMap<String, Condition>, Usage> {
    let mut fields: BTreeMap<String, Value> = BTreeMap::new();
    for Comparison { field, bound, value } in comparisons {
        let twice = || Usage(format!("--where says two things of {field} that do not go together; say one"));
        match (fields.get_mut(field), bound) {
            (None, None) => drop(fields.insert(field.clone(), value.clone())),
            (None, Some(bound)) => drop(fields.insert(field.clone(), json!({ *bound: value }))),
            (Some(Value::Object(range)), Some(bound)) if !range.contains_key(*bound) => {
                drop(range.insert((*bound).to_owned(), value.clone()))
            }
            _ => return Err(twice()),
        }
    }
    let of = |(field, value)| Condition::try_from(Json::from(value)).map(|one| (field, one)).map_err(Usage);
    fields.into_iter().map(of).collect()
}

impl FindObjects {
    pub(super) async fn main(&self, global: &Global, client: &Client) -> anyhow::Result<()> {
        let wanted = Find {
            conditions: conditions(&self.conditions)?,
            order_by: self.order_by.clone(),
            descending: self.descending,
            ..Find::default()
        };
        let told = std::cell::RefCell::new((Vec::new(), 0));
        let page = async |context, cursor: Option<&str>, limit: usize| {
            let query = Find { cursor: cursor.map(ToOwned::to_owned), limit: u32::try_from(limit).ok(), ..wanted.clone() };
            let page = client.find_objects(context, &self.collection, &query).await?;
            let mut told = told.borrow_mut();
            *told = (page.compared, told.1 + page.looked_at);
            Ok((page.objects, page.next_cursor))
        };
        let (objects, next_cursor) = self.paging.collect(page).await?;
        let (compared, looked_at) = told.into_inner();
        if global.json {
            return output::json(&ObjectPage { objects, next_cursor, compared, looked_at });
        }
        for object in &objects {
            output::line(object.as_str())?;
        }
        if !compared.is_empty() {
            let fields = compared.join(", ");
            output::note(Style::stderr().dim(format!("no index was used for {fields}, so {looked_at} objects were looked at")));
        }
        note_more(next_cursor.as_deref());
        Ok(())
    }
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
            assert_eq!(comparison(text).unwrap(), Comparison { field: field.into(), bound, value }, "{text}");
        }
        for wrong in ["", "city", "=Ghent", "a^b", ">1", "a==1", "a!=1", "a=<5", "a<=>5"] {
            assert!(comparison(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn two_bounds_make_a_range_and_two_values_are_refused() {
        let of = |texts: &[&str]| conditions(&texts.iter().map(|text| comparison(text).unwrap()).collect::<Vec<_>>());
        let range = of(&["born>=1800", "born<1900"]).unwrap();
        assert_eq!(range["born"], Condition::try_from(Json::from(json!({"gte": 1800, "lt": 1900}))).unwrap());
        for wrong in [&["a=1", "a=2"][..], &["a=1", "a>2"], &["a>1", "a=2"], &["a>1", "a>2"]] {
            assert!(of(wrong).is_err(), "{wrong:?}");
        }
    }
}
