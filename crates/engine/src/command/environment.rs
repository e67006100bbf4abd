use std::process::Command;

use super::files::JobFiles;
use crate::EngineJob;
use crate::environment::{self, Variables};
use hero_process::confine::OF_JOB;

/// All variables of a job's process: what programs expect, then the job's own, then those that tell of the job.
pub(super) fn of_job(job: &EngineJob, files: &JobFiles) -> Variables {
    let mut all = environment::expected(&files.directory);
    all.extend(environment::of_job(job));
    all.insert("HERO_ARGS".to_owned(), files.args.to_string_lossy().into_owned());
    all
}

/// Gives a confined command these variables and no others.
pub(super) fn give(command: &mut Command, variables: Variables) {
    command.env_clear().envs(variables.into_iter().map(|(name, value)| (format!("{OF_JOB}{name}"), value)));
}
