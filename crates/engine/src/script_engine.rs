//! What an engine of a language is: one file implements [`ScriptEngine`] for its settings, and `program.rs` lists it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::process::Command;

use crate::Limits;
use crate::command::{Starter, SupervisorDirectories};
use crate::directory::{self, Directory};
use hero_model::ScriptType;
use hero_process::Spawner;
use hero_process::cgroup::Group;
use hero_process::confine::{self, Profile, SupervisorRights};
use hero_process::held::MEMORY_FACTOR;

/// Time that the processes of a job have to obey a stop before their engine is killed. They may clean up after SIGTERM.
const PROCESSES_OBEY: Duration = Duration::from_secs(3);

/// What a pool and its script type say about the program that runs the scripts.
#[derive(Debug, Clone, Copy)]
pub struct ProgramSettings<'s> {
    /// The script type.
    pub script_type: &'s ScriptType,
    /// The program and its arguments, with `{script}` for the path of the script.
    pub command: Option<&'s [String]>,
    /// The name of the script's file.
    pub file: &'s str,
    /// Paths that processes of jobs may read and run, besides the system's programs.
    pub readable: &'s [PathBuf],
    /// The maximum memory for the data of one process, in bytes.
    pub memory: u64,
    /// The interpreter, as a path or a name in PATH.
    pub interpreter: Option<&'s str>,
    /// The virtual environment of the script type.
    pub venv: Option<&'s Path>,
    /// The virtual environment of the pool, instead of that of the script type.
    pub pool_venv: Option<&'s Path>,
}

/// The reason why a script type that needs no configuration cannot run here.
pub type Absent = String;

/// The engine of a language: its settings, which the worker sends to the engine's process, and what they mean on both
/// sides. The defaults are those of a language whose jobs are processes.
pub(crate) trait ScriptEngine {
    /// The script types that it runs without any configuration.
    fn names() -> &'static [&'static str]
    where
        Self: Sized;

    /// Whether it runs the scripts of such a type: by default of those types, unless a command runs them.
    fn runs(of: &ProgramSettings<'_>) -> bool
    where
        Self: Sized,
    {
        of.command.is_none() && Self::names().contains(&of.script_type.as_str())
    }

    /// Finds the program on this machine. A program that is configured and missing is an error.
    async fn find(of: &ProgramSettings<'_>) -> Result<Result<Self, Absent>, String>
    where
        Self: Sized;

    /// Whether each job is a process of its own below the engine's.
    fn has_processes(&self) -> bool {
        true
    }

    /// The file of the interpreter, compiler or command.
    fn program(&self) -> Option<&Path>;

    /// The paths that processes of jobs may read and run, besides the system's programs.
    fn readable(&self) -> &[PathBuf];

    /// Both together.
    fn paths(&self) -> Vec<&Path> {
        self.program().into_iter().chain(self.readable().iter().map(PathBuf::as_path)).collect()
    }

    /// Bytes of memory for the data of the largest process of a job, including the compiler.
    fn memory(&self) -> u64;

    /// Lowers each limit of memory to `most` bytes.
    fn limit_memory(&mut self, most: u64);

    /// How the process of the engine is started: by default a supervisor, in a directory and a control group of its
    /// own.
    fn launch(&self, hero: &Path, _: &Limits, spawner: &Spawner) -> io::Result<Launch> {
        let directory = Directory::create()?;
        let group = spawner.group(self.memory().saturating_mul(MEMORY_FACTOR));
        spawner.later(directory::remove_left);
        let rights = SupervisorRights {
            writable: directory.path().to_owned(),
            home: None,
            is_temporary: true,
            readable: self.paths().into_iter().map(ToOwned::to_owned).collect(),
            group: group.as_ref().map(|group| group.path().to_owned()),
        };
        let mut command = confine::command(hero, &Profile::Supervisor(rights), hero, &["supervisor"]);
        // It ends by itself when the socket is closed, and ends everything that a job has started.
        command.current_dir(directory.path()).env_clear().kill_on_drop(false);
        Ok(Launch { command, directory: Some(directory), group })
    }

    /// Time that a job has to obey a stop before its engine is killed.
    fn obey(&self) -> Duration {
        PROCESSES_OBEY
    }

    /// Prepares a supervisor to start jobs.
    fn starter(&self, directories: &mut SupervisorDirectories<'_>) -> Result<Box<dyn Starter>, String>;
}

/// How the process of an engine is started, and what is removed when it has ended.
pub(crate) struct Launch {
    pub(crate) command: Command,
    /// The directory of a supervisor.
    pub(crate) directory: Option<Directory>,
    /// The control group of a supervisor and everything that it starts.
    pub(crate) group: Option<Group>,
}
