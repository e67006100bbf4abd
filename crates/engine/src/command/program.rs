use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::python::Python;
use super::v::V;
use hero_process::held::MEMORIES;

/// What an engine runs its jobs with.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Program {
    /// The interpreter of this program, inside the engine's own process.
    #[default]
    Rhai,
    /// A command, a process for each job.
    Command(Command),
    /// Python, a process for each job.
    Python(Python),
    /// The compiler of V, and then a process for each job.
    V(V),
}

/// A command that runs scripts of one type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// The program, by its whole path, and its arguments. In these `{script}` and `{args}` stand for the paths of the job's files.
    pub command: Vec<String>,
    /// The name that the script's file gets.
    pub file: String,
    /// What processes of jobs may read and run, besides the system's programs.
    pub readable: Vec<PathBuf>,
    /// Bytes of memory for the data of one process.
    pub memory: u64,
}

impl Program {
    /// Whether each job is a process of its own below the engine's.
    pub const fn has_processes(&self) -> bool {
        !matches!(self, Self::Rhai)
    }

    /// Lowers the memory for the data of one process, be it a compiler, to `most` bytes, where it is above. In the engine's own process there is another limit.
    pub fn limit_memory(&mut self, most: u64) {
        match self {
            Self::Rhai => {}
            Self::Command(Command { memory, .. }) | Self::Python(Python { memory, .. }) => *memory = (*memory).min(most),
            Self::V(V { memory, to_compile, .. }) => (*memory, *to_compile) = ((*memory).min(most), (*to_compile).min(most)),
        }
    }

    /// Bytes of memory that all processes of a job may have together, be they those of a compiler.
    pub fn memory_of_all(&self) -> u64 {
        let of_one = match self {
            Self::Rhai => 0,
            Self::Command(Command { memory, .. }) | Self::Python(Python { memory, .. }) => *memory,
            Self::V(V { memory, to_compile, .. }) => (*memory).max(*to_compile),
        };
        of_one.saturating_mul(MEMORIES)
    }

    /// What the processes of jobs run and read besides the system's programs.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        let (program, readable): (_, &[PathBuf]) = match self {
            Self::Rhai => (None, &[]),
            Self::Command(command) => (command.command.first().map(Path::new), &command.readable),
            Self::Python(python) => (Some(&*python.interpreter), &python.readable),
            Self::V(v) => (Some(&*v.compiler), &v.readable),
        };
        program.into_iter().chain(readable.iter().map(PathBuf::as_path))
    }
}
