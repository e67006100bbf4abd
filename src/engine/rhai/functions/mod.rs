//! The functions that scripts have besides Rhai's own, a file for each subject: first the definitions, which the reference shows, then the
//! functions themselves.
//!
//! What a function makes is bounded before it is made, and an error that a script may catch says what is wrong with what it was given.

mod array;
mod definition;
mod encoding;
mod json;

mod log;
mod number;
mod random;
mod regex;
mod string;
mod time;

use std::rc::Rc;

use rhai::Module;

use super::run::Run;
use definition::Functions;
pub(in crate::engine) use definition::{Definition, Group};
pub(super) use string::dedent;

/// All functions, in the order of the documents.
pub(in crate::engine) static GROUPS: [Group; 9] = [
    Group { name: "log", definitions: log::DEFINITIONS, add: log::add },
    Group { name: "JSON", definitions: json::DEFINITIONS, add: json::add },
    Group { name: "strings", definitions: string::DEFINITIONS, add: string::add },
    Group { name: "regular expressions", definitions: regex::DEFINITIONS, add: regex::add },
    Group { name: "arrays", definitions: array::DEFINITIONS, add: array::add },
    Group { name: "numbers", definitions: number::DEFINITIONS, add: number::add },
    Group { name: "time", definitions: time::DEFINITIONS, add: time::add },
    Group { name: "encodings and hashes", definitions: encoding::DEFINITIONS, add: encoding::add },
    Group { name: "random values", definitions: random::DEFINITIONS, add: random::add },
];

/// Adds all functions to a module.
pub(super) fn add(module: &mut Module, run: &Rc<Run>) {
    for group in &GROUPS {
        (group.add)(&mut Functions { module, run, definitions: group.definitions });
    }
}
