//! Rhai's errors as a job's error: kind, place, call stack, and a message of bounded length.

use std::any::Any;

use rhai::{Dynamic, EvalAltResult, ParseErrorType, Position};

use super::text;
use crate::engine::Limits;
use crate::model::{ErrorKind, JobError, Limit};

/// Rhai's messages can echo whole strings of the script.
const LONGEST_MESSAGE: usize = 2048;
/// The longest name in a call stack; its depth is bounded by the call levels.
const LONGEST_NAME: usize = 128;

/// What Rhai says went wrong.
///
/// Its own limits are kind `limit`: too many nested calls count as `operations`; too many variables and too large a value as
/// `memory`; expressions too deep, too many functions and literals too large, all found before the script runs, as `source`.
pub(super) fn job_error(error: EvalAltResult, limits: &Limits) -> JobError {
    let mut stack = Vec::new();
    let mut outer = Position::NONE;
    let mut inner = error;
    loop {
        match inner {
            EvalAltResult::ErrorInFunctionCall(name, _, cause, position) => {
                outer = position;
                stack.push(function_name(&name));
                inner = *cause;
            }
            EvalAltResult::ErrorInModule(_, cause, position) => {
                outer = position;
                inner = *cause;
            }
            _ => break,
        }
    }
    stack.reverse();
    let position = Some(inner.take_position()).filter(|position| !position.is_none()).unwrap_or(outer);
    let limit = limit_of(&inner);
    JobError {
        kind: if limit.is_some() { ErrorKind::Limit } else { ErrorKind::Script },
        message: truncate(&message(&inner, limits)),
        line: position.line().and_then(|line| u32::try_from(line).ok()),
        // Rhai counts columns from 1 and says none at the start of a line.
        column: position.line().and_then(|_| u32::try_from(position.position().unwrap_or(1)).ok()),
        stack,
        limit,
    }
}

fn limit_of(error: &EvalAltResult) -> Option<Limit> {
    match error {
        EvalAltResult::ErrorTooManyOperations(_) | EvalAltResult::ErrorStackOverflow(_) => Some(Limit::Operations),
        EvalAltResult::ErrorTooManyVariables(_) | EvalAltResult::ErrorDataTooLarge(..) => Some(Limit::Memory),
        EvalAltResult::ErrorParsing(
            ParseErrorType::ExprTooDeep | ParseErrorType::TooManyFunctions | ParseErrorType::LiteralTooLarge(..),
            _,
        ) => Some(Limit::Source),
        _ => None,
    }
}

/// The message without the place, which has fields of its own. What a script threw stands for itself.
fn message(error: &EvalAltResult, limits: &Limits) -> String {
    match error {
        EvalAltResult::ErrorRuntime(thrown, _) if thrown.is_unit() => "the script threw an error".into(),
        EvalAltResult::ErrorRuntime(thrown, _) => shown(thrown),
        EvalAltResult::ErrorIndexNotFound(index, _) => format!("Invalid index: {}", shown(index)),
        EvalAltResult::ErrorStackOverflow(_) => format!("functions call each other more than {} levels deep", limits.call_levels),
        EvalAltResult::ErrorTooManyVariables(_) => format!("more than {} variables", limits.variables),
        EvalAltResult::ErrorParsing(ParseErrorType::TooManyFunctions, _) => format!("more than {} functions", limits.functions),
        error => error.to_string(),
    }
}

fn shown(value: &Dynamic) -> String {
    let mut out = String::new();
    // A text that was cut is cut once more below.
    let _ = text::shown(value, &mut out, 2 * LONGEST_MESSAGE);
    out
}

fn function_name(name: &str) -> String {
    if name.starts_with("anon$") { "closure".into() } else { cut(name, LONGEST_NAME) }
}

/// `text`, but no longer than a message may be.
pub(super) fn truncate(text: &str) -> String {
    cut(text, LONGEST_MESSAGE)
}

fn cut(text: &str, most: usize) -> String {
    if text.len() <= most { text.to_owned() } else { format!("{}…", &text[..text::boundary(text, most - '…'.len_utf8())]) }
}

/// What a panic said.
pub(super) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
