use std::io;
use std::path::{Path, PathBuf};

/// The audit log cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file system returned an error.
    #[error("the audit log cannot be used: {}: {cause}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The error of the system.
        cause: io::Error,
    },
    /// Another process writes to the directory.
    #[error("another process writes the audit log in {}; give this one another --audit-dir, or another --data", .0.display())]
    InUse(PathBuf),
    /// Neither the head nor the last record fits the key.
    #[error(
        "the audit log in {} cannot be continued: neither its head nor its last record fits the key; \
         put the key back with which it was written (audit_key_file), or move the directory away, and audit.begun in the data directory, and a new log begins",
        .0.display()
    )]
    OtherKey(PathBuf),
    /// The directory holds no log.
    #[error("there is no audit log in {}; hero serve --audit writes one", .0.display())]
    NoLog(PathBuf),
}

impl Error {
    /// Wraps an error of the system for a path.
    pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::Io { path: path.to_owned(), cause }
    }
}
