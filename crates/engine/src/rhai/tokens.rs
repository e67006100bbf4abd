//! How the words of a script are interpreted at its compilation.

use std::cell::Cell;
use std::collections::HashSet;
use std::rc::Rc;

use rhai::{Engine, LexError, Position, Token};

use super::copy;
use super::run::Run;

/// Reserved words that are names of functions in namespaces.
const NAMES: [&str; 3] = ["new", "spawn", "with"];
/// The clock is checked after this number of words.
const CLOCK_EVERY: u32 = 64;

/// Makes an engine accept these names after `::`, although Rhai reserves words such as `new`, `with` and `spawn`. If
/// the script is compiled to run, a stop or its timeout also ends the compilation. Variables at the positions `copies`
/// are copied.
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
            // The run knows the reason.
            _ if !may_go_on() => Token::LexError(Box::new(LexError::Runtime("it is to end".into()))),
            Token::Reserved(word) if is_behind && NAMES.contains(&word.as_str()) => Token::Identifier(word),
            token => copy::renamed(&copies, token, position),
        }
    });
}
