use crate::value::json;
use hero_model::{JobFilter, JobId, Name, ScriptType, Timestamp};

/// A condition of a filter for a function: a field, the comparison (`filter.lua` lists them), and a value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Condition {
    field: &'static str,
    how: &'static str,
    text: String,
}

impl Condition {
    /// Adds all conditions to a call, with their number first.
    pub(crate) fn add(all: &[Self], call: &mut redis::Cmd) {
        call.arg(all.len());
        for condition in all {
            call.arg(condition.field).arg(condition.how).arg(&condition.text);
        }
    }
}

/// Returns the fields of a job's hash that the filter compares.
pub(crate) fn fields(filter: &JobFilter) -> Vec<&'static str> {
    let fields = [
        (filter.status.is_some(), "status"),
        (filter.script_type.is_some(), "script_type"),
        (filter.caller_id.is_some(), "caller_id"),
        (filter.group.is_some(), "group"),
        (filter.name.is_some(), "name"),
        (filter.parent_id.is_some(), "parent_id"),
        (!filter.labels.is_empty(), "labels"),
        (filter.created_after.is_some() || filter.created_before.is_some(), "created_at"),
    ];
    fields.into_iter().filter_map(|(decides, field)| decides.then_some(field)).collect()
}

/// Returns the conditions that the listing functions check. A job that fails them fails the filter; the caller checks the jobs that pass
/// them.
pub(crate) fn conditions(filter: &JobFilter) -> Vec<Condition> {
    let is = |field, text: Option<&str>| text.map(|text| Condition { field, how: "is", text: text.to_owned() });
    let time = |how, time: Option<Timestamp>| {
        // Times compare as text only with a year of four digits.
        time.map(|time| Condition { field: "created_at", how, text: time.to_string() }).filter(|condition| condition.text.len() == 24)
    };
    let label =
        |(label, value): (&String, &String)| Condition { field: "labels", how: "label", text: format!("{}:{}", json(label), json(value)) };
    let conditions = [
        filter.status.map(|status| Condition { field: "status", how: "status", text: status.as_str().to_owned() }),
        time("from", filter.created_after),
        time("until", filter.created_before),
        is("script_type", filter.script_type.as_ref().map(ScriptType::as_str)),
        is("caller_id", filter.caller_id.as_deref()),
        is("group", filter.group.as_ref().map(Name::as_str)),
        is("name", filter.name.as_deref()),
        is("parent_id", filter.parent_id.as_ref().map(JobId::as_str)),
    ];
    let conditions = conditions.into_iter().flatten().chain(filter.labels.iter().map(label));
    // Bytes that are no text read as this character, so the value differs from the stored bytes.
    conditions.filter(|condition| !condition.text.contains('\u{fffd}')).collect()
}
