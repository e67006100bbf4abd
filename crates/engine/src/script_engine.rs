//! What an engine of a language is: one file implements [`ScriptEngine`] for its settings, and `program.rs` lists it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::process::Command;

use crate::Limits;
use crate::command::{Starter, SupervisorDirectories};
use crate::directory::{self, Directory};
use hero_process::Spawner;
use hero_process::cgroup::Group;
use hero_process::confine::{self, Profile, SupervisorRights};
use hero_process::held::MEMORIES;

/// Time that the processes of a job have to obey a stop before their engine is killed. They may clean up after SIGTERM.
const PROCESSES_OBEY: Duration = Duration::from_secs(3);

/// The engine of a language: its settings, which the worker sends to the engine's process, and what they mean on both
/// sides. The defaults are those of a language whose jobs are processes.
pub(crate) trait ScriptEngine {
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
        let group = spawner.group(self.memory().saturating_mul(MEMORIES));
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
