use std::path::PathBuf;

use super::key::AuditKey;

/// Where an audit log is, and how large it may become.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The directory, of which one process at a time writes.
    pub directory: PathBuf,
    /// The key of the hashes.
    pub key: AuditKey,
    /// At how many bytes the next file begins.
    pub file_bytes: u64,
    /// How many bytes all files may have together before the oldest go; 0 is no limit.
    pub quota: u64,
    /// Whether there was a log in the directory before, as is known from elsewhere: where nothing of it is left, that is a fault.
    pub begun: bool,
}
