use std::path::PathBuf;

use super::key::AuditKey;

/// The directory, key and limits of an audit log.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The directory. One process at a time writes to it.
    pub directory: PathBuf,
    /// The key of the hashes.
    pub key: AuditKey,
    /// The file size in bytes at which the next file begins.
    pub file_bytes: u64,
    /// The maximum number of bytes of all files; beyond it the oldest are removed. 0 is no limit.
    pub quota: u64,
    /// Whether the directory is known to have held a log before. If nothing of it is left, that is a fault.
    pub begun: bool,
}
