use std::path::PathBuf;

use clap::{Args, ValueHint};
use serde_json::json;

use super::file::Diagnostic;
use super::spec::read;
use crate::cli::error::script_error::render;
use crate::cli::input::script::name;
use crate::cli::output::{self, Line, Style};
use crate::exit::Exit;

/// The files to check.
#[derive(Debug, Args)]
pub(in crate::cli) struct Check {
    /// The flow files, or - for stdin
    #[arg(value_name = "FILE|-", required = true, value_hint = ValueHint::FilePath)]
    files: Vec<PathBuf>,
}

impl Check {
    /// Reports all faults of each file. Needs no server.
    pub(super) fn main(&self, json: bool) -> anyhow::Result<Exit> {
        let mut found = Vec::new();
        for file in &self.files {
            match read(file) {
                Ok(Ok(_)) => {}
                Ok(Err(faults)) => found.extend(faults.into_iter().map(|fault| (name(file), fault))),
                Err(error) => found.push((name(file), Diagnostic { at: None, message: format!("{error:#}"), script: None })),
            }
        }
        if json {
            let told = |(file, fault): &(String, Diagnostic)| {
                let (line, column) = fault.at.unzip();
                json!({ "file": file, "line": line, "column": column, "message": fault.message, "error": fault.script.as_ref().map(|script| &script.1) })
            };
            output::json(&found.iter().map(told).collect::<Vec<_>>())?;
        } else {
            for (file, fault) in &found {
                show(file, fault)?;
            }
            if found.is_empty() {
                let flows = if self.files.len() == 1 { "1 flow".to_owned() } else { format!("{} flows", self.files.len()) };
                output::aside(format!("{flows}, no mistakes"));
            }
        }
        Ok(if found.is_empty() { Exit::Ok } else { Exit::Other })
    }
}

fn show(file: &str, fault: &Diagnostic) -> anyhow::Result<()> {
    output::line(Line::from(format!("{file}:{fault}")))?;
    let Some((script, error)) = fault.script.as_deref() else { return Ok(()) };
    render(Style::stdout(), "script", script, None, error).into_iter().try_for_each(|line| output::line(Line::from("  ") + line))
}
