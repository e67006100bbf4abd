//! Shared code of script functions: errors that a script may catch, and limits on the values they make.

use rhai::{Dynamic, EvalAltResult, ImmutableString, NativeCallContext};

use super::text;
use crate::Limits;
use crate::limits::Piece;
use hero_model as model;

/// The value of a function, or the error that the script gets.
pub(super) type Native<T> = Result<T, Box<EvalAltResult>>;

/// The maximum number of characters of script input that an error repeats.
const MAX_EXCERPT_CHARS: usize = 100;

/// Makes an error that a script may catch.
pub(super) fn failed(context: &NativeCallContext<'_>, message: impl Into<String>) -> Box<EvalAltResult> {
    Box::new(EvalAltResult::ErrorRuntime(message.into().into(), context.call_position()))
}

/// Makes the error for a text or an array that would exceed the limits of scripts. No script can catch it.
pub(super) fn too_long(context: &NativeCallContext<'_>, what: Piece) -> Box<EvalAltResult> {
    Box::new(EvalAltResult::ErrorDataTooLarge(what.too_long(), context.call_position()))
}

/// Returns the beginning of a text, for an error.
pub(super) fn excerpt(text: &str) -> String {
    model::excerpt(text, MAX_EXCERPT_CHARS).into_owned()
}

/// A text that is made piece by piece, at most as long as texts of scripts may be.
pub(super) struct Bounded<'c, 's> {
    text: String,
    context: &'c NativeCallContext<'s>,
}

impl<'c, 's> Bounded<'c, 's> {
    pub(super) fn new(context: &'c NativeCallContext<'s>) -> Self {
        Self { text: String::new(), context }
    }

    pub(super) fn push(&mut self, piece: &str) -> Native<()> {
        if self.text.len() + piece.len() > Limits::TEXT {
            return Err(too_long(self.context, Piece::Text));
        }
        self.text.push_str(piece);
        Ok(())
    }

    /// Adds the text of a value, as `print` shows it.
    pub(super) fn show(&mut self, value: &Dynamic) -> Native<()> {
        text::shown(value, &mut self.text, Limits::TEXT).map_err(|_| too_long(self.context, Piece::Text))
    }

    /// The number of characters so far.
    pub(super) fn chars(&self) -> usize {
        self.text.chars().count()
    }

    /// Adds this number of characters from repetitions of a text. An empty text adds nothing.
    pub(super) fn fill(&mut self, text: &str, characters: usize) -> Native<()> {
        let whole = text.chars().count();
        if whole == 0 {
            return Ok(());
        }
        // Checked before the text is made: a character has at least one byte.
        if characters > Limits::TEXT {
            return Err(too_long(self.context, Piece::Text));
        }
        self.push(&text.repeat(characters / whole))?;
        let rest = text.char_indices().nth(characters % whole).map_or(text.len(), |(at, _)| at);
        self.push(&text[..rest])
    }

    pub(super) fn done(self) -> ImmutableString {
        self.text.into()
    }
}
