use std::path::PathBuf;

use clap::{Args, ValueHint};
use serde_json::json;

use super::choices::Types;
use super::exit::{Exit, Usage};
use super::output::{self, Style};
use super::script::{as_rhai, name, read_script};
use super::script_error::render;
use crate::model::{JobError, ScriptType};

/// Which scripts to compile.
#[derive(Debug, Args)]
pub(super) struct Check {
    /// The files of the scripts, or - for stdin
    #[arg(value_name = "FILE|-", required = true, value_hint = ValueHint::FilePath)]
    files: Vec<PathBuf>,
    /// The script type of their jobs
    #[arg(long = "type", value_name = "TYPE", value_parser = Types, hide_possible_values = true, default_value = "osis")]
    script_type: ScriptType,
}

impl Check {
    /// Compiles all files, in this process: they are the user's own, and no server is needed. Says of each what is wrong with it.
    pub(super) fn main(&self, json: bool) -> anyhow::Result<Exit> {
        if !self.script_type.is_built_in() {
            return Err(Usage(format!("scripts of type {} are not compiled here, only those of osis and sal", self.script_type)).into());
        }
        let mut found = Vec::new();
        for file in &self.files {
            let script = as_rhai(read_script(file)?);
            if let Err(error) = crate::engine::check(&script, crate::engine::Names::Checked) {
                found.push((name(file), script, error));
            }
        }
        if json {
            let found: Vec<_> = found.iter().map(|(file, _, error)| json!({ "file": file, "error": error })).collect();
            output::json(&found)?;
        } else {
            show(&found)?;
        }
        Ok(if found.is_empty() { Exit::Ok } else { Exit::Other })
    }
}

fn show(found: &[(String, String, JobError)]) -> anyhow::Result<()> {
    for (file, script, error) in found {
        for line in render(Style::stdout(), file, script, None, error) {
            output::line(line)?;
        }
    }
    Ok(())
}
