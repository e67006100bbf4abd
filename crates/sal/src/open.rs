//! Opens files, and explains to scripts why a path cannot be opened.

use std::io;
use std::path::Path;

use cap_std::fs::{Dir, File, OpenOptions, OpenOptionsExt as _};
use rustix::fs::OFlags;

use hero_model::excerpt;

/// The mode of directories that only their owner may enter.
pub(super) const PRIVATE: u32 = 0o700;

/// Opens a file below a directory, and nothing else: a pipe would block until its other end is opened.
pub(super) fn open(directory: &Dir, place: &Path, options: &mut OpenOptions) -> Result<File, FileError> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    #[expect(clippy::cast_possible_wrap, reason = "that is how the flags of open are given")]
    options.mode(0o600).custom_flags(flags.bits() as i32);
    let file = directory.open_with(place, options)?;
    match file.metadata()? {
        found if found.is_file() => Ok(file),
        found if found.is_dir() => Err(FileError::Other("that is a directory".to_owned())),
        _ => Err(FileError::Other("that is no file".to_owned())),
    }
}

/// Why an operation failed.
pub(super) enum FileError {
    Io(io::Error),
    Other(String),
}

impl From<io::Error> for FileError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl FileError {
    pub(super) fn of(self, path: &str) -> String {
        match self {
            Self::Io(error) => told(path, &error),
            Self::Other(why) => format!("{path}: {why}"),
        }
    }
}

/// Returns the error text for a script.
pub(super) fn told(path: &str, error: &io::Error) -> String {
    let why = match error.kind() {
        io::ErrorKind::NotFound => "there is no such file or directory".to_owned(),
        io::ErrorKind::PermissionDenied if is_escape(error) => "that leads out of the directory of the context".to_owned(),
        io::ErrorKind::IsADirectory => "that is a directory".to_owned(),
        io::ErrorKind::NotADirectory => "a part of it is no directory".to_owned(),
        _ => error.to_string(),
    };
    format!("{}: {why}", excerpt(path, 200))
}

/// Whether an error says that a path led out of its directory.
fn is_escape(error: &io::Error) -> bool {
    error.to_string().contains("outside of the filesystem")
}
