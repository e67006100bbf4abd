use std::time::Duration;

use serde::{Deserialize, Serialize};

use hero_model::{ErrorKind, JobError, Limit};

/// The limits of one script. They also apply inside native callbacks, where Rhai itself does not count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// The number of operations; unlimited by default, because the job has a timeout.
    pub operations: Option<u64>,
    /// The processor time of a job; unlimited by default.
    pub cpu_time: Option<Duration>,
    /// Bytes of memory allocated at the same time.
    pub memory: u64,
    /// Whether reading a missing key of a map is an error, instead of `()`.
    pub strict: bool,
    /// The maximum depth of calls of script functions.
    pub call_levels: usize,
    /// The maximum nesting of expressions.
    pub expression_depth: usize,
    /// The number of variables in scope.
    pub variables: usize,
    /// The number of functions that a script may define.
    pub functions: usize,
    /// Bytes of the script itself.
    pub source: usize,
    /// Bytes of the result.
    pub result: usize,
    /// Bytes logged by one job.
    pub log: usize,
}

impl Limits {
    /// The maximum nesting of a result.
    pub(crate) const RESULT_DEPTH: usize = 64;
    /// The size up to which a text or a blob always fits, in bytes. More than twice this size never fits, except in the
    /// input of a script.
    ///
    /// For values made by functions the limit is exact. Values made by operators are checked by the size of their piece
    /// of memory, which grows by doubling.
    pub const TEXT: usize = 256 << 10;
    /// The same for the number of elements of an array. Functions of Rhai process a whole array before the clock is
    /// checked.
    pub(crate) const ARRAY: usize = 64 << 10;

    /// Returns these limits with lower limits of operations and processor time, if the given ones are lower.
    #[must_use]
    pub fn within(&self, operations: Option<u64>, cpu_time: Option<Duration>) -> Self {
        let operations = self.operations.into_iter().chain(operations).min();
        let cpu_time = self.cpu_time.into_iter().chain(cpu_time).min();
        Self { operations, cpu_time, ..self.clone() }
    }

    /// Refuses a script that is too long. The parent checks this before it sends the script; the engine does not check
    /// it again.
    pub(super) fn check_length(&self, script: &str) -> Result<(), JobError> {
        if script.len() <= self.source {
            return Ok(());
        }
        let message = format!("the script has {} bytes, more than {} (script_source)", script.len(), size(self.source));
        Err(JobError { limit: Some(Limit::Source), ..JobError::new(ErrorKind::Limit, message) })
    }
}

/// The kinds of values that are one piece of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece {
    /// A text or a blob.
    Text,
    Array,
}

impl Piece {
    /// The message for a value that is too long.
    pub(super) fn too_long(self) -> String {
        match self {
            Self::Text => format!("a text or a blob has more than {} ({FIXED})", size(Limits::TEXT)),
            Self::Array => format!("an array has more than {} elements ({FIXED})", Limits::ARRAY),
        }
    }
}

/// Follows, in parentheses, a limit that no setting changes.
pub(super) const FIXED: &str = "a fixed limit";

/// The message for a job that has used too much processor time.
pub(super) fn cpu_time_is_over(most: Option<Duration>) -> String {
    format!("the job used a processor for more than {:?} (cpu_time of its context)", most.unwrap_or_default())
}

/// The error for a result that is too long.
pub(super) fn result_is_too_long(limits: &Limits) -> JobError {
    let message = format!("the result has more than {} (script_result)", size(limits.result));
    JobError { limit: Some(Limit::Result), ..JobError::new(ErrorKind::Limit, message) }
}

/// Formats a number of bytes as in settings, if that is exact.
pub fn size(bytes: impl TryInto<u64>) -> String {
    let bytes = bytes.try_into().unwrap_or(u64::MAX);
    let units: [(u64, _); 3] = [(1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")];
    match units.into_iter().find(|(unit, _)| bytes > 0 && bytes.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{} {name}", bytes / unit),
        None => format!("{bytes} bytes"),
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            operations: None,
            cpu_time: None,
            memory: 64 << 20,
            strict: false,
            call_levels: 32,
            expression_depth: 32,
            variables: 128,
            functions: 64,
            source: 64 << 10,
            result: 1 << 20,
            log: 1 << 20,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_written_as_settings_are() {
        let sizes = [0_u64, 1000, 1024, 64 << 10, 3 << 19, 64 << 20, 2 << 30].map(size);
        assert_eq!(sizes, ["0 bytes", "1000 bytes", "1 KB", "64 KB", "1536 KB", "64 MB", "2 GB"]);
    }
}
