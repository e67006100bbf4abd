//! Replacements for functions of Rhai's standard package that could not be stopped.
//!
//! Reviewed for rhai 1.27.0, to be reviewed at each upgrade: `sleep` ignores every limit and can panic, so it is one of ours (`functions/time.rs`); `replace` grows a
//! string to gigabytes in one step; `pad` never ends where the padding is empty, and does not count what functions have curried; the texts and the JSON of arrays,
//! maps and function pointers repeat shared strings, without a bound, and recurse for ever through cycles. `sin`, `cos` and `tan` of decimal numbers panic beyond those.
//! All other functions check their size first, or grow by a factor that is small enough for the memory limit after them.
//!
//! `m[k] = v` may grow a map above its limits. When such a map becomes part of a text (`"" + m`, or an interpolation), Rhai calls `to_string`, finds the map too large
//! afterwards, and writes its own text, without a bound. So a map or array whose text is too large loses what is in it: its script has ended.

use std::rc::Rc;

use rhai::{Array, Dynamic, FnPtr, FuncRegistration, INT, ImmutableString, Map, Module, NativeCallContext};
use rust_decimal::{Decimal, MathematicalOps as _};

use super::native::{Bounded, Native, array_too_large, failed, string_too_large};
use super::run::{Ended, Run};
use super::text;

pub(super) fn module(run: &Rc<Run>) -> Module {
    let mut module = Module::new();
    replace(&mut module);
    pad(&mut module, run);
    decimals(&mut module);
    texts(&mut module, run);
    module
}

fn replace(module: &mut Module) {
    let register = || FuncRegistration::new("replace").with_purity(false);
    register().set_into_module(module, |context: NativeCallContext, string: &mut ImmutableString, from: &str, to: &str| {
        replaced(&context, string, from, to)
    });
    register().set_into_module(module, |context: NativeCallContext, string: &mut ImmutableString, from: &str, to: char| {
        replaced(&context, string, from, to.encode_utf8(&mut [0; 4]))
    });
    register().set_into_module(module, |context: NativeCallContext, string: &mut ImmutableString, from: char, to: &str| {
        replaced(&context, string, from.encode_utf8(&mut [0; 4]), to)
    });
    register().set_into_module(module, |context: NativeCallContext, string: &mut ImmutableString, from: char, to: char| {
        replaced(&context, string, from.encode_utf8(&mut [0; 4]), to.encode_utf8(&mut [0; 4]))
    });
}

/// Replaces as the standard package does, after computing how long the string will be.
fn replaced(context: &NativeCallContext<'_>, string: &mut ImmutableString, from: &str, to: &str) -> Native<()> {
    if string.is_empty() {
        return Ok(());
    }
    let found = string.matches(from).count();
    let length = (string.len() - found * from.len()).saturating_add(found.saturating_mul(to.len()));
    if length > context.engine().max_string_size() {
        return Err(string_too_large(context));
    }
    *string = string.replace(from, to).into();
    Ok(())
}

fn pad(module: &mut Module, run: &Rc<Run>) {
    let register = || FuncRegistration::new("pad").with_purity(false);
    register().set_into_module(module, |context: NativeCallContext, string: &mut ImmutableString, length: INT, padding: &str| {
        padded_string(&context, string, length, padding)
    });
    let run = Rc::clone(run);
    register().set_into_module(module, move |context: NativeCallContext, items: &mut Array, length: INT, item: Dynamic| {
        padded_array(&context, &run, items, length, &item)
    });
}

/// Pads as the standard package does. An empty padding changes nothing.
fn padded_string(context: &NativeCallContext<'_>, string: &mut ImmutableString, length: INT, padding: &str) -> Native<()> {
    let missing = usize::try_from(length).unwrap_or(0).saturating_sub(string.chars().count());
    if missing > 0 {
        let mut text = Bounded::new(context);
        text.push(string)?;
        text.fill(padding, missing)?;
        *string = text.done();
    }
    Ok(())
}

/// Pads as the standard package does, and looks after each element whether the script may go on: an element may hold any amount of memory.
fn padded_array(context: &NativeCallContext<'_>, run: &Run, items: &mut Array, length: INT, item: &Dynamic) -> Native<()> {
    let length = usize::try_from(length).unwrap_or(0);
    if length > context.engine().max_array_size() {
        return Err(array_too_large(context));
    }
    while items.len() < length {
        items.push(item.clone());
        run.go_on()?;
        // What is in the elements counts, too. To look after each would take a time that grows with the square of their number.
        if items.len().is_power_of_two() {
            *items = within_limits(context, std::mem::take(items))?;
        }
    }
    *items = within_limits(context, std::mem::take(items))?;
    Ok(())
}

/// The same array, unless it has more in it than values of scripts may hold. No script catches that, so none misses the array.
fn within_limits(context: &NativeCallContext<'_>, items: Array) -> Native<Array> {
    let value = Dynamic::from_array(items);
    context.engine().ensure_data_size_within_limits(&value)?;
    Ok(value.into_array().unwrap_or_default())
}

/// Functions of decimal numbers that could only fail by a panic, which no script can catch.
fn decimals(module: &mut Module) {
    let mut add = |name: &'static str, function: fn(&Decimal) -> Option<Decimal>| {
        FuncRegistration::new(name).set_into_module(module, move |context: NativeCallContext, number: Decimal| {
            function(&number).ok_or_else(|| failed(&context, format!("the {name} of {number} is beyond decimal numbers")))
        });
    };
    add("sin", Decimal::checked_sin);
    add("cos", Decimal::checked_cos);
    add("tan", Decimal::checked_tan);
}

fn texts(module: &mut Module, run: &Rc<Run>) {
    for name in ["print", "to_string", "debug", "to_debug"] {
        let at = Rc::clone(run);
        FuncRegistration::new(name).set_into_module(module, move |value: &mut Array| {
            let text = shown(&at, |out, cap| text::array(value, out, cap));
            text.inspect_err(|_| value.clear()).unwrap_or_else(|cut| cut)
        });
        let at = Rc::clone(run);
        FuncRegistration::new(name).set_into_module(module, move |value: &mut Map| {
            let text = shown(&at, |out, cap| text::map(value, out, cap));
            text.inspect_err(|_| value.clear()).unwrap_or_else(|cut| cut)
        });
        FuncRegistration::new(name).set_into_module(module, |value: &mut FnPtr| text::function(value));
    }
}

/// The text that `write` makes. Rhai swallows errors of these functions and falls back to its own endless text, so a text that
/// grows too large is cut and the script ends at its next operation. What was cut is given as the error.
pub(super) fn shown(
    run: &Run,
    write: impl FnOnce(&mut String, usize) -> Result<(), text::TooLarge>,
) -> Result<ImmutableString, ImmutableString> {
    let mut out = String::new();
    match write(&mut out, run.limits.string) {
        Ok(()) => Ok(out.into()),
        Err(text::TooLarge) => {
            run.end(Ended::Text);
            Err(out.into())
        }
    }
}
