//! Rhai's errors as a job's error: kind, position, call stack, and a message of bounded length.

use std::any::Any;

use rhai::{Dynamic, EvalAltResult, LexError, Map, ParseErrorType, Position};

use super::constants::{LINES_BEFORE, is_word};
use super::{convert, text};
use crate::limits::FIXED;
use crate::rhai::functions::functions;
use crate::{Capability, Limits};
use hero_model::{ErrorKind, JobError, Json, Limit, nearest};

/// The maximum length of a message. Rhai's messages can repeat whole strings of the script.
pub(super) const LONGEST_MESSAGE: usize = 2048;
/// The maximum length of the JSON of a thrown value.
pub(super) const LONGEST_DATA: usize = 64 << 10;
/// The maximum length of a name in a call stack; its depth is bounded by the call levels.
const LONGEST_NAME: usize = 128;

/// Converts an error of Rhai.
///
/// Its own limits are kind `limit`: too many nested calls count as `operations`; too many variables and a value that is
/// too large as `memory`; expressions that are too deep, too many functions and literals that are too large, all found
/// before the script runs, as `source`.
pub(super) fn job_error(error: EvalAltResult, limits: &Limits, capabilities: &[Capability]) -> JobError {
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
    let (limit, (line, column)) = (limit_of(&inner), place(position));
    JobError {
        kind: if limit.is_some() { ErrorKind::Limit } else { ErrorKind::Script },
        message: truncate(&message(&inner, limits, capabilities)),
        line,
        column,
        stack,
        limit,
        data: thrown(&inner),
    }
}

/// Returns the line and the column in the script.
pub(super) fn place(position: Position) -> (Option<u32>, Option<u32>) {
    let line = position.line().and_then(|line| u32::try_from(line - LINES_BEFORE.min(line)).ok());
    // Rhai counts columns from 1 and reports none at the start of a line.
    let column = position.line().and_then(|_| u32::try_from(position.position().unwrap_or(1)).ok());
    (line, column)
}

/// Returns the argument of `exit`. If it was called in the closure of a native function, Rhai reports it as an error of
/// that function.
pub(super) fn exited(error: &EvalAltResult) -> Option<Dynamic> {
    match error {
        EvalAltResult::Exit(value, _) => Some(value.clone()),
        EvalAltResult::ErrorInFunctionCall(_, _, cause, _) => exited(cause),
        _ => None,
    }
}

/// Returns the value that a script threw, if it is more than a text.
fn thrown(error: &EvalAltResult) -> Option<Json> {
    let EvalAltResult::ErrorRuntime(value, _) = error else { return None };
    let plain = value.is_unit() || value.is_string() || value.is_char();
    // The message contains the beginning of a value that is too large or has no JSON form.
    let json = if plain { None } else { convert::json_of_thrown(value, LONGEST_DATA).ok() };
    json.and_then(|json| serde_json::from_str(&json).ok())
}

fn limit_of(error: &EvalAltResult) -> Option<Limit> {
    match error {
        EvalAltResult::ErrorTooManyOperations(_) | EvalAltResult::ErrorStackOverflow(_) => Some(Limit::Operations),
        EvalAltResult::ErrorTooManyVariables(_) | EvalAltResult::ErrorDataTooLarge(..) => Some(Limit::Memory),
        EvalAltResult::ErrorParsing(ParseErrorType::ExprTooDeep | ParseErrorType::TooManyFunctions, _) => Some(Limit::Source),
        _ => None,
    }
}

