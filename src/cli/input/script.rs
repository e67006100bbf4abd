//! Reads scripts and other texts to send.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};

use super::typed::{quoted, typed};
use crate::exit::Usage;
use crate::read_text::read_text;

/// A script, from a file or given directly.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(in crate::cli) struct Source {
    /// The file of the script, or - for stdin
    #[arg(value_name = "FILE|-", value_hint = ValueHint::FilePath)]
    file: Option<PathBuf>,
    /// The text of the script
    #[arg(long, short = 'e', value_name = "TEXT")]
    script: Option<String>,
}

impl Source {
    /// Returns the script.
    pub(in crate::cli) fn read(&self) -> anyhow::Result<String> {
        match (&self.script, &self.file) {
            (Some(script), _) => Ok(script.clone()),
            (None, Some(file)) if looks_like_script(file) => {
                let script = file.display();
                let quoted = quoted(&script.to_string());
                Err(Usage(format!("{script}: no such file; a script itself goes after -e: `{} -e {quoted}`", typed())).into())
            }
            (None, Some(file)) => read_script(file),
            (None, None) => anyhow::bail!("there is no script"), // The arguments require one of them.
        }
    }

    /// Returns the file of the script, if it is in one that can change.
    pub(in crate::cli) fn file(&self) -> Option<&Path> {
        self.file.as_deref().filter(|file| *file != Path::new("-"))
    }

    /// Returns the name of the script in errors.
    pub(in crate::cli) fn name(&self) -> String {
        match (&self.script, &self.file) {
            (Some(_), _) => "-e".to_owned(),
            (None, Some(file)) => name(file),
            (None, None) => "stdin".to_owned(),
        }
    }
}

/// Whether a file that does not exist is rather the text of a script.
fn looks_like_script(file: &Path) -> bool {
    let text = file.to_string_lossy();
    let is_text =
        text.contains(|c: char| c.is_whitespace() || "()[]{}=;\"'`*<>|&".contains(c)) || text.bytes().all(|byte| byte.is_ascii_digit());
    is_text && !file.exists()
}

/// Returns the name of a file in errors.
pub(in crate::cli) fn name(file: &Path) -> String {
    if file == Path::new("-") { "stdin".to_owned() } else { file.display().to_string() }
}

/// Reads a script from a file, or from stdin for `-`.
pub(in crate::cli) fn read_script(path: &Path) -> anyhow::Result<String> {
    read_text("script", path)
}

/// Turns a first line that names the program for the shell into a Rhai comment. The line is kept, so that errors have
/// the right line number.
pub(in crate::cli) fn as_rhai(script: String) -> String {
    match script.strip_prefix("#!") {
        Some(rest) => format!("//{rest}"),
        None => script,
    }
}
