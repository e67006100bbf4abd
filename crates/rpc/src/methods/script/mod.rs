//! Scripts: the functions that they may call, and checks for errors.

mod check;
mod list_functions;

pub use check::CheckScript;
pub use list_functions::ListFunctions;
