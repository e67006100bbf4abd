use std::collections::HashMap;
use std::sync::LazyLock;

use rhai::{AST, Array, Dynamic, Engine, FnPtr, INT, ImmutableString, Map};

use super::{Action, CORE, SyntaxError, Value};
use crate::Capability;
use crate::rhai::failure;
use crate::rhai::functions::functions;
use crate::rhai::native::excerpt;
use crate::rhai::run::Run;
use crate::script_function::{FunctionParameter, ScriptFunction};
use hero_model::{JobError, nearest};

/// The functions by their joined names. The first of several with the same name counts.
static BY_NAME: LazyLock<HashMap<String, &'static ScriptFunction>> =
    LazyLock::new(|| functions().iter().rev().map(|function| (function.joined(), function)).collect());

/// An action, and the function that it calls with these values.
pub(super) struct Call<'a> {
    action: &'a Action,
    function: &'static ScriptFunction,
    values: Vec<Dynamic>,
}

impl<'a> Call<'a> {
    /// Finds the function of an action, and orders its arguments like the function's parameters.
    pub(super) fn new(action: &'a Action, capabilities: &[Capability]) -> Result<Self, SyntaxError> {
        let function = function_of(action, capabilities)?;
        let parameters = &function.parameters;
        let mut values: Vec<Option<Dynamic>> = vec![None; parameters.len()];
        // Arguments without a parameter go into the function's map parameter, if it has one.
        let mut rest = Map::new();
        let map = parameters.iter().position(|parameter| parameter.kind == "map");
        for (key, value) in &action.arguments {
            match (parameters.iter().position(|parameter| parameter.name == *key), map) {
                (Some(at), _) if values[at].is_some() => return Err(wrong(action, format!("{key} is given twice"))),
                (Some(at), _) => values[at] = Some(converted(action, &parameters[at], value)?),
                (None, Some(_)) => drop(rest.insert(key.as_str().into(), any(value))),
                (None, None) => return Err(wrong(action, format!("{} has no parameter {}", function.signature(), excerpt(key)))),
            }
        }
        if let Some(at) = map.filter(|at| values[*at].is_none()) {
            values[at] = Some(rest.into());
        }
        let mut free: Vec<usize> = (0..parameters.len()).rev().filter(|at| values[*at].is_none()).collect();
        for value in &action.positional {
            let at = free.pop().ok_or_else(|| wrong(action, format!("there are more values than {} takes", function.signature())))?;
            values[at] = Some(converted(action, &parameters[at], value)?);
        }
        // Optional parameters come last.
        let count = values.iter().rposition(Option::is_some).map_or(0, |last| last + 1).max(function.required());
        let values = values.into_iter().take(count).zip(parameters).map(|(value, parameter)| {
            value.ok_or_else(|| wrong(action, format!("{} is missing: {}", parameter.name, function.signature())))
        });
        Ok(Self { action, function, values: values.collect::<Result<_, _>>()? })
    }

    pub(super) fn run(self, engine: &Engine, run: &Run) -> Result<Dynamic, JobError> {
        let called = run
            .go_on()
            .and_then(|()| FnPtr::new(self.function.joined()))
            .and_then(|function| function.call(engine, &AST::empty(), self.values));
        called.map_err(|error| self.action.position.of(failure::job_error(*error, &run.limits, &run.capabilities)))
    }
}

/// Finds the function `actor_action`, or `action` if the actor is not named.
fn function_of(action: &Action, capabilities: &[Capability]) -> Result<&'static ScriptFunction, SyntaxError> {
    let written = if action.actor == CORE { action.name.clone() } else { format!("{}_{}", action.actor, action.name) };
    let core = format!("{CORE}_{}", action.name);
    let of_core = || BY_NAME.get(&core).filter(|_| action.actor == CORE);
    let known = BY_NAME.get(&written).or_else(of_core).copied();
    if let Some(needed) = known.and_then(|function| function.capability).filter(|needed| !capabilities.contains(needed)) {
        return Err(wrong(action, format!("{written} is for {}", needed.who())));
    }
    known.ok_or_else(|| {
        let near = nearest(&written, functions().iter().map(ScriptFunction::joined));
        let near = near.map_or_else(String::new, |name| format!(": did you mean {name}?"));
        wrong(action, format!("there is no function {}{near}", excerpt(&written)))
    })
}

fn wrong(action: &Action, message: String) -> SyntaxError {
    SyntaxError { position: action.position, message }
}

/// Converts a value to the type of a parameter.
fn converted(action: &Action, parameter: &FunctionParameter, value: &Value) -> Result<Dynamic, SyntaxError> {
    let wanted = |what: &str| wrong(action, format!("{} is {}, where {what} belongs", parameter.name, excerpt(&value.to_string())));
    let text = match value {
        Value::Word(text) | Value::Text(text) => Some(text.as_str()),
        Value::List(_) => None,
    };
    let kinds: Vec<&str> = parameter.kind.split('|').collect();
    match kinds[..] {
        ["string", ..] => text.map(|text| ImmutableString::from(text).into()).ok_or_else(|| wanted("a string")),
        ["int"] => text.and_then(|text| text.parse::<INT>().ok()).map(Into::into).ok_or_else(|| wanted("an integer")),
        ["float"] => text.and_then(float).map(Into::into).ok_or_else(|| wanted("a number")),
        ["number"] | ["int", "float"] => text.and_then(number).ok_or_else(|| wanted("a number")),
        ["bool"] => text.and_then(truth).map(Into::into).ok_or_else(|| wanted("true or false")),
        ["array"] => match value {
            Value::List(items) => Ok(items.iter().map(any).collect::<Array>().into()),
            one => Ok(vec![any(one)].into()),
        },
        ["map"] => Err(wanted("a map, whose values are given by name,")),
        _ => Ok(any(value)),
    }
}

/// Converts a value for a parameter of any type: a word that looks like a number or a boolean is one.
fn any(value: &Value) -> Dynamic {
    match value {
        Value::Text(text) => ImmutableString::from(text.as_str()).into(),
        Value::List(items) => items.iter().map(any).collect::<Array>().into(),
        // 1 and 0 are numbers here, and a single letter is a text.
        Value::Word(word) => match (number(word), truth(word).filter(|_| word.len() != 1)) {
            (Some(number), _) => number,
            (None, Some(truth)) => truth.into(),
            (None, None) => ImmutableString::from(word.as_str()).into(),
        },
    }
}

fn number(text: &str) -> Option<Dynamic> {
    text.parse::<INT>().ok().map(Dynamic::from).or_else(|| float(text).map(Dynamic::from))
}

/// Parses a number with digits; `75%` is 0.75.
fn float(text: &str) -> Option<f64> {
    let plain = text.strip_suffix('%').unwrap_or(text);
    let number = plain.parse::<f64>().ok().filter(|number| number.is_finite() && plain.contains(|letter: char| letter.is_ascii_digit()))?;
    Some(if plain.len() < text.len() { number / 100.0 } else { number })
}

fn truth(text: &str) -> Option<bool> {
    match text.to_lowercase().as_str() {
        "true" | "yes" | "y" | "1" | "" => Some(true),
        "false" | "no" | "n" | "0" => Some(false),
        _ => None,
    }
}
