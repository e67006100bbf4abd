use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use serde_json::json;

use super::output::{self, Style};
use crate::cli::error::report::report;
use crate::cli::error::script_error::render;
use crate::cli::input::choices::Types;
use crate::cli::input::language;
use crate::cli::input::script::{as_rhai, name, read_script};
use crate::cli::input::typed::of_flow;
use crate::exit::{Exit, Usage, chain};
use crate::model::{ErrorKind, JobError, ScriptType};

/// The scripts to compile.
#[derive(Debug, Args)]
pub(super) struct Check {
    /// The files of the scripts, or - for stdin
    #[arg(value_name = "FILE|-", required = true, value_hint = ValueHint::FilePath)]
    files: Vec<PathBuf>,
    /// The script type of the jobs [default: by the name of the file, else osis]
    #[arg(long = "type", value_name = "TYPE", value_parser = Types, hide_possible_values = true)]
    script_type: Option<ScriptType>,
}

/// A fault of a file.
enum CheckError {
    /// The file cannot be checked.
    Unknown(anyhow::Error),
    /// The script does not compile.
    Script { script: String, error: JobError },
}

impl Check {
    /// Compiles all files in this process: they are the user's own, and no server is needed. Reports the faults of each
    /// file and continues with the next.
    pub(super) fn main(&self, json: bool) -> anyhow::Result<Exit> {
        if let Some(script_type) = self.script_type.as_ref().filter(|script_type| !script_type.is_built_in()) {
            return Err(not_compiled(script_type).into());
        }
        let found = self.files.iter().flat_map(|file| self.faults(file).into_iter().map(|fault| (file.as_path(), fault)));
        let found: Vec<(&Path, CheckError)> = found.collect();
        if json {
            let found: Vec<_> = found.iter().map(|(file, fault)| json!({ "file": name(file), "error": fault.error() })).collect();
            output::json(&found)?;
        } else {
            found.iter().try_for_each(|(file, fault)| fault.show(&name(file)))?;
            if found.is_empty() {
                let scripts = if self.files.len() == 1 { "1 script".to_owned() } else { format!("{} scripts", self.files.len()) };
                output::aside(format!("{scripts}, no mistakes"));
            }
        }
        Ok(if found.is_empty() { Exit::Ok } else { Exit::Other })
    }

    fn faults(&self, file: &Path) -> Vec<CheckError> {
        let by_name = language::of_file(file).filter(|script_type| self.script_type.is_none() && !script_type.is_built_in());
        if let Some(script_type) = by_name {
            return vec![CheckError::Unknown(anyhow::Error::from(not_compiled(&script_type)).context(name(file)))];
        }
        if let Some(wrong) = of_flow(file).filter(|_| self.script_type.is_none()) {
            return vec![CheckError::Unknown(anyhow::Error::from(Usage(wrong)).context(name(file)))];
        }
        let script = match read_script(file) {
            Ok(script) => as_rhai(script),
            Err(error) => return vec![CheckError::Unknown(error)],
        };
        let errors = crate::engine::check_all(&script, crate::engine::Names::Checked);
        errors.into_iter().map(|error| CheckError::Script { script: script.clone(), error }).collect()
    }
}

fn not_compiled(script_type: &ScriptType) -> Usage {
    Usage(format!("scripts of type {script_type} are not compiled here, only those of osis and sal"))
}

impl CheckError {
    /// Returns the fault in the form for programs.
    fn error(&self) -> JobError {
        match self {
            Self::Unknown(error) => JobError::new(ErrorKind::Unavailable, chain(error)),
            Self::Script { error, .. } => error.clone(),
        }
    }

    fn show(&self, file: &str) -> anyhow::Result<()> {
        match self {
            Self::Unknown(error) => drop(report(error, false)),
            Self::Script { script, error } => render(Style::stdout(), file, script, None, error).into_iter().try_for_each(output::line)?,
        }
        Ok(())
    }
}
