//! What a script's words are taken for when it is compiled.

use std::cell::Cell;
use std::collections::HashSet;
use std::rc::Rc;

use rhai::{Engine, LexError, Position, Token};

use super::copy;
use super::run::Run;

/// The reserved words that functions in namespaces are called.
const NAMES: [&str; 3] = ["new", "spawn", "with"];
/// After how many words the clock is read.
const CLOCK_EVERY: u32 = 64;

/// Has an engine compile scripts that call functions by these names behind `::`, where Rhai reserves words such as `new`, `with` and `spawn`.
/// If the script is compiled in order to run it, a stop or the end of its time ends that, too. Variables at these places are copied.
pub(super) fn watch(engine: &mut Engine, run: Option<&Rc<Run>>, copies: HashSet<Position>) {
    let (behind, words, run) = (Cell::new(false), Cell::new(0_u32), run.cloned());
    let may_go_on = move || {
        let count = words.replace(words.get().wrapping_add(1));
        run.as_ref().is_none_or(|run| if count.is_multiple_of(CLOCK_EVERY) { run.go_on().is_ok() } else { run.ended().is_none() })
    };
    #[expect(deprecated, reason = "that is how Rhai marks what may change; its version is pinned")]
    engine.on_parse_token(move |token, position, _| {
        let is_behind = behind.replace(token == Token::DoubleColon);
        match token {
            Token::EOF => token,
            // Why is known to the run.
            _ if !may_go_on() => Token::LexError(Box::new(LexError::Runtime("it is to end".into()))),
            Token::Reserved(word) if is_behind && NAMES.contains(&word.as_str()) => Token::Identifier(word),
            token => copy::renamed(&copies, token, position),
        }
    });
}
