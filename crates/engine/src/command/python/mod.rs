//! Jobs in Python: each is a fork of a process that has already started or, if that does not work, a new process.

mod find;
mod zygote;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::Pid;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::answer::Answer;
use super::files::JobFiles;
use super::process::Process;
use super::starter::{Starter, SupervisorDirectories};
use super::{OURSELVES, environment};
use crate::environment::Variables;
use crate::limits::size;
use crate::script_engine::{Absent, ProgramSettings, ScriptEngine};
use crate::{EngineJob, Limits};
use hero_model::{ContextId, JobId, ScriptType};
use hero_process::confine::{self, JobRights, JobUser, Profile};
use zygote::Zygote;

/// The name of the script's file, and so of its code in tracebacks.
const FILE: &str = "script.py";
/// What runs the scripts, and what these import.
const SOURCES: [(&str, &str); 3] =
    [("runner.py", include_str!("runner.py")), ("hero.py", include_str!("hero.py")), ("confine.py", include_str!("confine.py"))];
/// Python ignores variables and directories of the user, and writes no compiled files.
const ARGUMENTS: [&str; 4] = ["-I", "-B", "-X", "utf8"];
/// After this number of consecutive zygotes that did not start, none is tried any more.
const MAX_START_ATTEMPTS: u32 = 3;

/// A Python interpreter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Python {
    /// Its path; one in a virtual environment selects that environment.
    pub interpreter: PathBuf,
    /// Paths that processes of jobs may read and run, besides the system's programs.
    pub readable: Vec<PathBuf>,
    /// The maximum memory for the data of one process, in bytes.
    pub memory: u64,
}

impl Python {
    /// Whether the scripts of a type are Python, because of its name or because it names an interpreter.
    pub fn is_for(of: &ProgramSettings<'_>) -> bool {
        let is_named = of.script_type.as_str() == ScriptType::PYTHON;
        of.command.is_none() && (is_named || of.interpreter.is_some() || of.venv.is_some())
    }
}

/// The description of a job for its process.
#[derive(Serialize)]
struct JobDescription<'j> {
    environment: Variables,
    env_vars: &'j BTreeMap<String, String>,
    job_id: &'j JobId,
    caller_id: &'j str,
    context_id: ContextId,
    attempt: u32,
    script: &'j str,
    args: &'j RawValue,
    limits: DescribedLimits,
}

#[derive(Serialize)]
struct DescribedLimits {
    result: usize,
    result_text: String,
    log: usize,
}

/// Starts the processes of jobs.
struct PythonStarter {
    python: Python,
    runner: PathBuf,
    user: JobUser,
    zygote: Option<Zygote>,
    failures: u32,
}

/// Makes the runner a zygote.
const SERVE: &str = "serve";

impl ScriptEngine for Python {
    fn names() -> &'static [&'static str] {
        &[ScriptType::PYTHON]
    }

    fn runs(of: &ProgramSettings<'_>) -> bool {
        Self::is_for(of)
    }

    async fn find(of: &ProgramSettings<'_>) -> Result<Result<Self, Absent>, String> {
        find::find(of).await
    }

    fn program(&self) -> Option<&Path> {
        Some(&self.interpreter)
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

    fn starter(&self, directories: &mut SupervisorDirectories<'_>) -> Result<Box<dyn Starter>, String> {
        let sources = (directories.make)("python")?;
        let runner = PythonStarter::new(self.clone(), &sources, directories.jobs, directories.user);
        Ok(Box::new(runner.map_err(|error| format!("the runner of scripts cannot be written: {error}"))?))
    }
}

impl PythonStarter {
    /// Writes what is needed into a directory, and starts the zygote for jobs in another.
    fn new(python: Python, sources: &Path, jobs: &Path, user: &JobUser) -> io::Result<Self> {
        for (name, text) in SOURCES {
            fs::write(sources.join(name), text)?;
            user.admit(&sources.join(name), JobUser::READ)?;
        }
        user.admit(sources, JobUser::USE)?;
        let python = Python { readable: python.readable.iter().cloned().chain([sources.to_owned()]).collect(), ..python };
        let mut runner = Self { python, runner: sources.join(SOURCES[0].0), user: user.clone(), zygote: None, failures: 0 };
        runner.start_zygote(jobs);
        Ok(runner)
    }

    fn start_zygote(&mut self, jobs: &Path) {
        if self.zygote.is_none() && self.failures < MAX_START_ATTEMPTS {
            self.zygote = Zygote::start(self.command(jobs, SERVE)).ok();
            self.failures = if self.zygote.is_some() { 0 } else { self.failures + 1 };
        }
    }

    fn command(&self, writable: &Path, what: &str) -> std::process::Command {
        let runner = self.runner.to_string_lossy().into_owned();
        let arguments: Vec<&str> = ARGUMENTS.into_iter().chain([runner.as_str(), what]).collect();
        let profile = Profile::Job(JobRights { confines_forks: what == SERVE, ..self.rights(writable, &self.user) });
        let mut command = confine::plain_command(Path::new(OURSELVES), &profile, &self.python.interpreter, &arguments);
        command.current_dir(writable).env_clear();
        command
    }
}

impl Starter for PythonStarter {
    fn file(&self) -> &str {
        FILE
    }

    fn rights(&self, directory: &Path, user: &JobUser) -> JobRights {
        JobRights { readable: self.python.readable.clone(), ..JobRights::new(directory, self.python.memory, user.clone()) }
    }

    fn answer(&self, limits: &Limits) -> Answer {
        Answer::told(limits)
    }

    fn zygote(&self) -> Option<Pid> {
        self.zygote.as_ref().map(Zygote::pid)
    }

    fn give_up_zygote(&mut self) {
        self.zygote = None;
    }

    fn start(&mut self, job: &EngineJob, files: &JobFiles, limits: &Limits) -> io::Result<Process> {
        let args = job.args.as_ref().map_or("{}", |args| args.as_str());
        let told = serde_json::to_vec(&JobDescription {
            environment: environment::of_job(job, files),
            env_vars: &job.env,
            job_id: &job.job_id,
            caller_id: &job.caller_id,
            context_id: job.context_id,
            attempt: job.attempt,
            script: &job.script,
            args: serde_json::from_str(args)?,
            limits: DescribedLimits { result: limits.result, result_text: size(limits.result), log: limits.log },
        })?;
        // The zygote does not read the job: later forks could find it in their memory.
        let mut file = File::from(memfd_create("job", MemfdFlags::CLOEXEC)?);
        file.write_all(&told)?;
        // A zygote that has died is only noticed at the fork. Then another one is started.
        for _ in 0..2 {
            if let Some(jobs) = files.directory.parent() {
                self.start_zygote(jobs);
            }
            match self.zygote.as_ref().map(|zygote| zygote.fork(&files.directory, file.as_fd())) {
                Some(Ok(process)) => return Ok(process),
                Some(Err(_)) => self.zygote = None,
                None => break,
            }
        }
        files.write(&files.directory.join("job.json"), told)?;
        Process::start(self.command(&files.directory, "run"))
    }
}
