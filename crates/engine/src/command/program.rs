use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::python::Python;
use super::starter::JobProgram;
use super::v::V;
use hero_process::held::MEMORIES;

/// The program that runs the jobs of an engine.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Program {
    /// The interpreter of this program, inside the engine's own process.
    #[default]
    Rhai,
    /// A command: one process for each job.
    Command(Command),
    /// Python: one process for each job.
    Python(Python),
    /// The V compiler, and then one process for each job.
    V(V),
}

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

impl Program {
    /// The language whose jobs are processes below the engine's; none for Rhai.
    pub(super) fn of_processes(&self) -> Option<&dyn JobProgram> {
        match self {
            Self::Rhai => None,
            Self::Command(command) => Some(command),
            Self::Python(python) => Some(python),
            Self::V(v) => Some(v),
        }
    }

    /// Whether each job is a process of its own below the engine's.
    pub const fn has_processes(&self) -> bool {
        !matches!(self, Self::Rhai)
    }

    /// Lowers the memory for the data of one process, including a compiler, to `most` bytes. Rhai has another limit.
    pub fn limit_memory(&mut self, most: u64) {
        let program: &mut dyn JobProgram = match self {
            Self::Rhai => return,
            Self::Command(command) => command,
            Self::Python(python) => python,
            Self::V(v) => v,
        };
        program.limit_memory(most);
    }

    /// Bytes of memory that all processes of a job may have together, including those of a compiler.
    pub fn memory_of_all(&self) -> u64 {
        self.of_processes().map_or(0, JobProgram::memory).saturating_mul(MEMORIES)
    }

    /// The paths that the processes of jobs run and read besides the system's programs.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        let program = self.of_processes().and_then(JobProgram::program);
        let readable = self.of_processes().map(JobProgram::readable).unwrap_or_default();
        program.into_iter().chain(readable.iter().map(PathBuf::as_path))
    }
}
