//! Shared code of functions that make host calls.

use std::rc::Rc;

use rhai::{Dynamic, NativeCallContext};
use serde::de::DeserializeOwned;

use crate::limits::Piece;
use crate::rhai::convert;
use crate::rhai::native::{Native, failed, too_long};
use crate::rhai::run::Run;
use crate::{Answer, HostCall, alloc};
use hero_model::{exact, without_position};

/// The maximum length of JSON for the worker, which has its own limits for objects and jobs.
const MAX_JSON_BYTES: usize = 2 << 20;

/// Converts input of a script to a type of a host call.
pub(super) fn json<T: DeserializeOwned>(
    context: &NativeCallContext<'_>,
    write: impl FnOnce(usize) -> Result<String, convert::Refused>,
) -> Native<T> {
    alloc::apart(|| read(context, write(MAX_JSON_BYTES)))
}

fn read<T: DeserializeOwned>(context: &NativeCallContext<'_>, written: Result<String, convert::Refused>) -> Native<T> {
    let text = written.map_err(|refused| match refused {
        convert::Refused::TooLarge => too_long(context, Piece::Text),
        refused => failed(context, format!("what is given {refused}")),
    })?;
    // Parsing would round an integer that has too many digits.
    exact(&text, "it").map_err(|beyond| failed(context, beyond.to_string()))?;
    // The script has not written this JSON text, so positions in it mean nothing.
    serde_json::from_str(&text).map_err(|error| failed(context, without_position(&error.to_string())))
}

/// Makes a host call, and returns the answer.
pub(super) fn ask(context: &NativeCallContext<'_>, run: &Rc<Run>, host_call: impl Into<HostCall>) -> Native<Dynamic> {
    answered(context, run.ask(host_call.into())?)
}

/// Converts the worker's answer to a value.
pub(super) fn answered(context: &NativeCallContext<'_>, answer: Answer) -> Native<Dynamic> {
    let answer = answer.map_err(|refusal| failed(context, refusal))?;
    let value = alloc::apart(|| answer.to_value()).map_err(|error| failed(context, error.to_string()))?;
    // Stored values contain no integers too large for scripts.
    Ok(convert::dynamic(&value).unwrap_or(Dynamic::UNIT))
}
