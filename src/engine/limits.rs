use serde::{Deserialize, Serialize};

/// What one script may use. All of it holds inside native callbacks too, where Rhai's own counters are blind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Operations; unlimited by default, because the job's timeout rules.
    pub operations: Option<u64>,
    /// Bytes of memory held at once.
    pub memory: u64,
    /// How deep script functions may call each other.
    pub call_levels: usize,
    /// How deep expressions may nest.
    pub expression_depth: usize,
    /// Bytes of one string.
    pub string: usize,
    /// Elements of one array, bytes of one blob.
    pub array: usize,
    /// Properties of one map.
    pub map: usize,
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
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            operations: None,
            memory: 64 << 20,
            call_levels: 32,
            expression_depth: 32,
            string: 256 << 10,
            array: 10_000,
            map: 10_000,
            variables: 128,
            functions: 64,
            source: 64 << 10,
            result: 1 << 20,
            log: 1 << 20,
        }
    }
}
