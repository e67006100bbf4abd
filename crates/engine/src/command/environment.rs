use std::process::Command;

use super::files::JobFiles;
use crate::EngineJob;
use crate::environment::{self, Variables};
use hero_process::confine::OF_JOB;

/// Returns all variables of a job's process: those that programs expect, then the job's own, then those that describe
/// the job.
pub(super) fn of_job(job: &EngineJob, files: &JobFiles) -> Variables {
    let mut all = environment::expected(&files.directory);
    all.extend(environment::of_job(job));
    all.insert("HERO_ARGS".to_owned(), files.args.to_string_lossy().into_owned());
    all
}

/// Sets exactly these variables for a confined command.
pub(super) fn give(command: &mut Command, variables: Variables) {
    command.env_clear().envs(variables.into_iter().map(|(name, value)| (format!("{OF_JOB}{name}"), value)));
}
