//! A language whose jobs are processes: its file implements [`JobProgram`] for its settings and [`Starter`] for what it does
//! in a supervisor. `program.rs` lists the languages.

use std::io;
use std::path::{Path, PathBuf};

use rustix::process::Pid;

use super::answer::Answer;
use super::files::JobFiles;
use super::process::Process;
use crate::{EngineJob, Limits};
use hero_model::JobError;
use hero_process::confine::{JobRights, JobUser};

/// The settings of a language, which the worker sends to its supervisor.
pub(super) trait JobProgram {
    /// The file of the interpreter, compiler or command.
    fn program(&self) -> Option<&Path>;

    /// The paths that processes of jobs may read and run, besides the system's programs.
    fn readable(&self) -> &[PathBuf];

    /// Bytes of memory for the data of the largest process of a job, including the compiler.
    fn memory(&self) -> u64;

    /// Lowers each limit of memory to `most` bytes.
    fn limit_memory(&mut self, most: u64);

    /// Prepares a supervisor to start jobs.
    fn starter(&self, directories: &mut SupervisorDirectories<'_>) -> Result<Box<dyn Starter>, String>;
}

/// The directories of a supervisor.
pub(super) struct SupervisorDirectories<'p> {
    /// Makes a directory that jobs cannot write to.
    pub(super) make: &'p mut dyn FnMut(&str) -> Result<PathBuf, String>,
    /// The directory with those of the jobs.
    pub(super) jobs: &'p Path,
    /// The user of the jobs.
    pub(super) user: &'p JobUser,
}

/// Starts the processes of jobs. The supervisor watches and ends them.
pub(super) trait Starter {
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
pub(super) trait Compiler {
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
