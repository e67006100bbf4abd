//! Reads scripts and other texts to send.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, ValueHint};

/// How many bytes of a script are read at most. The limit of the server is lower.
const MAX_SCRIPT: u64 = 16 << 20;

/// A script, from a file or as it is.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(super) struct Source {
    /// The script's file, or - for stdin
    #[arg(value_name = "FILE|-", value_hint = ValueHint::FilePath)]
    file: Option<PathBuf>,
    /// The script itself
    #[arg(long, short = 'e', value_name = "TEXT")]
    script: Option<String>,
}

impl Source {
    /// The script.
    pub(super) fn read(&self) -> anyhow::Result<String> {
        match (&self.script, &self.file) {
            (Some(script), _) => Ok(script.clone()),
            (None, Some(file)) => read_script(file),
            (None, None) => anyhow::bail!("there is no script"), // The arguments require one of them.
        }
    }

    /// The file of the script, if it is in one that can change.
    pub(super) fn file(&self) -> Option<&Path> {
        self.file.as_deref().filter(|file| *file != Path::new("-"))
    }

    /// What it is called where its errors are shown.
    pub(super) fn name(&self) -> String {
        match (&self.script, &self.file) {
            (Some(_), _) => "-e".to_owned(),
            (None, Some(file)) => name(file),
            (None, None) => "stdin".to_owned(),
        }
    }
}

/// What a file is called where errors in it are shown.
pub(super) fn name(file: &Path) -> String {
    if file == Path::new("-") { "stdin".to_owned() } else { file.display().to_string() }
}

/// Reads a script from a file, or from stdin for `-`.
pub(super) fn read_script(path: &Path) -> anyhow::Result<String> {
    read_text("script", path)
}

/// A script in Rhai whose first line, if it names the program for the shell, is a comment. It is kept, so that errors name the right line.
pub(super) fn as_rhai(script: String) -> String {
    match script.strip_prefix("#!") {
        Some(rest) => format!("//{rest}"),
        None => script,
    }
}

/// Reads a text from a file, or from stdin for `-`; `what` it is, in a word or two.
pub(super) fn read_text(what: &str, path: &Path) -> anyhow::Result<String> {
    read_at_most(MAX_SCRIPT, what, path)
}

/// The same for a text of at most so many bytes.
pub(super) fn read_at_most(most: u64, what: &str, path: &Path) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    let said = if path == Path::new("-") { format!("the {what} from stdin") } else { format!("the {what} {}", path.display()) };
    if path == Path::new("-") {
        std::io::stdin().lock().take(most + 1).read_to_end(&mut bytes).with_context(|| format!("{said} cannot be read"))?;
    } else {
        let file = std::fs::File::open(path).with_context(|| format!("{said} cannot be opened"))?;
        file.take(most + 1).read_to_end(&mut bytes).with_context(|| format!("{said} cannot be read"))?;
    }
    anyhow::ensure!(bytes.len() as u64 <= most, "{said} has more than {} MB", most >> 20);
    let text = String::from_utf8(bytes).map_err(|error| anyhow::anyhow!("{said} is not UTF-8 text: {}", error.utf8_error()))?;
    match text.strip_prefix('\u{feff}') {
        Some(rest) => Ok(rest.to_owned()),
        None => Ok(text),
    }
}
