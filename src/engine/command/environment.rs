use std::collections::BTreeMap;
use std::process::Command;

use super::files::JobFiles;
use crate::engine::EngineJob;
use crate::model::{ErrorKind, JobError};
use crate::process::confine::OF_JOB;

/// Where programs are looked for.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The variables of a process, by name.
pub(super) type Variables = BTreeMap<String, String>;

/// What programs expect.
pub(super) fn expected(files: &JobFiles) -> Variables {
    let home = files.directory.to_string_lossy().into_owned();
    let expected = [("PATH", PATH.to_owned()), ("HOME", home.clone()), ("TMPDIR", home), ("LANG", "C.UTF-8".to_owned())];
    expected.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// All variables of a job's process: what programs expect, then the job's own, then those that tell of the job.
pub(super) fn of_job(job: &EngineJob, files: &JobFiles) -> Variables {
    let mut all = expected(files);
    let of_job = [
        ("HERO_JOB_ID", job.job_id.to_string()),
        ("HERO_CALLER_ID", job.caller_id.clone()),
        ("HERO_CONTEXT_ID", job.context_id.to_string()),
        ("HERO_ATTEMPT", job.attempt.to_string()),
        ("HERO_ARGS", files.args.to_string_lossy().into_owned()),
    ];
    all.extend(job.env.clone());
    all.extend(of_job.into_iter().map(|(name, value)| (name.to_owned(), value)));
    all
}

/// Gives a confined command these variables and no others.
pub(super) fn give(command: &mut Command, variables: Variables) {
    command.env_clear().envs(variables.into_iter().map(|(name, value)| (format!("{OF_JOB}{name}"), value)));
}

/// What no process can be given, if there is any.
pub(super) fn fault(job: &EngineJob) -> Option<JobError> {
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
