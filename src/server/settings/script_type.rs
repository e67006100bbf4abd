use std::path::{Path, PathBuf};

use figment::value::Value;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::json;

use super::value;
use crate::engine::{ProgramSettings, Python};
use crate::model::{ScriptType, size_text};

/// The minimum with which any interpreter starts.
pub(super) const LEAST_MEMORY: u64 = 16 << 20;
/// The name of the file with the arguments, next to the script.
const ARGS: &str = "args.json";

/// A configured script type, and the program that runs its scripts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptTypeSettings {
    /// The name of the type.
    pub name: ScriptType,
    /// The program and its arguments, with `{script}` for the path of the script.
    pub command: Option<Vec<String>>,
    /// The name of the script's file.
    pub file: String,
    /// Paths that jobs may read and run besides the system's programs.
    pub read: Vec<PathBuf>,
    /// The maximum memory for the data of one process, in bytes.
    pub memory: u64,
    /// The Python interpreter, as a path or a name in PATH.
    pub interpreter: Option<String>,
    /// The virtual environment for Python.
    pub venv: Option<PathBuf>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    command: Option<Vec<String>>,
    #[serde(default = "Table::file")]
    file: String,
    #[serde(default)]
    read: Vec<PathBuf>,
    #[serde(default = "Table::memory", deserialize_with = "value::size")]
    memory: u64,
    interpreter: Option<String>,
    venv: Option<PathBuf>,
}

impl Table {
    fn file() -> String {
        "script".to_owned()
    }

    const fn memory() -> u64 {
        ScriptTypeSettings::DEFAULT_MEMORY
    }
}

impl ScriptTypeSettings {
    /// The default memory for the data of one process of a job, in bytes. Some interpreters need a hundred megabytes to
    /// start.
    pub const DEFAULT_MEMORY: u64 = 512 << 20;

    /// Returns a type of which only the name is given.
    pub(crate) fn unconfigured(name: ScriptType) -> Self {
        Self { name, command: None, file: Table::file(), read: Vec::new(), memory: Self::DEFAULT_MEMORY, interpreter: None, venv: None }
    }

    fn named(name: &str) -> Result<Self, String> {
        name.parse().map(Self::unconfigured).map_err(|error| format!("{error}"))
    }

    fn of_table(name: &str, table: &Value) -> Result<Self, String> {
        let of = |why: String| format!("{name}: {why}");
        let Table { command, file, read, memory, interpreter, venv } = value::table(table, "the key").map_err(of)?;
        let script_type = Self { command, file, read, memory, interpreter, venv, ..Self::named(name)? };
        script_type.fault().map_or(Ok(script_type), |fault| Err(of(fault)))
    }

    /// What it says about the program that runs its scripts.
    pub(crate) fn program(&self) -> ProgramSettings<'_> {
        ProgramSettings {
            script_type: &self.name,
            command: self.command.as_deref(),
            file: &self.file,
            readable: &self.read,
            memory: self.memory,
            interpreter: self.interpreter.as_deref(),
            venv: self.venv.as_deref(),
            pool_venv: None,
        }
    }

    /// Whether it names the program, which then must exist.
    pub(crate) fn names_program(&self) -> bool {
        self.command.is_some() || self.interpreter.is_some() || self.venv.is_some()
    }

    /// Whether its scripts are Python.
    pub fn is_python(&self) -> bool {
        Python::is_for(&self.program())
    }

    /// Describes the first fault of the type on its own.
    fn fault(&self) -> Option<String> {
        if self.name.is_built_in() {
            return Some("this type is built in, and nothing else can run it; take another name".to_owned());
        }
        if self.command.is_some() && (self.interpreter.is_some() || self.venv.is_some()) {
            return Some("interpreter and venv are for Python, which needs no command; give one or the other".to_owned());
        }
        if self.interpreter.is_some() && self.venv.is_some() {
            return Some("a virtual environment (venv) has its interpreter; leave interpreter out".to_owned());
        }
        if let Some(venv) = self.venv.as_ref().filter(|venv| venv.is_relative()) {
            return Some(format!("venv: {:?} is not a whole path", venv.display().to_string()));
        }
        match self.command.as_deref() {
            None if self.is_python() && self.file != Table::file() => {
                return Some("file: scripts in Python have the name script.py".to_owned());
            }
            None => {}
            Some([]) => return Some("command names no program".to_owned()),
            Some([program, ..]) if program.contains("{script}") => {
                return Some(
                    "command names the script as its program; [\"env\", \"{script}\"] runs it by what its first line names (#!)".to_owned(),
                );
            }
            Some([program, ..]) if program.is_empty() => return Some("command names no program".to_owned()),
            Some([_, arguments @ ..]) if !arguments.iter().any(|argument| argument.contains("{script}")) => {
                return Some(
                    "command does not say where the script goes; an argument has to have {script} in it, for the path of its file"
                        .to_owned(),
                );
            }
            Some(_) => {}
        }
        if self.file.is_empty() || self.file.contains('/') || [".", "..", ARGS].contains(&self.file.as_str()) {
            return Some(format!("file is {:?}, which the script's file cannot be called", self.file));
        }
        if let Some(path) = self.read.iter().find(|path| path.is_relative()) {
            return Some(format!("read: {:?} is not a whole path", path.display().to_string()));
        }
        if self.memory < LEAST_MEMORY {
            return Some("memory: no interpreter starts with less than 16MB".to_owned());
        }
        None
    }

    /// Returns its table, without values that are the default.
    pub(super) fn shown(&self) -> Vec<(&'static str, serde_json::Value)> {
        let paths = |paths: &[PathBuf]| paths.iter().map(|path| Path::display(path).to_string()).collect::<Vec<_>>();
        let fields = [
            ("interpreter", self.interpreter.as_ref().map(|interpreter| json!(interpreter))),
            ("venv", self.venv.as_ref().map(|venv| json!(venv.display().to_string()))),
            ("command", self.command.as_ref().map(|command| json!(command))),
            ("file", (self.file != Table::file()).then(|| json!(self.file))),
            ("read", (!self.read.is_empty()).then(|| json!(paths(&self.read)))),
            ("memory", (self.memory != Self::DEFAULT_MEMORY).then(|| json!(size_text(self.memory)))),
        ];
        fields.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

/// Parses names, or a table for each.
pub(super) fn script_types<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<ScriptTypeSettings>, D::Error> {
    let value = <Value as Deserialize>::deserialize(from)?;
    let types: Result<Vec<_>, String> = match &value {
        Value::Dict(_, tables) => tables.iter().map(|(name, table)| ScriptTypeSettings::of_table(name, table)).collect(),
        names => value::list(names).map_err(D::Error::custom)?.iter().map(|name| ScriptTypeSettings::named(name)).collect(),
    };
    types.map_err(D::Error::custom)
}
