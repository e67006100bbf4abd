//! Replacements for functions of Rhai's standard package that could not be stopped.
//!
//! Reviewed for rhai 1.27.0, to be reviewed at each upgrade: `sleep` ignores every limit and can panic, so it is one of ours (`functions/time.rs`); `replace` grows a
//! string to gigabytes in one step; the texts and the JSON of arrays, maps and function pointers repeat shared strings, without
//! a bound, and recurse for ever through cycles. `sin`, `cos` and `tan` of decimal numbers panic beyond those. All other functions check their size first, or grow by a factor that is small
//! enough for the memory limit after them.
//!
//! One way round stays: `m[k] = v` may grow a map above its limits; when such a map becomes part of a text (`"" + m`, or an
//! interpolation), Rhai refuses to call `to_string` and writes its own text. The address space limit ends that engine.

use std::rc::Rc;

use rhai::{Array, FnPtr, FuncRegistration, ImmutableString, Map, Module, NativeCallContext};
use rust_decimal::{Decimal, MathematicalOps as _};

use super::native::{Native, failed, string_too_large};
use super::run::{Ended, Run};
use super::text;

pub(super) fn module(run: &Rc<Run>) -> Module {
    let mut module = Module::new();
    replace(&mut module);
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
        FuncRegistration::new(name).set_into_module(module, move |value: &mut Array| shown(&at, |out, cap| text::array(value, out, cap)));
        let at = Rc::clone(run);
        FuncRegistration::new(name).set_into_module(module, move |value: &mut Map| shown(&at, |out, cap| text::map(value, out, cap)));
        FuncRegistration::new(name).set_into_module(module, |value: &mut FnPtr| text::function(value));
    }
}

/// The text that `write` makes. Rhai swallows errors of these functions and falls back to its own endless text, so a text that
/// grows too large is cut and the script ends at its next operation.
pub(super) fn shown(run: &Run, write: impl FnOnce(&mut String, usize) -> Result<(), text::TooLarge>) -> ImmutableString {
    let mut out = String::new();
    if write(&mut out, run.limits.string).is_err() {
        run.end(Ended::Text);
    }
    out.into()
}
