use rhai::{Dynamic, FLOAT, INT, ImmutableString, NativeCallContext};

use super::definition::{Definition, Functions};
use crate::rhai::native::{Bounded, Native, failed};

pub(super) const DEFINITIONS: &[Definition] = &[
    Definition {
        signature: "to_fixed(number: number, decimals: int) -> string",
        description: "Formats a number with `decimals` digits after the decimal point: at most 17, or 28 for a decimal number. The number is rounded, a half to the even digit.",
        errors: "the value is not a number.",
        example: "(2.0 / 3.0).to_fixed(2)",
        result: r#""0.67""#,
    },
    Definition {
        signature: "round(number: float, decimals: int) -> float",
        description: "Rounds a float to `decimals` digits after the decimal point. Rhai has the same function for decimal numbers.",
        errors: "",
        example: "2.71828.round(3)",
        result: "2.718",
    },
    Definition {
        signature: "format_number(number: number, decimals: int, thousands_separator?: string, decimal_separator?: string) -> string",
        description: "Formats a number like `to_fixed`, for people: with a comma, or another separator, between groups of three digits before the decimal point.",
        errors: "the value is not a number.",
        example: r#"1234567.891.format_number(2, ".", ",")"#,
        result: r#""1.234.567,89""#,
    },
];

/// The maximum number of decimals of a float. More are meaningless.
const DIGITS: INT = 17;
/// The same for a decimal number, which has no more.
const DECIMAL_DIGITS: INT = 28;

pub(super) fn add(functions: &mut Functions<'_>) {
    functions.add("to_fixed", |context: NativeCallContext, number: Dynamic, decimals: INT| {
        fixed(&context, &number, decimals).map(ImmutableString::from)
    });
    // It is rounded as a text, because a multiplication could overflow.
    functions
        .add("round", |number: FLOAT, decimals: INT| format!("{number:.*}", at_most(DIGITS, decimals)).parse::<FLOAT>().unwrap_or(number));
    functions
        .add("format_number", |context: NativeCallContext, number: Dynamic, decimals: INT| grouped(&context, &number, decimals, ",", "."));
    functions.add("format_number", |context: NativeCallContext, number: Dynamic, decimals: INT, thousands: &str| {
        grouped(&context, &number, decimals, thousands, ".")
    });
    functions.add("format_number", |context: NativeCallContext, number: Dynamic, decimals: INT, thousands: &str, point: &str| {
        grouped(&context, &number, decimals, thousands, point)
    });
}

fn at_most(digits: INT, wanted: INT) -> usize {
    usize::try_from(wanted.clamp(0, digits)).unwrap_or(0)
}

/// Formats a number with this number of decimals.
fn fixed(context: &NativeCallContext<'_>, number: &Dynamic, decimals: INT) -> Native<String> {
    let text = if let Ok(number) = number.as_int() {
        padded(number.to_string(), at_most(DIGITS, decimals))
    } else if let Ok(number) = number.as_float() {
        format!("{number:.*}", at_most(DIGITS, decimals))
    } else if let Ok(number) = number.as_decimal() {
        let decimals = at_most(DECIMAL_DIGITS, decimals);
        // Zeros are added here: the library does not support this many.
        padded(number.round_dp(u32::try_from(decimals).unwrap_or(0)).to_string(), decimals)
    } else {
        return Err(failed(context, format!("a {} is no number", context.engine().map_type_name(number.type_name()))));
    };
    // A number rounded to zero has no sign.
    Ok(match text.strip_prefix('-') {
        Some(positive) if positive.chars().all(|digit| matches!(digit, '0' | '.')) => positive.to_owned(),
        _ => text,
    })
}

/// Adds zeros to a number up to this number of decimals.
fn padded(digits: String, decimals: usize) -> String {
    if decimals == 0 {
        return digits;
    }
    let has = digits.split_once('.').map_or(0, |(_, after)| after.len());
    format!("{digits}{}{}", if has == 0 { "." } else { "" }, "0".repeat(decimals.saturating_sub(has)))
}

/// Formats a number with separators between thousands and before the decimals.
fn grouped(context: &NativeCallContext<'_>, number: &Dynamic, decimals: INT, thousands: &str, point: &str) -> Native<ImmutableString> {
    let digits = fixed(context, number, decimals)?;
    let mut text = Bounded::new(context);
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    let (sign, whole) = whole.split_at(usize::from(whole.starts_with('-')));
    text.push(sign)?;
    for (at, digit) in whole.char_indices() {
        let left = whole.len() - at;
        // `inf` and `NaN` have no digits.
        if at > 0 && left.is_multiple_of(3) && digit.is_ascii_digit() {
            text.push(thousands)?;
        }
        text.push(digit.encode_utf8(&mut [0; 4]))?;
    }
    if !fraction.is_empty() {
        text.push(point)?;
        text.push(fraction)?;
    }
    Ok(text.done())
}
