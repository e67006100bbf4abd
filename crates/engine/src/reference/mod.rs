//! The reference of the functions that scripts have besides Rhai's own. `hero functions`, `docs/functions.md`,
//! `list_functions` and the definitions for editors are made from it.
//!
//! Each function is defined once, in the file with its code (`crates/engine/src/rhai/functions/`).

mod definition_file;
mod markdown;

use super::Capability;
pub use super::rhai::functions;
pub use super::script_function::{CONSTANTS_THAT_ASK, FunctionParameter, ScriptFunction, TYPES};
pub use definition_file::definition_file;
use hero_model::ScriptType;
pub use markdown::{markdown, markdown_by_group};

/// Returns the functions that scripts of one type may have, or all.
pub fn functions_of(script_type: Option<&ScriptType>) -> Vec<&'static ScriptFunction> {
    let has = |function: &&ScriptFunction| match (script_type, function.capability) {
        (None, _) => true,
        (Some(script_type), _) if !script_type.is_built_in() => false,
        (Some(_), None) => true,
        (Some(script_type), Some(needed)) => Capability::possible(script_type).contains(&needed),
    };
    functions().iter().filter(has).collect()
}
