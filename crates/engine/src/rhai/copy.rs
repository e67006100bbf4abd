//! Copies of variables: a script is compiled with another name in place of some variables, and a lookup of that name
//! returns a copy of the variable.

use std::collections::HashSet;

use rhai::{Dynamic, Engine, EvalAltResult, EvalContext, Position, Token};

use super::native::Native;

/// Prefix of the name of a variable that is to be copied. Scripts cannot write such a name.
const COPY: &str = "a copy of ";

/// Renames a token if it is a variable that has to be copied.
pub(super) fn renamed(copies: &HashSet<Position>, token: Token, position: Position) -> Token {
    match token {
        Token::Identifier(name) if copies.contains(&position) => Token::Identifier(Box::new(format!("{COPY}{name}").into())),
        token => token,
    }
}

/// Returns a copy of the variable, if the name has the prefix; else `None`.
pub(super) fn resolved(name: &str, context: &mut EvalContext<'_, '_, '_, '_, '_, '_>) -> Native<Option<Dynamic>> {
    let Some(original) = name.strip_prefix(COPY) else { return Ok(None) };
    match context.scope_mut().get(original) {
        Some(value) if value.is_locked() => Err(Box::new(EvalAltResult::ErrorDataRace(format!("variable '{original}'"), Position::NONE))),
        value => Ok(value.map(|value| value.clone().flatten())),
    }
}

/// Makes an engine resolve such names, and nothing else.
pub(super) fn install(engine: &mut Engine) {
    #[expect(deprecated, reason = "that is how Rhai marks what may change; its version is pinned")]
    engine.on_var(|name, _, mut context| resolved(name, &mut context));
}
