use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Job, JobId, Name, ScriptType, Status, Timestamp};

/// The jobs to list or follow. Absent fields do not restrict them.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct JobFilter {
    /// Only jobs of this status.
    pub status: Option<Status>,
    /// Only jobs of this script type.
    pub script_type: Option<ScriptType>,
    /// Only jobs that this caller created.
    pub caller_id: Option<String>,
    /// Only jobs for this group.
    pub group: Option<Name>,
    /// Only jobs of this name.
    pub name: Option<String>,
    /// Only children of this job.
    pub parent_id: Option<JobId>,
    /// Only jobs that have all these labels; 16 at most.
    #[serde(deserialize_with = "super::each_once_or_none", skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Only jobs created at this time or later.
    pub created_after: Option<Timestamp>,
    /// Only jobs created before this time.
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

    /// Whether the status alone decides, so that a job's hash need not be read.
    pub fn is_only_status(&self) -> bool {
        *self == Self { status: self.status, ..Self::default() }
    }
}

/// A page of jobs, newest first.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobPage {
    /// The jobs.
    pub jobs: Vec<Job>,
    /// The cursor of the next page; absent on the last. A page may have fewer jobs than `limit` although more follow.
    pub next_cursor: Option<String>,
}

trait Matches<T> {
    fn is_none_or_matches(&self, other: Option<&T>) -> bool;
}

impl<T: PartialEq> Matches<T> for Option<T> {
    fn is_none_or_matches(&self, other: Option<&T>) -> bool {
        self.is_none() || self.as_ref() == other
    }
}
