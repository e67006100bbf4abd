//! Names behind `::`. Rhai reserves words such as `new`, `with` and `spawn`; as names of functions in a namespace they are allowed.

use std::cell::Cell;

use rhai::{Engine, Token};

/// The reserved words that functions in namespaces are called.
const NAMES: [&str; 3] = ["new", "spawn", "with"];

/// Has an engine compile scripts that call functions by these names.
pub(super) fn allow_all_names(engine: &mut Engine) {
    let behind = Cell::new(false);
    #[expect(deprecated, reason = "that is how Rhai marks what may change; its version is pinned")]
    engine.on_parse_token(move |token, _, _| {
        let is_behind = behind.replace(token == Token::DoubleColon);
        match token {
            Token::Reserved(word) if is_behind && NAMES.contains(&word.as_str()) => Token::Identifier(word),
            token => token,
        }
    });
}
