use rhai::{Array, Dynamic, ImmutableString, Map, NativeCallContext};

use super::definition::{Definition, Functions};
use crate::limits::Piece;
use crate::rhai::convert;
use crate::rhai::native::{Native, failed, too_long};
use crate::{Limits, alloc};
use hero_model::{exact, tree};

pub(super) const DEFINITIONS: &[Definition] = &[
    Definition {
        signature: "to_json(value: any) -> string",
        description: "Returns a value as JSON.",
        errors: "the value contains something that JSON does not support, such as a function or an infinite number, or is nested deeper than 64 levels.",
        example: "#{ total: 12.5, tags: [\"a\", ()] }.to_json()",
        result: r#""{\"tags\":[\"a\",null],\"total\":12.5}""#,
    },
    Definition {
        signature: "parse_json(text: string) -> any",
        description: "Parses JSON. A number without fraction and exponent becomes an integer, any other number a float, and `null` becomes `()`.",
        errors: "the text is not valid JSON, or contains a number that is too large for scripts; the message says where.",
        example: r#"parse_json(`{"name": "Ada", "born": 1815}`).born"#,
        result: "1815",
    },
];

pub(super) fn add(functions: &mut Functions<'_>) {
    functions.add("to_json", |context: NativeCallContext, value: &mut Map| written(&context, |cap| convert::json_of_map(value, cap)));
    functions.add("to_json", |context: NativeCallContext, value: &mut Array| written(&context, |cap| convert::json_of_array(value, cap)));
    functions.add("to_json", |context: NativeCallContext, value: Dynamic| written(&context, |cap| convert::json_of(&value, cap)));
    functions.add("parse_json", |context: NativeCallContext, text: &str| -> Native<Dynamic> {
        let text = exact(text, "the JSON").map_err(|beyond| failed(&context, beyond.to_string()))?;
        let value = alloc::apart(|| tree(&text)).map_err(|error| failed(&context, format!("the text is not JSON: {error}")))?;
        // The check of the text has found integers that are too large.
        Ok(convert::dynamic(&value).unwrap_or(Dynamic::UNIT))
    });
}

fn written(context: &NativeCallContext<'_>, write: impl FnOnce(usize) -> Result<String, convert::Refused>) -> Native<ImmutableString> {
    write(Limits::TEXT).map(ImmutableString::from).map_err(|refused| match refused {
        convert::Refused::TooLarge => too_long(context, Piece::Text),
        refused => failed(context, format!("the value {refused}")),
    })
}
