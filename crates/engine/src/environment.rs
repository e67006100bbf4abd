//! The variables of the processes of a job, whatever starts them.

use std::collections::BTreeMap;
use std::path::Path;

use super::EngineJob;
use hero_model::{ErrorKind, JobError};

/// The search path for programs.
pub const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Variables, by name.
pub type Variables = BTreeMap<String, String>;

/// Returns the variables that programs expect, with this directory as their home.
pub fn expected(home: &Path) -> Variables {
    let home = home.to_string_lossy().into_owned();
    let expected = [("PATH", PATH.to_owned()), ("HOME", home.clone()), ("TMPDIR", home), ("LANG", "C.UTF-8".to_owned())];
    named(expected).collect()
}

/// Returns the variables of a job: its own, then those that describe it.
pub fn of_job(job: &EngineJob) -> Variables {
    let mut all = job.env.clone();
    all.extend(named([
        ("HERO_JOB_ID", job.job_id.to_string()),
        ("HERO_CALLER_ID", job.caller_id.clone()),
        ("HERO_CONTEXT_ID", job.context_id.to_string()),
        ("HERO_ATTEMPT", job.attempt.to_string()),
    ]));
    all
}

fn named<const N: usize>(variables: [(&str, String); N]) -> impl Iterator<Item = (String, String)> {
    variables.map(|(name, value)| (name.to_owned(), value)).into_iter()
}

/// Returns an error if a process cannot be given the variables of a job.
pub fn fault(job: &EngineJob) -> Option<JobError> {
    let refused = |what: String| Some(JobError::new(ErrorKind::Unavailable, what));
    if let Some(name) = job.env.keys().find(|name| name.is_empty() || name.contains(['=', '\0'])) {
        return refused(format!("env_vars: the name {name:?} is empty, or has a '=' or a zero byte in it"));
    }
    if let Some((name, _)) = job.env.iter().find(|(_, value)| value.contains('\0')) {
        return refused(format!("env_vars: the value of {name:?} has a zero byte in it, which no process can be given"));
    }
    if job.caller_id.contains('\0') {
        return refused("the name of the caller has a zero byte in it, which no process can be given".to_owned());
    }
    None
}
