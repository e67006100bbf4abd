use std::io;
use std::path::{Path, PathBuf};

use super::files::JobFiles;
use super::process::Process;
use super::program::Command;
use super::starter::{JobProgram, Starter, SupervisorDirectories};
use super::{OURSELVES, environment};
use crate::{EngineJob, Limits};
use hero_process::confine::{self, JobRights, JobUser, Profile};

impl JobProgram for Command {
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
