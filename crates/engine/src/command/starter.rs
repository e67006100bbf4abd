//! What a supervisor does for a language whose jobs are processes: its file implements [`Starter`], and [`Compiler`] if
//! scripts are compiled before they run.

use std::io;
use std::path::{Path, PathBuf};

use rustix::process::Pid;

use super::answer::Answer;
use super::files::JobFiles;
use super::process::Process;
use crate::{EngineJob, Limits};
use hero_model::JobError;
use hero_process::confine::{JobRights, JobUser};

/// The directories of a supervisor.
pub(crate) struct SupervisorDirectories<'p> {
    /// Makes a directory that jobs cannot write to.
    pub(super) make: &'p mut dyn FnMut(&str) -> Result<PathBuf, String>,
    /// The directory with those of the jobs.
    pub(super) jobs: &'p Path,
    /// The user of the jobs.
    pub(super) user: &'p JobUser,
}

/// Starts the processes of jobs. The supervisor watches and ends them.
pub(crate) trait Starter {
    /// The name of the script's file.
    fn file(&self) -> &str;

    /// The rights of a process that may write to `directory`.
    fn rights(&self, directory: &Path, user: &JobUser) -> JobRights;

    /// How a process tells its result: by default it writes it.
    fn answer(&self, limits: &Limits) -> Answer {
        Answer::written(limits)
    }

    /// The compiler, if scripts are compiled before they run.
    fn compiler(&mut self) -> Option<&mut dyn Compiler> {
        None
    }

    /// Starts the process of a job.
    fn start(&mut self, job: &EngineJob, files: &JobFiles, limits: &Limits) -> io::Result<Process>;

    /// The process that lives between jobs, from which they are forked.
    fn zygote(&self) -> Option<Pid> {
        None
    }

    /// Gives up a zygote that did not tell how a job ended.
    fn give_up_zygote(&mut self) {}
}

/// Compiles scripts and keeps their programs.
pub(crate) trait Compiler {
    /// True if the program of a script is kept.
    fn has(&mut self, script: &str) -> bool;

    /// Bytes of memory for the data of the compiler.
    fn memory(&self) -> u64;

    /// Starts to compile the script in the directory of `files`, which has nothing of a job.
    fn compile(&self, files: &JobFiles) -> io::Result<Process>;

    /// Keeps the program that was compiled in the directory of `files`.
    fn keep(&mut self, script: &str, files: &JobFiles) -> io::Result<()>;

    /// Returns the error of the script in the output of the compiler, if that names a place.
    fn error(&self, lines: &[String]) -> Option<JobError>;
}