/// The message without the position, which has separate fields. A text that a script threw is the message itself.
fn message(error: &EvalAltResult, limits: &Limits, capabilities: &[Capability]) -> String {
    match error {
        EvalAltResult::ErrorRuntime(thrown, _) if thrown.is_unit() => "the script threw an error".into(),
        EvalAltResult::ErrorRuntime(thrown, _) => {
            let told = thrown.read_lock::<Map>().and_then(|map| map.get("message").filter(|message| message.is_string()).map(shown));
            told.unwrap_or_else(|| shown(thrown))
        }
        EvalAltResult::ErrorIndexNotFound(index, _) => format!("Invalid index: {}", shown(index)),
        EvalAltResult::ErrorStackOverflow(_) => format!("functions call each other more than {} levels deep ({FIXED})", limits.call_levels),
        EvalAltResult::ErrorTooManyVariables(_) => format!("more than {} variables ({FIXED})", limits.variables),
        // Our own message, unchanged.
        EvalAltResult::ErrorDataTooLarge(what, _) => what.clone(),
        EvalAltResult::ErrorParsing(ParseErrorType::TooManyFunctions, _) => format!("more than {} functions ({FIXED})", limits.functions),
        EvalAltResult::ErrorParsing(ParseErrorType::ExprTooDeep, _) => {
            format!("an expression is nested deeper than {} ({FIXED})", limits.expression_depth)
        }
        EvalAltResult::ErrorParsing(wrong, _) => match (lacking(wrong), hint(wrong)) {
            (Some(lacking), _) => lacking.to_owned(),
            (None, Some(hint)) => format!("{error}; {hint}"),
            (None, None) => error.to_string(),
        },
        EvalAltResult::ErrorFunctionNotFound(call, _) => {
            not_granted(call, capabilities).unwrap_or_else(|| format!("{}{}", script_types(&error.to_string()), as_defined(call)))
        }
        EvalAltResult::ErrorMismatchDataType(..) | EvalAltResult::ErrorMismatchOutputType(..) | EvalAltResult::ErrorIndexingType(..) => {
            script_types(&error.to_string())
        }
        EvalAltResult::ErrorModuleNotFound(name, _) => no_namespace(name),
        EvalAltResult::ErrorDotExpr(text, _) if text.ends_with("'()'") => format!("{text}; `?.` passes over what is not there"),
        EvalAltResult::ErrorPropertyNotFound(name, _) => {
            format!("the map has no {}, and that is an error here (script_strict); `in` asks whether it has", cut(name, LONGEST_NAME))
        }
        EvalAltResult::ErrorNonPureMethodCallOnConstant(..) => format!("{error}; change a copy: let mine = …"),
        EvalAltResult::ErrorDataRace(..) => format!("{error}; a closure uses the value whose method runs it, so copy that first"),
        error => error.to_string(),
    }
}

/// Returns which scripts have the called function, if this script lacks its capability.
fn not_granted(call: &str, capabilities: &[Capability]) -> Option<String> {
    let name = call.split(" (").next().unwrap_or_default();
    let needed = functions().iter().find(|function| function.name == name)?.capability?;
    // Scripts of type osis use the objects, and nobody has to set anything for a type that has it by default.
    let other = if needed == Capability::Fs && capabilities.contains(&Capability::Objects) {
        "; scripts of type sal have it by default"
    } else {
        ""
    };
    (!capabilities.contains(&needed)).then(|| format!("{name} is for {}{other}", needed.who()))
}

/// Returns the signature of the function that a failed call may mean, if known.
pub(super) fn as_defined(call: &str) -> String {
    let name = call.split(" (").next().unwrap_or_default();
    let Some((namespace, _)) = name.split_once("::") else {
        let known = functions().iter().find(|function| function.name == name && function.capability.is_some());
        return known.map_or_else(String::new, |function| format!("; there is {}", function.signature()));
    };
    let of_namespace = || functions().iter().filter(|function| function.parts().0 == Some(namespace));
    let near = nearest(name, of_namespace().map(|function| &function.name));
    let function = near.and_then(|near| of_namespace().find(|function| function.name == *near));
    function.map_or_else(String::new, |function| format!("; there is {}", function.signature()))
}

