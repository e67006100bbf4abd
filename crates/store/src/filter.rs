use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::codec::json;
use hero_model::{Job, JobId, Name, ScriptType, Status, Timestamp};

/// What a function sees of a filter: a field, how it is compared (`filter.lua` says how it may be), and with what.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Condition {
    field: &'static str,
    how: &'static str,
    text: String,
}

impl Condition {
    /// Adds all conditions to a call, their number first.
    pub(super) fn add(all: &[Self], call: &mut redis::Cmd) {
        call.arg(all.len());
        for condition in all {
            call.arg(condition.field).arg(condition.how).arg(&condition.text);
        }
    }
}

/// Which jobs to list or follow. What is left out does not restrict.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct JobFilter {
    /// Only jobs of this status.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Status")]
    pub status: Option<Status>,
    /// Only jobs of this script type.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ScriptType")]
    pub script_type: Option<ScriptType>,
    /// Only jobs that this caller created.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub caller_id: Option<String>,
    /// Only jobs for this group.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Name")]
    pub group: Option<Name>,
    /// Only jobs of this name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub name: Option<String>,
    /// Only children of this job.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "JobId")]
    pub parent_id: Option<JobId>,
    /// Only jobs that have all these labels; 16 at most.
    #[serde(deserialize_with = "hero_model::each_once_or_none", skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Only jobs created at this time or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Timestamp")]
    pub created_after: Option<Timestamp>,
    /// Only jobs created before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Timestamp")]
    pub created_before: Option<Timestamp>,
}

impl JobFilter {
    /// Whether a job matches.
    pub fn matches(&self, job: &Job) -> bool {
        self.status.is_none_or(|status| status == job.status)
            && self.script_type.is_none_or_matches(job.script_type.as_ref())
            && self.caller_id.is_none_or_matches(job.caller_id.as_ref())
            && self.group.is_none_or_matches(job.group.as_ref())
            && self.name.is_none_or_matches(job.name.as_ref())
            && self.parent_id.is_none_or_matches(job.parent_id.as_ref())
            && self.labels.iter().all(|(label, value)| job.labels.get(label) == Some(value))
            && self.created_after.is_none_or(|after| job.created_at.is_some_and(|created| created >= after))
            && self.created_before.is_none_or(|before| job.created_at.is_some_and(|created| created < before))
    }

    /// The fields of a job's hash that decide.
    pub(super) fn fields(&self) -> Vec<&'static str> {
        let fields = [
            (self.status.is_some(), "status"),
            (self.script_type.is_some(), "script_type"),
            (self.caller_id.is_some(), "caller_id"),
            (self.group.is_some(), "group"),
            (self.name.is_some(), "name"),
            (self.parent_id.is_some(), "parent_id"),
            (!self.labels.is_empty(), "labels"),
            (self.created_after.is_some() || self.created_before.is_some(), "created_at"),
        ];
        fields.into_iter().filter_map(|(decides, field)| decides.then_some(field)).collect()
    }

    /// What the functions that look for jobs compare. A job that does not pass there does not pass; of one that does, the caller makes sure.
    pub(super) fn conditions(&self) -> Vec<Condition> {
        let is = |field, text: Option<&str>| text.map(|text| Condition { field, how: "is", text: text.to_owned() });
        let time = |how, time: Option<Timestamp>| {
            // Only the form with four digits of the year compares as a text.
            time.map(|time| Condition { field: "created_at", how, text: time.to_string() }).filter(|condition| condition.text.len() == 24)
        };
        let label = |(label, value): (&String, &String)| Condition {
            field: "labels",
            how: "label",
            text: format!("{}:{}", json(label), json(value)),
        };
        let conditions = [
            self.status.map(|status| Condition { field: "status", how: "status", text: status.as_str().to_owned() }),
            time("from", self.created_after),
            time("until", self.created_before),
            is("script_type", self.script_type.as_ref().map(ScriptType::as_str)),
            is("caller_id", self.caller_id.as_deref()),
            is("group", self.group.as_ref().map(Name::as_str)),
            is("name", self.name.as_deref()),
            is("parent_id", self.parent_id.as_ref().map(JobId::as_str)),
        ];
        let conditions = conditions.into_iter().flatten().chain(self.labels.iter().map(label));
        // Bytes that are no text read as this character, and so the text is not what stands there.
        conditions.filter(|condition| !condition.text.contains('\u{fffd}')).collect()
    }

    /// Whether the status alone decides, so that a job's hash need not be read.
    pub fn is_only_status(&self) -> bool {
        *self == Self { status: self.status, ..Self::default() }
    }
}

trait Matches<T> {
    fn is_none_or_matches(&self, other: Option<&T>) -> bool;
}

impl<T: PartialEq> Matches<T> for Option<T> {
    fn is_none_or_matches(&self, other: Option<&T>) -> bool {
        self.is_none() || self.as_ref() == other
    }
}
