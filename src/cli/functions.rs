use clap::Args;
use serde_json::json;

use super::output::{self, Style};
use crate::cli::input::choices::Types;
use crate::engine::reference::{ScriptFunction, definition_file, functions_of};
use crate::exit::{Exit, Usage};
use crate::model::{ScriptType, nearest};

/// The functions to show.
#[derive(Debug, Args)]
pub(super) struct Functions {
    /// Only functions whose name or group contains this word
    #[arg(value_name = "WORD")]
    word: Option<String>,
    /// Only functions for scripts of this type
    #[arg(long = "type", value_name = "TYPE", value_parser = Types, hide_possible_values = true)]
    script_type: Option<ScriptType>,
    /// Print a definition file for editors with Rhai support (name it hero.d.rhai)
    #[arg(long, conflicts_with_all = ["word", "script_type"])]
    definitions: bool,
}

impl Functions {
    pub(super) fn main(&self, json: bool) -> anyhow::Result<Exit> {
        if self.definitions {
            let definitions = definition_file();
            if json {
                output::json(&json!({ "definitions": definitions }))?
            } else {
                output::document(&definitions)?
            }
            return Ok(Exit::Ok);
        }
        if let Some(script_type) = self.script_type.as_ref().filter(|script_type| !script_type.is_built_in()) {
            return Err(Usage(format!("what scripts of type {script_type} may call is not known here, only of osis and sal")).into());
        }
        let word = self.word.as_ref().map(|word| word.to_lowercase());
        let found = found(self.script_type.as_ref(), word.as_deref());
        if json {
            output::json(&found)?;
        } else {
            show(&found, word.as_deref())?;
        }
        // No match: exits like grep.
        Ok(if found.is_empty() && word.is_some() { Exit::Other } else { Exit::Ok })
    }
}

/// Shows the functions of scripts of a type with a word in their name or group.
pub(super) fn tell(script_type: &ScriptType, word: &str) -> anyhow::Result<()> {
    let word = word.to_lowercase();
    show(&found(Some(script_type), Some(&word)), Some(&word))
}

fn found(script_type: Option<&ScriptType>, word: Option<&str>) -> Vec<&'static ScriptFunction> {
    let has = |function: &ScriptFunction, word: &str| function.name.contains(word) || function.group.to_lowercase().contains(word);
    functions_of(script_type).into_iter().filter(|function| word.is_none_or(|word| has(function, word))).collect()
}

/// Lists functions, with full details of one that is named exactly.
fn show(found: &[&ScriptFunction], word: Option<&str>) -> anyhow::Result<()> {
    let style = Style::stdout();
    if found.is_empty() {
        let word = word.unwrap_or_default();
        let names = functions_of(None).into_iter().map(|function| function.name.as_str()).chain(["print", "debug"]);
        let near = nearest(word, names).map_or_else(String::new, |name| format!("; did you mean {name}?"));
        output::note(format!(
            "no function is named {word}{near}; `hero functions` shows all, and https://rhai.rs/book/lib/ those that are Rhai's own"
        ));
    }
    let mut group = "";
    for function in found {
        if group != function.group {
            if !group.is_empty() {
                output::line("")?;
            }
            group = &function.group;
            let who = function.who().map_or_else(String::new, |who| format!(" (for {who})"));
            output::line(style.bold(group.to_uppercase()) + style.dim(who))?;
        }
        output::line(style.green(function.signature()))?;
        if found.len() == 1 || word == Some(function.name.as_str()) {
            explain(style, function)?;
        } else {
            let first = function.description.split(". ").next().unwrap_or_default().trim_end_matches('.');
            output::paragraph(format!("    {first}"), 4)?;
        }
    }
    Ok(())
}

fn explain(style: Style, function: &ScriptFunction) -> anyhow::Result<()> {
    output::paragraph(format!("    {}", function.description), 4)?;
    if let Some(who) = function.who() {
        output::paragraph(format!("    for {who}"), 4)?;
    }
    if let Some(errors) = &function.errors {
        output::paragraph(format!("    error: {errors}"), 4)?;
    }
    for line in function.example.lines() {
        output::line(style.dim(format!("    {line}")))?;
    }
    match &function.example_result {
        Some(result) => output::line(style.dim(format!("    gives {}", result.as_str()))),
        None => Ok(()),
    }
}
