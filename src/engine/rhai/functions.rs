//! The functions that scripts have besides Rhai's standard package: logs, JSON, the time of day, and texts of lists and numbers.

use std::rc::Rc;

use rhai::{Array, Dynamic, EvalAltResult, FLOAT, FuncRegistration, INT, ImmutableString, Map, Module, NativeCallContext};

use super::overrides::{Native, shown, too_large};
use super::run::Run;
use super::{convert, text};
use crate::model::{LogLevel, Timestamp, exact, tree};

/// How many digits behind the point a number is written with at most. More digits of a float mean nothing.
const DIGITS: INT = 17;

pub(super) fn add(module: &mut Module, run: &Rc<Run>) {
    logs(module, run);
    json(module);
    numbers(module);
    time(module);
    let at = Rc::clone(run);
    FuncRegistration::new("join").set_into_module(module, move |items: &mut Array, between: &str| joined(&at, items, between));
}

fn logs(module: &mut Module, run: &Rc<Run>) {
    let functions =
        [("log_debug", LogLevel::Debug), ("log_info", LogLevel::Info), ("log_warn", LogLevel::Warn), ("log_error", LogLevel::Error)];
    for (name, level) in functions {
        let at = Rc::clone(run);
        FuncRegistration::new(name).with_volatility(true).set_into_module(module, move |value: Dynamic| {
            match value.read_lock::<ImmutableString>() {
                Some(text) => at.log(level, &text),
                None => at.log(level, &shown(&at, |out, cap| text::shown(&value, out, cap))),
            }
        });
    }
}

fn json(module: &mut Module) {
    let to_json = || FuncRegistration::new("to_json");
    to_json()
        .set_into_module(module, |context: NativeCallContext, value: &mut Map| written(&context, |cap| convert::json_of_map(value, cap)));
    to_json().set_into_module(module, |context: NativeCallContext, value: &mut Array| {
        written(&context, |cap| convert::json_of_array(value, cap))
    });
    to_json().set_into_module(module, |context: NativeCallContext, value: Dynamic| written(&context, |cap| convert::json_of(&value, cap)));
    FuncRegistration::new("parse_json").set_into_module(module, |context: NativeCallContext, text: &str| -> Native<Dynamic> {
        let text = exact(text, "the JSON").map_err(|beyond| failed(&context, beyond.to_string()))?;
        let value = tree(&text).map_err(|error| failed(&context, format!("the text is not JSON: {error}")))?;
        // What does not fit has been found in the text; Rhai looks at the size of what it is given.
        Ok(convert::dynamic(&value).unwrap_or(Dynamic::UNIT))
    });
}

fn written(context: &NativeCallContext<'_>, write: impl FnOnce(usize) -> Result<String, convert::Refused>) -> Native<ImmutableString> {
    write(context.engine().max_string_size()).map(ImmutableString::from).map_err(|refused| match refused {
        convert::Refused::TooLarge => too_large("Length of string", context.call_position()),
        refused => failed(context, format!("the value {refused}")),
    })
}

/// An error that a script may catch.
fn failed(context: &NativeCallContext<'_>, message: String) -> Box<EvalAltResult> {
    Box::new(EvalAltResult::ErrorRuntime(message.into(), context.call_position()))
}

fn numbers(module: &mut Module) {
    let digits = |digits: INT| usize::try_from(digits.clamp(0, DIGITS)).unwrap_or(0);
    FuncRegistration::new("to_fixed")
        .set_into_module(module, move |number: FLOAT, places: INT| ImmutableString::from(format!("{number:.*}", digits(places))));
    FuncRegistration::new("to_fixed").set_into_module(module, move |number: INT, places: INT| {
        let places = digits(places);
        let point = if places > 0 { "." } else { "" };
        ImmutableString::from(format!("{number}{point}{}", "0".repeat(places)))
    });
    FuncRegistration::new("round").set_into_module(module, move |number: FLOAT, places: INT| {
        // It is rounded as a text, because a multiplication could overflow.
        format!("{number:.*}", digits(places)).parse::<FLOAT>().unwrap_or(number)
    });
}

fn time(module: &mut Module) {
    FuncRegistration::new("now").with_volatility(true).set_into_module(module, || ImmutableString::from(Timestamp::local().to_string()));
    FuncRegistration::new("now_ms").with_volatility(true).set_into_module(module, || Timestamp::local().as_millis());
}

/// The texts of all elements, as `print` shows them, with a text between them.
fn joined(run: &Run, items: &Array, between: &str) -> ImmutableString {
    shown(run, |out, cap| {
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                text::push(out, between, cap)?;
            }
            text::shown(item, out, cap)?;
        }
        Ok(())
    })
}
