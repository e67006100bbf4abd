//! Replacements for functions of Rhai's standard package that could not be stopped.
//!
//! Reviewed for rhai 1.27.0, to be reviewed at each upgrade. Rhai itself gets no limits of sizes: with one, it walks
//! through all elements of an array or a map after each call of a method, even `len`, so that a loop takes quadratic
//! time. Values made by operators are checked by the size of their piece of memory (`alloc.rs`). Operators and
//! functions of Rhai grow values by a factor that is small enough to check that and the memory limit afterwards. The
//! following do not, and are replaced:
//!
//! `sort` and `order` compare long texts for seconds, and `==` takes a kilobyte of stack for each level of arrays and
//! maps (`comparing.rs`). `sleep` ignores every limit and can panic, so it is one of our functions
//! (`functions/time.rs`). `replace` grows a string to gigabytes in one step. `blob` and `pad` make values of any size,
//! and `pad` never ends with an empty padding. The text and JSON functions of arrays, maps and function pointers repeat
//! shared strings without a bound, and recurse for ever through cycles. `sin`, `cos` and `tan` of decimal numbers panic
//! out of range.

use std::rc::Rc;

use rhai::{Array, Blob, Dynamic, FnPtr, FuncRegistration, INT, ImmutableString, Map, Module, NativeCallContext};
use rust_decimal::{Decimal, MathematicalOps as _};

use super::comparing;
use super::native::{Bounded, Native, failed, too_long};
use super::run::{Ended, Run};
use super::text;
use crate::Limits;
use crate::limits::Piece;

pub(super) fn module(run: &Rc<Run>) -> Module {
    let mut module = Module::new();
    replace(&mut module);
    pad(&mut module, run);
    decimals(&mut module);
    texts(&mut module, run);
    comparing::add(&mut module, run);
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

/// Replaces like the standard package, after computing the length of the new string.
fn replaced(context: &NativeCallContext<'_>, string: &mut ImmutableString, from: &str, to: &str) -> Native<()> {
    if string.is_empty() {
        return Ok(());
    }
    let found = string.matches(from).count();
    let length = (string.len() - found * from.len()).saturating_add(found.saturating_mul(to.len()));
    if length > Limits::TEXT {
        return Err(too_long(context, Piece::Text));
    }
    *string = string.replace(from, to).into();
    Ok(())
}

fn pad(module: &mut Module, run: &Rc<Run>) {
    let register = || FuncRegistration::new("pad").with_purity(false);
    register().set_into_module(module, |context: NativeCallContext, string: &mut ImmutableString, length: INT, padding: &str| {
        padded_string(&context, string, length, padding)
    });
    register().set_into_module(module, |context: NativeCallContext, string: &mut ImmutableString, length: INT, padding: char| {
        padded_string(&context, string, length, padding.encode_utf8(&mut [0; 4]))
    });
    let run = Rc::clone(run);
    register().set_into_module(module, move |context: NativeCallContext, items: &mut Array, length: INT, item: Dynamic| {
        padded_array(&context, &run, items, length, &item)
    });
    register().set_into_module(module, |context: NativeCallContext, bytes: &mut Blob, length: INT, byte: INT| -> Native<()> {
        let length = blob_length(&context, length)?;
        bytes.resize(length.max(bytes.len()), lowest_byte(byte));
        Ok(())
    });
    let register = || FuncRegistration::new("blob");
    register()
        .set_into_module(module, |context: NativeCallContext, length: INT| -> Native<Blob> { Ok(vec![0; blob_length(&context, length)?]) });
    register().set_into_module(module, |context: NativeCallContext, length: INT, byte: INT| -> Native<Blob> {
        Ok(vec![lowest_byte(byte); blob_length(&context, length)?])
    });
}

/// Pads like the standard package. An empty padding changes nothing.
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

/// Pads like the standard package, and checks the script's limits after each element: an element may hold any amount of
/// memory.
fn padded_array(context: &NativeCallContext<'_>, run: &Run, items: &mut Array, length: INT, item: &Dynamic) -> Native<()> {
    let length = usize::try_from(length).unwrap_or(0);
    if length > Limits::ARRAY {
        return Err(too_long(context, Piece::Array));
    }
    while items.len() < length {
        items.push(item.clone());
        run.go_on()?;
    }
    Ok(())
}

/// Returns the length of a blob, if a script may make one that long.
fn blob_length(context: &NativeCallContext<'_>, length: INT) -> Native<usize> {
    let length = usize::try_from(length).unwrap_or(0);
    if length > Limits::TEXT { Err(too_long(context, Piece::Text)) } else { Ok(length) }
}

/// Returns the lowest byte of an integer, like the standard package.
fn lowest_byte(number: INT) -> u8 {
    number.to_le_bytes()[0]
}

/// Functions of decimal numbers whose only failure is a panic, which no script can catch.
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
        FuncRegistration::new(name)
            .set_into_module(module, move |value: &mut Array| shown(&at, |out| text::array(value, out, Limits::TEXT)));
        let at = Rc::clone(run);
        FuncRegistration::new(name).set_into_module(module, move |value: &mut Map| shown(&at, |out| text::map(value, out, Limits::TEXT)));
        FuncRegistration::new(name).set_into_module(module, |value: &mut FnPtr| text::function(value));
    }
}

/// Returns the text that `write` makes. Rhai ignores errors of these functions and falls back to its own unbounded
/// text. So a text that grows too large is truncated, and the script ends at its next operation.
pub(super) fn shown(run: &Run, write: impl FnOnce(&mut String) -> Result<(), text::TooLarge>) -> ImmutableString {
    let mut out = String::new();
    if write(&mut out).is_err() {
        run.end(Ended::TooLong(Piece::Text));
    }
    out.into()
}
