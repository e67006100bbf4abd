use rhai::{Array, Dynamic, FLOAT, INT, ImmutableString, NativeCallContext};
use rust_decimal::Decimal;

use super::definition::{Definition, Functions};
use crate::rhai::native::{Bounded, Native, failed};
use crate::rhai::run::Run;

pub(super) const DEFINITIONS: &[Definition] = &[
    Definition {
        signature: "join(array: array, separator: string) -> string",
        description: "Joins the texts of all elements into one string, with a separator between them.",
        errors: "",
        example: r#"["a", 1, true].join(", ")"#,
        result: r#""a, 1, true""#,
    },
    Definition {
        signature: "sum(array: array) -> number",
        description: "Adds up numbers. The sum of integers is an integer; one float makes it a float, and one decimal number makes it decimal. The sum of an empty array is 0.",
        errors: "an element is not a number, the sum of integers exceeds 64 bits, or floats and decimal numbers are mixed.",
        example: "[1, 2, 3.5].sum()",
        result: "6.5",
    },
];

pub(super) fn add(functions: &mut Functions<'_>) {
    let run = functions.run();
    functions.add("join", move |context: NativeCallContext, items: &mut Array, separator: &str| -> Native<ImmutableString> {
        let mut out = Bounded::new(&context);
        for (at, item) in items.iter().enumerate() {
            run.go_on_at(at)?;
            if at > 0 {
                out.push(separator)?;
            }
            out.show(item)?;
        }
        Ok(out.done())
    });
    let run = functions.run();
    functions.add("sum", move |context: NativeCallContext, items: &mut Array| sum(&context, &run, items));
}

fn sum(context: &NativeCallContext<'_>, run: &Run, items: &Array) -> Native<Dynamic> {
    let (mut whole, mut fraction, mut exact): (i128, Option<FLOAT>, Option<Decimal>) = (0, None, None);
    for (at, item) in items.iter().enumerate() {
        run.go_on_at(at)?;
        if let Ok(number) = item.as_int() {
            // No array is long enough for an overflow.
            whole += i128::from(number);
        } else if let Ok(number) = item.as_float() {
            fraction = Some(fraction.unwrap_or_default() + number);
        } else if let Ok(number) = item.as_decimal() {
            exact = exact.unwrap_or_default().checked_add(number);
            exact.ok_or_else(|| failed(context, "the sum is beyond decimal numbers"))?;
        } else {
            return Err(failed(context, format!("element {at} of the array is no number")));
        }
    }
    match (fraction, exact) {
        (None, None) => {
            let sum = INT::try_from(whole).map_err(|_| failed(context, "the sum is beyond the integers of 64 bits"))?;
            Ok(sum.into())
        }
        #[expect(clippy::cast_precision_loss, reason = "a sum with floats is as precise as floats are")]
        (Some(fraction), None) => Ok((whole as FLOAT + fraction).into()),
        (None, Some(exact)) => {
            let whole = Decimal::try_from_i128_with_scale(whole, 0).ok();
            let sum =
                whole.and_then(|whole| exact.checked_add(whole)).ok_or_else(|| failed(context, "the sum is beyond decimal numbers"))?;
            Ok(sum.into())
        }
        (Some(_), Some(_)) => Err(failed(context, "floats and decimal numbers are not added up: make floats decimal by x.to_decimal()")),
    }
}
