//! Builds a script's `args` from the command line.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Map, Value, json};

use super::pair::{once, pair};
use crate::cli::output::{self, Style};
use crate::exit::Usage;
use crate::model::{exact, plain_zeros, tree};
use crate::read_text::read_text;

/// The options that make `args`.
#[derive(Debug, Clone, Default, Args)]
pub(in crate::cli) struct ArgumentArgs {
    /// One entry of `args`: JSON if it parses as JSON (3, true, [1, 2]), else text
    #[arg(long = "arg", value_name = "KEY=VALUE", value_parser = pair)]
    arg: Vec<(String, String)>,
    /// One entry of `args` that is always text
    #[arg(long = "arg-text", value_name = "KEY=TEXT", value_parser = pair)]
    arg_text: Vec<(String, String)>,
    /// The whole `args` as JSON, or a file with it (@- is stdin)
    #[arg(long, value_name = "JSON|@FILE", value_parser = whole)]
    args: Option<Whole>,
}

/// A whole JSON value.
#[derive(Debug, Clone)]
pub(in crate::cli) enum Whole {
    /// The text as given, checked once.
    Text(String),
    File(PathBuf),
}

/// Parses JSON, or the name of a file with JSON.
pub(in crate::cli) fn whole(text: &str) -> Result<Whole, String> {
    match text.strip_prefix('@') {
        Some("") => Err("the name of a file is expected behind the @".to_owned()),
        Some(file) => Ok(Whole::File(file.into())),
        None => read(text).map(|_| Whole::Text(text.to_owned())),
    }
}

/// Parses JSON, and checks that its whole numbers arrive unchanged.
fn read(text: &str) -> Result<Value, String> {
    let value = tree(&plain_zeros(text)).map_err(|error| format!("not JSON: {}", plain(&error.to_string())))?;
    exact(text, "it").map(|_| value).map_err(|beyond| beyond.to_string())
}

/// Says in other words what the JSON reader says of a word without quotes.
fn plain(said: &str) -> String {
    let expected = r#"a value is expected, such as {"name": 3}, "text" or 3"#;
    said.replace("expected ident", expected).replace("expected value", expected)
}

impl Whole {
    /// Returns the value. Errors use `name`.
    pub(in crate::cli) fn value(self, name: &str) -> anyhow::Result<Value> {
        self.reads(name).map(|(value, _)| value)
    }

    /// Returns the text, in which names may be repeated.
    pub(in crate::cli) fn text(self, name: &str) -> anyhow::Result<String> {
        self.reads(name).map(|(_, text)| text)
    }

    fn reads(self, name: &str) -> anyhow::Result<(Value, String)> {
        let (text, said) = match self {
            Self::Text(text) => (text, "this".to_owned()),
            Self::File(file) => {
                let text = read_text(&format!("file of {name}"), &file)?;
                (text, if file == Path::new("-") { "stdin".to_owned() } else { file.display().to_string() })
            }
        };
        let value = read(&text).map_err(|reason| Usage(format!("{name}: {said} is {reason}")))?;
        Ok((value, text))
    }
}

impl ArgumentArgs {
    /// Returns the combined `args`, if any option is given.
    pub(in crate::cli) fn value(&self) -> anyhow::Result<Option<Value>> {
        let whole = self.args.clone().map(|whole| whole.value("--args")).transpose()?;
        let texts = self.arg_text.iter().map(|(name, text)| (name.clone(), Ok(text.clone())));
        let entries: Vec<(String, Result<String, String>)> =
            self.arg.iter().map(|(name, text)| (name.clone(), Err(text.clone()))).chain(texts).collect();
        if entries.is_empty() {
            return Ok(whole);
        }
        let mut map = match whole {
            None => Map::new(),
            Some(Value::Object(map)) => map,
            Some(_) => return Err(Usage("--arg adds to an object, but --args is something else; use one of them".to_owned()).into()),
        };
        for (name, text) in once("--arg", entries)? {
            let value = match text {
                Ok(text) => Value::String(text),
                Err(text) => entry(&text).map_err(|reason| Usage(format!("--arg {name}: {reason}")))?,
            };
            map.insert(name, value);
        }
        Ok(Some(map.into()))
    }

    /// Warns of entries that were parsed as lists or maps but may have been meant as text. For numbers and words this
    /// is obvious.
    pub(in crate::cli) fn warn_of_json(&self, as_json: bool) {
        for (name, text) in &self.arg {
            let what = match entry(text) {
                Ok(Value::Array(_)) => "list",
                Ok(Value::Object(_)) => "map",
                _ => continue,
            };
            let warning = format!("--arg {name} is read as JSON, a {what}; --arg-text gives it as a text");
            if as_json {
                output::note_json(&json!({ "warning": warning }));
            } else {
                output::note(Style::stderr().dim(format!("-- {warning} --")));
            }
        }
    }
}

/// Parses the value of an entry: JSON, else a text.
fn entry(text: &str) -> Result<Value, String> {
    match tree(&plain_zeros(text)) {
        Ok(value) => exact(text, "it").map(|_| value).map_err(|beyond| beyond.to_string()),
        Err(_) => Ok(Value::String(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(args: Option<Value>, arg: &[(&str, &str)], arg_text: &[(&str, &str)]) -> anyhow::Result<Option<Value>> {
        let owned = |entries: &[(&str, &str)]| entries.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        ArgumentArgs { arg: owned(arg), arg_text: owned(arg_text), args: args.map(|args| Whole::Text(args.to_string())) }.value()
    }

    #[test]
    fn an_argument_is_json_if_it_reads_as_such() {
        let given = [("n", "3"), ("list", "[1]"), ("name", "Ada"), ("zip", "\"0123\"")];
        let args = made(Some(json!({ "n": 1, "m": 2 })), &given, &[("text", "[1]")]).unwrap().unwrap();
        assert_eq!(args, json!({ "n": 3, "m": 2, "list": [1], "name": "Ada", "zip": "0123", "text": "[1]" }));
        assert_eq!(made(Some(read("[-0]").unwrap()), &[], &[]).unwrap().unwrap(), json!([0]));
        assert_eq!(made(None, &[("n", "-0")], &[]).unwrap().unwrap(), json!({ "n": 0 }));
        // JSON inside a text stays text, even with serde_json's private name.
        let marked = r#"{"$serde_json::private::RawValue":"[1]"}"#;
        let args = made(Some(read(marked).unwrap()), &[("a", marked)], &[]).unwrap().unwrap();
        assert_eq!(args.to_string(), r#"{"$serde_json::private::RawValue":"[1]","a":{"$serde_json::private::RawValue":"[1]"}}"#);
        for twice in [made(None, &[("a", "1"), ("a", "2")], &[]), made(None, &[("a", "1")], &[("a", "2")])] {
            assert!(twice.unwrap_err().to_string().contains("--arg a is given twice"));
        }
        assert!(made(Some(json!([1])), &[("a", "b")], &[]).is_err());
        assert!(made(Some(json!([1])), &[], &[("a", "b")]).is_err());
    }
}
