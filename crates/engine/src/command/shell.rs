use std::io;
use std::path::Path;

use super::files::JobFiles;
use super::process::Process;
use super::program::Command;
use super::{OURSELVES, environment};
use crate::EngineJob;
use hero_process::confine::{self, JobRights, JobUser, Profile};

impl Command {
    pub(super) fn rights(&self, directory: &Path, user: &JobUser) -> JobRights {
        JobRights { readable: self.readable.clone(), ..JobRights::new(directory, self.memory, user.clone()) }
    }

    /// Starts the process of a job.
    pub(super) fn start(&self, job: &EngineJob, files: &JobFiles) -> io::Result<Process> {
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
