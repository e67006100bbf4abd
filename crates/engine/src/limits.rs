use std::time::Duration;

use serde::{Deserialize, Serialize};

use hero_model::{ErrorKind, JobError, Limit};

/// What one script may use. The limits also apply inside native callbacks, where Rhai itself does not count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Operations; unlimited by default, because the job's timeout rules.
    pub operations: Option<u64>,
    /// How long a job may use a processor; unlimited by default.
    pub cpu_time: Option<Duration>,
    /// Bytes of memory allocated at once.
    pub memory: u64,
    /// Whether it is an error to read what a map does not have, instead of `()`.
    pub strict: bool,
    /// How deep script functions may call each other.
    pub call_levels: usize,
    /// How deep expressions may nest.
    pub expression_depth: usize,
    /// Variables in scope.
    pub variables: usize,
    /// Functions a script may define.
    pub functions: usize,
    /// Bytes of the script itself.
    pub source: usize,
    /// Bytes of the result.
    pub result: usize,
    /// Bytes logged by one job.
    pub log: usize,
}

impl Limits {
    /// How deep a result may nest.
    pub const RESULT_DEPTH: usize = 64;
    /// Bytes of a text or a blob that always fit into one. What has more than twice as many never fits, but for what a script is given.
    ///
    /// What functions make is bounded by it exactly. What operators make is seen by the memory that it takes in one piece, which grows by doubling.
    pub const TEXT: usize = 256 << 10;
    /// The same of the elements of an array. Functions of Rhai go through a whole array before anybody looks at the clock.
    pub const ARRAY: usize = 64 << 10;

    /// The same with limits of operations and of processor time that are lower, where they are.
    #[must_use]
    pub fn within(&self, operations: Option<u64>, cpu_time: Option<Duration>) -> Self {
        let operations = self.operations.into_iter().chain(operations).min();
        let cpu_time = self.cpu_time.into_iter().chain(cpu_time).min();
        Self { operations, cpu_time, ..self.clone() }
    }

    /// Refuses a script that is too long. This is checked before the script goes to an engine, which does not check it again.
    pub(super) fn check_length(&self, script: &str) -> Result<(), JobError> {
        if script.len() <= self.source {
            return Ok(());
        }
        let message = format!("the script has {} bytes, more than {} (script_source)", script.len(), size(self.source));
        Err(JobError { limit: Some(Limit::Source), ..JobError::new(ErrorKind::Limit, message) })
    }
}

/// What holds values of scripts in one piece of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece {
    /// A text or a blob.
    Text,
    Array,
}

impl Piece {
    /// What is said of one that is too long.
    pub(super) fn too_long(self) -> String {
        match self {
            Self::Text => format!("a text or a blob has more than {} ({FIXED})", size(Limits::TEXT)),
            Self::Array => format!("an array has more than {} elements ({FIXED})", Limits::ARRAY),
        }
    }
}

/// What is said in parentheses after a limit that no setting changes.
pub(super) const FIXED: &str = "a fixed limit";

/// Why a job is ended that has used a processor for too long.
pub(super) fn cpu_time_is_over(most: Option<Duration>) -> String {
    format!("the job used a processor for more than {:?} (cpu_time of its context)", most.unwrap_or_default())
}

/// Why a result that is too long is refused.
pub(super) fn result_is_too_long(limits: &Limits) -> JobError {
    let message = format!("the result has more than {} (script_result)", size(limits.result));
    JobError { limit: Some(Limit::Result), ..JobError::new(ErrorKind::Limit, message) }
}

/// A number of bytes as it is written in settings, where that is exact.
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
