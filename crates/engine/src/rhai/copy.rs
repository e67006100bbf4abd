//! Copies of variables: a script is compiled with another name where one stands, and whoever looks for a variable of that name gets a copy of the
//! other.

use std::collections::HashSet;

use rhai::{Dynamic, Engine, EvalAltResult, EvalContext, Position, Token};

use super::native::Native;

/// What stands before the name of a variable of which a copy is used. Nobody can write such a name.
const COPY: &str = "a copy of ";

/// A word of a script that is compiled, which is another one where a variable has to be copied.
pub(super) fn renamed(copies: &HashSet<Position>, token: Token, position: Position) -> Token {
    match token {
        Token::Identifier(name) if copies.contains(&position) => Token::Identifier(Box::new(format!("{COPY}{name}").into())),
        token => token,
    }
}

/// The copy of a variable that is looked for by such a name; nothing, if the name is another.
pub(super) fn resolved(name: &str, context: &mut EvalContext<'_, '_, '_, '_, '_, '_>) -> Native<Option<Dynamic>> {
    let Some(original) = name.strip_prefix(COPY) else { return Ok(None) };
    match context.scope_mut().get(original) {
        Some(value) if value.is_locked() => Err(Box::new(EvalAltResult::ErrorDataRace(format!("variable '{original}'"), Position::NONE))),
        value => Ok(value.map(|value| value.clone().flatten())),
    }
}

/// Has an engine resolve such names, and nothing else.
pub(super) fn install(engine: &mut Engine) {
    #[expect(deprecated, reason = "that is how Rhai marks what may change; its version is pinned")]
    engine.on_var(|name, _, mut context| resolved(name, &mut context));
}
