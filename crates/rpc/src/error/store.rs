//! The errors of the store as callers see them.

use serde_json::{Value, json};

use hero_model::JobId;
use hero_store::Error;

/// Returns the data for programs: whether anything was done, the job that may have been stored, and the key that another program has
/// spoilt, if that is the cause.
pub(super) fn data_of(source: &Error, not_done: bool, job_id: Option<&JobId>) -> Value {
    let mut data = json!({"outcome": if not_done { "not_done" } else { "unknown" }});
    if let Error::Spoilt { key, .. } = source {
        data["key"] = json!(key);
    }
    if let Some(job_id) = job_id {
        data["job_id"] = json!(job_id);
    }
    data
}

/// Returns the message for people. Causes inside the store are left out, except those that a user can fix. `look` says how to find out the
/// unknown outcome.
pub(super) fn message_of(source: &Error, not_done: bool, look: &str) -> String {
    if source.is_spoilt() {
        return format!("{source}; nothing was done");
    }
    if matches!(source, Error::Overtaken(_)) {
        return source.to_string();
    }
    match (not_done, source.disk_fault()) {
        (true, Some(fault)) => format!("Redis refuses to write: {fault}; nothing was done; try again"),
        (true, None) => "the store is unavailable and nothing was done; try again".to_owned(),
        (false, _) => format!("the store is unavailable and whether it was done is unknown; look{look}"),
    }
}
