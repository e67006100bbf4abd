use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::files::JobFiles;
use super::process::Process;
use super::starter::{Starter, SupervisorDirectories};
use super::{OURSELVES, environment};
use crate::script_engine::{Absent, ProgramSettings, ScriptEngine};
use crate::{EngineJob, Limits, look_up};
use hero_process::confine::{self, JobRights, JobUser, Profile};

/// A command that runs scripts of one type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// The full path of the program, and its arguments. In these, `{script}` and `{args}` stand for the paths of the
    /// job's files.
    pub command: Vec<String>,
    /// The file name of the script.
    pub file: String,
    /// Paths that processes of jobs may read and run, besides the system's programs.
    pub readable: Vec<PathBuf>,
    /// The maximum memory for the data of one process, in bytes.
    pub memory: u64,
}

impl ScriptEngine for Command {
    fn names() -> &'static [&'static str] {
        &[]
    }

    fn runs(of: &ProgramSettings<'_>) -> bool {
        of.command.is_some()
    }

    async fn find(of: &ProgramSettings<'_>) -> Result<Result<Self, Absent>, String> {
        let mut command = of.command.unwrap_or_default().to_vec();
        if let Some(program) = command.first_mut() {
            let found = look_up(program).map_err(|why| format!("script_types.{}.command: {why}", of.script_type))?;
            *program = found.to_string_lossy().into_owned();
        }
        Ok(Ok(Self { command, file: of.file.to_owned(), readable: of.readable.to_vec(), memory: of.memory }))
    }

    fn program(&self) -> Option<&Path> {
        self.command.first().map(Path::new)
    }

    fn readable(&self) -> &[PathBuf] {
        &self.readable
    }

    fn memory(&self) -> u64 {
        self.memory
    }

    fn limit_memory(&mut self, most: u64) {
        self.memory = self.memory.min(most);
    }

    fn starter(&self, _: &mut SupervisorDirectories<'_>) -> Result<Box<dyn Starter>, String> {
        Ok(Box::new(self.clone()))
    }
}

impl Starter for Command {
    fn file(&self) -> &str {
        &self.file
    }

    fn rights(&self, directory: &Path, user: &JobUser) -> JobRights {
        JobRights { readable: self.readable.clone(), ..JobRights::new(directory, self.memory, user.clone()) }
    }

    fn start(&mut self, job: &EngineJob, files: &JobFiles, _: &Limits) -> io::Result<Process> {
        let given = |argument: &String| {
            let path = |path: &Path| path.to_string_lossy().into_owned();
            argument.replace("{script}", &path(&files.script)).replace("{args}", &path(&files.args))
        };
        let (program, arguments) = self.command.split_first().ok_or(io::ErrorKind::NotFound)?;
        let arguments: Vec<String> = arguments.iter().map(given).collect();
        let profile = Profile::Job(self.rights(&files.directory, &files.user));
        let mut command = confine::plain_command(Path::new(OURSELVES), &profile, Path::new(program), &arguments);
        command.current_dir(&files.directory);
        environment::give(&mut command, environment::of_job(job, files));
        Process::start(command)
    }
}
