//! Arguments with a few possible values, which shells offer as completions.

use std::ffi::OsStr;
use std::fmt::Display;

use clap::builder::{PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser};

use crate::model::{ErrorKind, Job, ScriptType, Status};

/// Parses an argument that must be one of these words.
pub(in crate::cli) fn one_of<T, E>(words: &'static [&'static str], read: fn(&str) -> Result<T, E>) -> impl TypedValueParser<Value = T>
where
    T: Clone + Send + Sync + 'static,
    E: Display + 'static,
{
    PossibleValuesParser::new(words).try_map(move |word| read(&word).map_err(|error| error.to_string()))
}

/// Parses the maximum number of entries of a list.
pub(in crate::cli) fn most(text: &str) -> Result<u32, String> {
    const MAX_ENTRIES: u32 = 100_000;
    let number = text.parse().ok().filter(|number| (1..=MAX_ENTRIES).contains(number));
    number.ok_or_else(|| format!("it is a whole number from 1 to {MAX_ENTRIES}"))
}

/// Parses a script type. Any name is valid; the built-in ones are offered as completions.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) struct Types;

impl TypedValueParser for Types {
    type Value = ScriptType;

    fn parse_ref(&self, command: &clap::Command, argument: Option<&clap::Arg>, value: &OsStr) -> Result<ScriptType, clap::Error> {
        StringValueParser::new().try_map(|text| text.parse::<ScriptType>()).parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(ScriptType::BUILT_IN.into_iter().map(PossibleValue::new)))
    }
}

/// A filter for jobs: by status, or by the reason of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Wanted {
    Status(Status),
    Failed,
    Stopped,
    TimedOut,
}

impl Wanted {
    /// All possible words.
    pub(in crate::cli) const WORDS: [&'static str; 10] = [
        "created",
        "scheduled",
        "waiting_for_prerequisites",
        "dispatched",
        "started",
        "finished",
        "error",
        "failed",
        "stopped",
        "timed-out",
    ];

    pub(in crate::cli) fn read(word: &str) -> Result<Self, String> {
        Ok(match word {
            "failed" => Self::Failed,
            "stopped" => Self::Stopped,
            "timed-out" => Self::TimedOut,
            word => Self::Status(word.parse::<Status>().map_err(|error| error.to_string())?),
        })
    }

    /// Returns the status by which the server filters.
    pub(in crate::cli) const fn status(self) -> Status {
        match self {
            Self::Status(status) => status,
            Self::Failed | Self::Stopped | Self::TimedOut => Status::Error,
        }
    }

    /// Whether the filter accepts a job with that status.
    pub(in crate::cli) fn takes(self, job: &Job) -> bool {
        let kind = job.error.as_ref().map(|error| error.kind);
        match self {
            Self::Status(_) => true,
            Self::Stopped => kind == Some(ErrorKind::Stopped),
            Self::TimedOut => kind == Some(ErrorKind::Timeout),
            Self::Failed => !matches!(kind, Some(ErrorKind::Stopped | ErrorKind::Timeout)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read() {
        assert!(Wanted::WORDS.iter().all(|word| Wanted::read(word).is_ok()));
        assert_eq!(Wanted::read("timed-out").unwrap().status(), Status::Error);
        assert!(Wanted::read("lost").is_err());
    }
}
