//! HeroScript, the second notation of scripts: actions such as `!!payment.add person:fatayera`, which run in order.
//!
//! It is not converted to Rhai text. Each action is one call of a function, whose parameters are found by their names
//! in the reference of functions.

mod call;
#[cfg(any(test, feature = "fuzzing"))]
pub(super) mod fuzzing;
mod parse;
mod print;
#[cfg(test)]
mod tests;

use rhai::{Array, Dynamic, Engine, EvalAltResult};

use super::failure;
use super::run::Run;
use crate::Capability;
use call::Call;
use hero_model::{ErrorKind, JobError};

/// Runs all actions of a script, one after another, and returns the array of their results. The first failure ends the
/// script.
pub(super) fn run(source: &str, engine: &Engine, run: &Run) -> Result<Dynamic, JobError> {
    let script = parse::parse(source)?;
    let ended = |error: Box<EvalAltResult>| failure::job_error(*error, &run.limits, &run.capabilities);
    // All are checked before the first one runs. For thousands this takes a while.
    let calls = script.actions.iter().map(|action| {
        run.go_on().map_err(ended)?;
        Ok(Call::new(action, &run.capabilities)?)
    });
    let calls = calls.collect::<Result<Vec<_>, JobError>>()?;
    let results = calls.into_iter().map(|call| call.run(engine, run)).collect::<Result<Array, _>>()?;
    Ok(results.into())
}

/// Returns the errors of a script that can be found before it runs.
pub(super) fn check(source: &str, capabilities: &[Capability]) -> Result<(), JobError> {
    let script = parse::parse(source)?;
    script.actions.iter().try_for_each(|action| Call::new(action, capabilities).map(drop))?;
    Ok(())
}

/// A script in this notation.
#[derive(Debug, Clone, PartialEq)]
struct Script {
    actions: Vec<Action>,
    /// The comments after the last action.
    comments: Vec<String>,
}

/// One action.
#[derive(Debug, Clone)]
struct Action {
    /// The number of exclamation marks before it, 1 to 4. They do not change how it runs.
    marks: usize,
    /// The object of the action; `core` if only the action is named. In lower case, like the other names.
    actor: String,
    /// The name of the action.
    name: String,
    /// The values without a key, in order.
    positional: Vec<Value>,
    /// The values with their keys, in order.
    arguments: Vec<(String, Value)>,
    /// The comments before it and in it.
    comments: Vec<String>,
    /// Its position.
    position: Position,
}

impl PartialEq for Action {
    /// Two actions are equal regardless of their positions.
    fn eq(&self, other: &Self) -> bool {
        (self.marks, &self.actor, &self.name) == (other.marks, &other.actor, &other.name)
            && (&self.positional, &self.arguments, &self.comments) == (&other.positional, &other.arguments, &other.comments)
    }
}

/// A value of an action.
#[derive(Debug, Clone, PartialEq)]
enum Value {
    /// A word without quotes. It may be a number or a boolean.
    Word(String),
    /// A text in quotes.
    Text(String),
    /// Values separated by commas, or in brackets.
    List(Vec<Value>),
}

/// A line and a column, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Position {
    line: u32,
    column: u32,
}

impl Position {
    /// Sets the position of an error.
    fn of(self, error: JobError) -> JobError {
        JobError { line: Some(self.line), column: Some(self.column), ..error }
    }
}

/// An error in a script, with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SyntaxError {
    position: Position,
    message: String,
}

impl From<SyntaxError> for JobError {
    fn from(error: SyntaxError) -> Self {
        error.position.of(Self::new(ErrorKind::Script, failure::truncate(&error.message)))
    }
}

/// The actor of an action without one.
const CORE: &str = "core";

/// Whether a script is written in this notation: its first line that is no comment is `!!word.word`, or `!!word`
/// followed by white space or the end. `!!true && x` is Rhai.
pub fn is_heroscript(source: &str) -> bool {
    let comment = |line: &&str| line.trim().is_empty() || line.trim_start().starts_with("//") || line.starts_with("#!");
    let Some(first) = source.lines().find(|line| !comment(line)) else { return false };
    let Some(rest) = first.strip_prefix("!!") else { return false };
    let (actor, behind) = word(rest);
    let (action, behind) = behind.strip_prefix('.').map_or(("", behind), word);
    let dotted = rest[actor.len()..].starts_with('.');
    let ended = behind.is_empty() || behind.starts_with(char::is_whitespace);
    !actor.is_empty() && (!dotted || !action.is_empty()) && ended && !is_rhai(behind)
}

/// Splits a text after its leading name.
fn word(text: &str) -> (&str, &str) {
    text.split_at(text.find(|letter: char| !is_name(letter)).unwrap_or(text.len()))
}

/// Whether the text after `!!word` is the rest of a Rhai expression.
fn is_rhai(behind: &str) -> bool {
    let behind = behind.trim_start();
    let operator = behind.starts_with(['&', '|', '=', '+', '*', '<', '>', '?', ';', '^', '%']) || behind.starts_with("!=");
    operator || behind.starts_with("in ") || (behind.starts_with(['-', '/']) && !behind.starts_with("//"))
}

/// Whether a name of an actor, an action or a key may contain this character.
fn is_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}
