use rand::Rng as _;
use rhai::{Array, Dynamic, INT, ImmutableString, NativeCallContext};
use uuid::Uuid;

use super::definition::{Definition, Functions};
use crate::rhai::native::{Native, failed};

pub(super) const DEFINITIONS: &[Definition] = &[
    Definition {
        signature: "random() -> float",
        description: "Returns a random number from 0 up to, but not including, 1. It is unpredictable.",
        errors: "",
        example: "let number = random(); number >= 0.0 && number < 1.0",
        result: "true",
    },
    Definition {
        signature: "random_int(least: int, most: int) -> int",
        description: "Returns a random integer between two others, both included.",
        errors: "`least` is greater than `most`.",
        example: "let dice = random_int(1, 6); dice >= 1 && dice <= 6",
        result: "true",
    },
    Definition {
        signature: "random_item(list: array) -> any",
        description: "Returns one element of a list, each with the same probability, or `()` if the list is empty.",
        errors: "",
        example: r#"["heads", "tails"].random_item() in ["heads", "tails"]"#,
        result: "true",
    },
    Definition {
        signature: "uuid() -> string",
        description: "Returns a new random UUID (version 4), in lower case.",
        errors: "",
        example: "uuid()",
        result: "",
    },
];

pub(super) fn add(functions: &mut Functions<'_>) {
    functions.add("random", || rand::rng().random::<f64>());
    functions.add("random_int", |context: NativeCallContext, least: INT, most: INT| -> Native<INT> {
        if least > most {
            return Err(failed(&context, format!("random_int: {least} is more than {most}")));
        }
        Ok(rand::rng().random_range(least..=most))
    });
    functions.add("random_item", |items: &mut Array| -> Dynamic {
        if items.is_empty() { Dynamic::UNIT } else { items[rand::rng().random_range(0..items.len())].clone() }
    });
    functions.add("uuid", || ImmutableString::from(Uuid::new_v4().to_string()));
}
