use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::python::Python;
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
    /// Whether each job is a separate process below the engine.
    pub const fn has_processes(&self) -> bool {
        !matches!(self, Self::Rhai)
    }

    /// Lowers the memory for the data of one process, including a compiler, to at most `most` bytes. The engine's own
    /// process has another limit.
    pub fn limit_memory(&mut self, most: u64) {
        match self {
            Self::Rhai => {}
            Self::Command(Command { memory, .. }) | Self::Python(Python { memory, .. }) => *memory = (*memory).min(most),
            Self::V(V { memory, to_compile, .. }) => (*memory, *to_compile) = ((*memory).min(most), (*to_compile).min(most)),
        }
    }

    /// The maximum memory of all processes of a job together, including a compiler, in bytes.
    pub fn memory_of_all(&self) -> u64 {
        let of_one = match self {
            Self::Rhai => 0,
            Self::Command(Command { memory, .. }) | Self::Python(Python { memory, .. }) => *memory,
            Self::V(V { memory, to_compile, .. }) => (*memory).max(*to_compile),
        };
        of_one.saturating_mul(MEMORIES)
    }

    /// The paths that processes of jobs run and read, besides the system's programs.
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
