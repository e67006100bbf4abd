//! Builds a script's `env` from the command line. Values can come from elsewhere, because other users of the machine
//! can see the command line.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::pair::once;
use super::script::name;
use crate::exit::Usage;
use crate::read_text::read_text;

/// The options that make `env`.
#[derive(Debug, Clone, Default, Args)]
pub(in crate::cli) struct EnvironmentArgs {
    /// One entry of `env`, masked in logs unless `HERO_PLAIN` names it. NAME alone takes the value from the
    /// environment, so that `ps` does not show it
    #[arg(long = "env", value_name = "NAME[=VALUE]", value_parser = entry)]
    env_vars: Vec<(String, Option<String>)>,
    /// A file with one NAME=VALUE per line (# begins a comment), or - for stdin. --env takes precedence
    #[arg(long, value_name = "FILE|-", value_hint = ValueHint::FilePath)]
    env_file: Vec<PathBuf>,
}

fn entry(text: &str) -> Result<(String, Option<String>), String> {
    let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value.to_owned())));
    if name.is_empty() { Err("a name is expected, or a name, = and a value".to_owned()) } else { Ok((name.to_owned(), value)) }
}

impl EnvironmentArgs {
    /// Returns the combined variables.
    pub(in crate::cli) fn variables(&self) -> anyhow::Result<BTreeMap<String, String>> {
        let mut variables = BTreeMap::new();
        for file in &self.env_file {
            let text = read_text("file of --env-file", file)?;
            variables.extend(of_file(&text).map_err(|(line, reason)| Usage(format!("{}:{line}: {reason}", name(file))))?);
        }
        for (name, value) in once("--env", self.env_vars.clone())? {
            let value = value.map_or_else(|| of_environment(&name).map_err(|reason| Usage(format!("--env {name}: {reason}"))), Ok)?;
            variables.insert(name, value);
        }
        Ok(variables)
    }
}

/// Returns the value of an environment variable of this process.
fn of_environment(name: &str) -> Result<String, String> {
    std::env::var(name).map_err(|error| match error {
        std::env::VarError::NotPresent => {
            format!("there is no variable {name} in the environment; --env {name}=VALUE gives one, --env {name}= an empty one")
        }
        std::env::VarError::NotUnicode(_) => format!("the variable {name} in the environment is not UTF-8 text"),
    })
}

/// Parses the entries of a file. An error has the line number and the reason. Quotes around a whole value are removed.
fn of_file(text: &str) -> Result<BTreeMap<String, String>, (usize, String)> {
    let mut variables = BTreeMap::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").map_or(line, str::trim_start);
        let (name, value) = match line.split_once('=') {
            Some((name, value)) if !name.trim().is_empty() => (name.trim(), unquoted(value.trim()).to_owned()),
            Some(_) => return Err((number, "a name is expected before the =".to_owned())),
            None if line.contains(char::is_whitespace) => {
                return Err((number, "NAME=VALUE is expected, or the NAME of a variable here".to_owned()));
            }
            None => (line, of_environment(line).map_err(|reason| (number, reason))?),
        };
        if variables.insert(name.to_owned(), value).is_some() {
            return Err((number, format!("{name} is given twice; give it once")));
        }
    }
    Ok(variables)
}

fn unquoted(value: &str) -> &str {
    let without = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    without('"').or_else(|| without('\'')).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_variables_is_read_line_by_line() {
        let made = of_file("# a comment\n\nA=1\n export B = \"two words\" \nC='x=y'\nD=\nE=\"\nF=a # b\n").unwrap();
        let made: Vec<(&str, &str)> = made.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(made, [("A", "1"), ("B", "two words"), ("C", "x=y"), ("D", ""), ("E", "\""), ("F", "a # b")]);
        assert_eq!(of_file("A=1\n=2").unwrap_err().0, 2);
        assert_eq!(of_file("A=1\n\nA=2").unwrap_err(), (3, "A is given twice; give it once".to_owned()));
        assert_eq!(of_file("NO_VARIABLE_IS_CALLED_SO").unwrap_err().0, 1);
        assert_eq!(of_file("bad line").unwrap_err(), (1, "NAME=VALUE is expected, or the NAME of a variable here".to_owned()));
    }
}