/// Replaces the names of Rust types in a message of Rhai by their names in scripts.
fn script_types(message: &str) -> String {
    let message = message.replace("&str | ImmutableString | String", "string").replace("&str", "string");
    let mut named = String::with_capacity(message.len());
    let mut rest = message.as_str();
    while !rest.is_empty() {
        let (word, behind) = rest.split_at(rest.find(|letter| !is_word(letter)).unwrap_or(rest.len()));
        named.push_str(match word {
            "i64" => "int",
            "f64" => "float",
            "Decimal" => "decimal",
            "ImmutableString" => "string",
            word => word,
        });
        let (between, behind) = behind.split_at(behind.find(is_word).unwrap_or(behind.len()));
        named.push_str(between);
        rest = behind;
    }
    named
}

/// The message that a script has no such namespace, and which scripts have it, if known.
pub(super) fn no_namespace(name: &str) -> String {
    let known = functions().iter().find(|function| function.parts().0 == Some(name)).and_then(|function| function.capability);
    let who = known.map_or_else(String::new, |needed| format!("; it is for {}", needed.who()));
    format!("this script has no {}::{who}", cut(name, LONGEST_NAME))
}

/// The message for a word of Rhai that is disabled here.
fn lacking(wrong: &ParseErrorType) -> Option<&'static str> {
    match wrong {
        ParseErrorType::Reserved(word) if word.as_str() == "import" => {
            Some("scripts cannot import: there are no modules; write the functions into the script, and give data as args")
        }
        ParseErrorType::BadInput(LexError::ImproperSymbol(word, _)) if word == "eval" => {
            Some("scripts have no eval: texts are not run; give what varies as args")
        }
        _ => None,
    }
}

/// Suggests an alternative for users of other languages.
fn hint(wrong: &ParseErrorType) -> Option<&'static str> {
    match wrong {
        ParseErrorType::BadInput(LexError::MalformedChar(_)) => Some("texts stand in \"double quotes\" or `backticks`"),
        ParseErrorType::Reserved(word) => match word.as_str() {
            "var" => Some("variables are made with let"),
            "null" | "nil" => Some("nothing is written ()"),
            _ => None,
        },
        _ => None,
    }
}

fn shown(value: &Dynamic) -> String {
    let mut out = String::new();
    // A truncated text is truncated once more below.
    let _ = text::shown(value, &mut out, 2 * LONGEST_MESSAGE);
    out
}

fn function_name(name: &str) -> String {
    if name.starts_with("anon$") { "closure".into() } else { cut(name, LONGEST_NAME) }
}

/// Truncates `text` to the maximum length of a message.
pub(super) fn truncate(text: &str) -> String {
    cut(text, LONGEST_MESSAGE)
}

fn cut(text: &str, most: usize) -> String {
    if text.len() <= most { text.to_owned() } else { format!("{}…", &text[..text::boundary(text, most - '…'.len_utf8())]) }
}

/// Returns the message of a panic.
pub(super) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_called_as_scripts_call_them() {
        for (rhai, told) in [
            ("Function not found: f (i64, &str | ImmutableString | String, f64)", "Function not found: f (int, string, float)"),
            ("Data type incorrect: i64 (expecting bool)", "Data type incorrect: int (expecting bool)"),
            ("Function not found: i64_of (Decimal, &str)", "Function not found: i64_of (decimal, string)"),
            ("i64", "int"),
            ("", ""),
            ("Function not found: & (bool, i64)", "Function not found: & (bool, int)"),
            ("é i64", "é int"),
        ] {
            assert_eq!(script_types(rhai), told);
        }
    }

    #[test]
    fn a_script_of_type_osis_that_wants_files_is_told_the_type_that_has_them() {
        let told = |call, capabilities: &[Capability]| not_granted(call, capabilities).unwrap();
        let osis = [Capability::Objects, Capability::Jobs];
        let files = "file_write is for pools and contexts with the grant fs";
        assert_eq!(told("file_write (string, string)", &osis), format!("{files}; scripts of type sal have it by default"));
        assert_eq!(told("file_write (string, string)", &[Capability::Jobs]), files);
        assert_eq!(told("http_get (string)", &osis), "http_get is for pools and contexts with the grant net");
    }
}
