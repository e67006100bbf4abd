//! Scripts: the functions that they may call, and what is wrong with them.

mod check;
mod list_functions;

pub use check::{CheckScript, ScriptCheck};
pub use list_functions::ListFunctions;
