//! Log files of jobs, confined to one directory.
//!
//! The creator of a job chooses the path. The kernel itself refuses `..`, symbolic links and anything outside
//! (`openat2` with `RESOLVE_BENEATH` and `RESOLVE_NO_SYMLINKS`), so nothing can change between the check and the use of
//! a path.

mod health;
mod owners;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use hero_model::ContextId;
use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use health::Health;
pub use owners::{LogFileSet, Owner, Walk};

/// Why a log file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The path leads out of the directory, or names no file.
    #[error("{0:?} is not a path inside the log directory (no \"..\", no symbolic link, absolute only inside it)")]
    Outside(String),
    /// Another process holds the lock on the owners of log files for too long.
    #[error("another process has kept {path} locked for {waited:?}; see who holds it with lslocks")]
    Busy {
        /// The path of the lock.
        path: String,
        /// Time that this process waited for it.
        waited: Duration,
    },
    /// The path has too many parts.
    #[error("{0:?} has more than {MAX_PATH_PARTS} parts between slashes; directories take room, so name fewer of them")]
    Deep(String),
    /// The log directory is missing or not writable.
    #[error("the log directory {} (log_dir) cannot be used: {cause}", root.display())]
    Directory {
        /// The directory.
        root: PathBuf,
        /// The error of the operating system.
        cause: io::Error,
    },
    /// The file system refused.
    #[error("log file: {0}")]
    Io(#[from] io::Error),
}

impl Error {
    /// True if the path itself is not allowed, so the job is at fault and not the disk.
    pub(crate) fn is_of_path(&self) -> bool {
        use io::ErrorKind::{InvalidFilename, IsADirectory, NotADirectory};
        match self {
            Self::Outside(_) | Self::Deep(_) => true,
            Self::Busy { .. } | Self::Directory { .. } => false,
            Self::Io(error) => matches!(error.kind(), IsADirectory | InvalidFilename | NotADirectory),
        }
    }
}

/// The size at which a file is rotated. One older file is kept as `….1`.
const ROTATE_AT: u64 = 10 * 1024 * 1024;

/// Maximum number of parts of a path, including the name of the file.
const MAX_PATH_PARTS: usize = 8;

/// The directory with the directories of contexts other than 0. No `log_path` of context 0 leads there.
const CONTEXTS: &str = ".contexts";

/// The directory with every log file of a context.
#[derive(Debug, Clone)]
pub struct LogDirectory {
    root: PathBuf,
    health: Health,
}

/// An open log file of one job.
#[derive(Debug)]
pub struct LogFile {
    directory: LogDirectory,
    path: PathBuf,
    file: File,
    size: u64,
}

impl LogDirectory {
    /// Log files below `root`. The directory is created when the first file is written, readable by its owner only.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), health: Health::default() }
    }

    /// Returns the directory of a context. Contexts cannot reach each other's directories. Context 0 uses this
    /// directory itself.
    pub fn of(&self, context: ContextId) -> Self {
        if context == ContextId(0) {
            self.clone()
        } else {
            Self { root: self.root.join(CONTEXTS).join(context.to_string()), health: self.health.clone() }
        }
    }

    /// Returns why log files cannot be written now, or `None` if the last write succeeded.
    pub fn failing(&self) -> Option<String> {
        self.health.failing()
    }

    /// Notes whether a log file could be written. Logs each change once.
    pub fn note<T>(&self, tried: &Result<T, Error>) {
        match tried {
            Ok(_) if self.health.work() => tracing::info!("log files of jobs can be written again"),
            Err(error) if !error.is_of_path() => {
                metrics::counter!("hero_log_files_failed_total").increment(1);
                if self.health.fail(&error.to_string()) {
                    tracing::warn!(%error, "log files of jobs cannot be written; jobs continue, and their lines are kept in Redis only");
                }
            }
            _ => {}
        }
    }

    /// The directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns a job's `log_path` as a path below the directory.
    pub fn resolve(&self, path: &str) -> Result<PathBuf, Error> {
        let shown = || path.chars().take(200).collect();
        let outside = || Error::Outside(shown());
        let below = match Path::new(path) {
            absolute if absolute.is_absolute() => absolute.strip_prefix(&self.root).map_err(|_| outside())?,
            relative => relative,
        };
        let plain = below.components().all(|part| matches!(part, Component::Normal(_))) && !path.ends_with('/') && !path.contains('\0');
        if below.components().count() > MAX_PATH_PARTS {
            Err(Error::Deep(shown()))
        } else if plain && below.file_name().is_some() && !below.starts_with(CONTEXTS) && !below.starts_with(owners::OWNERS) {
            Ok(below.to_owned())
        } else {
            Err(outside())
        }
    }

    fn open(&self, path: &Path, flags: OFlags) -> Result<File, Error> {
        let root =
            rustix::fs::open(&self.root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).map_err(io::Error::from)?;
        let mode = if flags.contains(OFlags::CREATE) { Mode::RUSR | Mode::WUSR } else { Mode::empty() };
        // NONBLOCK, so that a FIFO at this path does not block.
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        match rustix::fs::openat2(&root, path, flags, mode, ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS) {
            Ok(file) => {
                let file = File::from(file);
                if file.metadata()?.is_file() { Ok(file) } else { Err(Error::Outside(path.display().to_string())) }
            }
            Err(Errno::XDEV | Errno::LOOP) => Err(Error::Outside(path.display().to_string())),
            Err(error) => Err(io::Error::from(error).into()),
        }
    }

    /// Opens a log file to append to. Creates it and its directories if needed, for their owner only.
    pub fn append(&self, path: &str) -> Result<LogFile, Error> {
        let path = self.resolve(path)?;
        self.make_directories(&path)?;
        let file = self.open(&path, OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE)?;
        let size = file.metadata()?.len();
        Ok(LogFile { directory: self.clone(), path, file, size })
    }

    /// Creates the directory if it is missing. Fails if no log file can be created in it.
    pub fn prepare(&self) -> Result<(), Error> {
        use rustix::fs::Access;
        self.make_root()?;
        rustix::fs::access(&self.root, Access::WRITE_OK | Access::EXEC_OK)
            .map_err(|cause| Error::Directory { root: self.root.clone(), cause: cause.into() })
    }

    /// Fails if no log file could be created in the directory, or if the directory could not be created. Creates
    /// nothing.
    pub fn look(&self) -> Result<(), Error> {
        use rustix::fs::Access;
        let there = self.root.ancestors().find(|above| above.exists()).unwrap_or(Path::new("/"));
        let refused = |cause: io::Error| Error::Directory { root: self.root.clone(), cause };
        if !there.is_dir() {
            return Err(refused(io::ErrorKind::NotADirectory.into()));
        }
        rustix::fs::access(there, Access::WRITE_OK | Access::EXEC_OK).map_err(|cause| refused(cause.into()))
    }

    fn make_root(&self) -> Result<(), Error> {
        use std::os::unix::fs::DirBuilderExt;
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.root);
        made.map_err(|cause| Error::Directory { root: self.root.clone(), cause })
    }

    fn make_directories(&self, path: &Path) -> Result<(), Error> {
        self.make_root()?;
        let mut at =
            rustix::fs::open(&self.root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).map_err(io::Error::from)?;
        for part in path.parent().into_iter().flat_map(Path::components) {
            match rustix::fs::mkdirat(&at, part.as_os_str(), Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(io::Error::from(error).into()),
            }
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            at = rustix::fs::openat(&at, part.as_os_str(), flags, Mode::empty()).map_err(|_| Error::Outside(path.display().to_string()))?;
        }
        Ok(())
    }

    /// Returns lines of a log file from byte `offset` on, each with the offset after it, and whether more lines are
    /// available at once.
    ///
    /// Returns at most `limit` lines with at most `bytes` in all, unless the first line is longer. A last line without
    /// a line end is still being written: it is left to the next call, unless it is very long.
    pub fn read(&self, path: &str, offset: u64, limit: usize, bytes: usize) -> Result<(Vec<(u64, String)>, bool), Error> {
        const MAX_LINE_BYTES: u64 = 64 * 1024;
        /// The number of bytes counted for a line in addition to its text.
        const LINE_OVERHEAD_BYTES: u64 = 64;
        let path = self.resolve(path)?;
        let mut file = self.open(&path, OFlags::RDONLY)?;
        file.seek(SeekFrom::Start(offset))?;
        let (mut reader, mut at, mut lines, mut room) = (BufReader::new(file), offset, Vec::new(), bytes as u64);
        while lines.len() < limit {
            let mut line = Vec::new();
            let read = io::Read::take(&mut reader, MAX_LINE_BYTES).read_until(b'\n', &mut line)? as u64;
            let whole = line.last() == Some(&b'\n');
            if read == 0 || !whole && read < MAX_LINE_BYTES {
                return Ok((lines, false));
            }
            if LINE_OVERHEAD_BYTES + read > room && !lines.is_empty() {
                break;
            }
            room = room.saturating_sub(LINE_OVERHEAD_BYTES + read);
            at += read;
            lines.push((at, String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned()));
        }
        Ok((lines, true))
    }
}

impl LogFile {
    /// Appends a line. The file is rotated when it gets too long.
    pub fn write_line(&mut self, line: &str) -> Result<(), Error> {
        let written = self.write(line);
        self.directory.note(&written);
        written
    }

    fn write(&mut self, line: &str) -> Result<(), Error> {
        if self.size >= ROTATE_AT {
            self.rotate()?;
        }
        let mut text = line.replace(['\n', '\r'], " ");
        text.push('\n');
        self.file.write_all(text.as_bytes())?;
        self.size += text.len() as u64;
        Ok(())
    }

    fn rotate(&mut self) -> Result<(), Error> {
        let parent = self.path.parent().unwrap_or(Path::new(""));
        let name = self.path.file_name().unwrap_or_default();
        let root = rustix::fs::open(&self.directory.root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .map_err(io::Error::from)?;
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let parent = rustix::fs::openat2(&root, parent, flags, Mode::empty(), ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS)
            .map_err(io::Error::from)?;
        let mut older = name.to_owned();
        older.push(".1");
        rustix::fs::renameat(&parent, name, &parent, &older).map_err(io::Error::from)?;
        self.file = self.directory.open(&self.path, OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE)?;
        self.size = self.file.metadata()?.len();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_path_cannot_leave_the_directory() {
        let root = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let logs = LogDirectory::new(root.path());
        symlink(outside.path(), root.path().join("link")).unwrap();
        std::fs::write(outside.path().join("secret"), "secret\n").unwrap();
        symlink(outside.path().join("secret"), root.path().join("file")).unwrap();
        for bad in ["", "/", "..", "../x", "a/../../x", "/etc/passwd", "a/", "./..", "link/x", "file", "link/secret", "a\0b"] {
            assert!(logs.append(bad).is_err(), "{bad:?}");
            assert!(logs.read(bad, 0, 10, 1000).is_err(), "{bad:?}");
        }
        assert!(!outside.path().join("x").exists());
        let inside = root.path().join("a/b.log");
        logs.append(inside.to_str().unwrap()).unwrap().write_line("one\ntwo").unwrap();
        assert_eq!(logs.read("a/b.log", 0, 10, 1000).unwrap(), (vec![(8, "one two".to_owned())], false));
        assert_eq!(std::fs::metadata(&inside).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::metadata(root.path().join("a")).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_path_is_not_deep() {
        let root = tempfile::tempdir().unwrap();
        let logs = LogDirectory::new(root.path().join("a/b/c/d"));
        for deep in ["1/2/3/4/5/6/7/8/9".to_owned(), "a/".repeat(509) + "x", format!("{}/1/2/3/4/5/6/7/8/9", logs.root().display())] {
            let refused = logs.append(&deep).unwrap_err();
            assert!(matches!(refused, Error::Deep(_)) && refused.to_string().len() < 400, "{refused}");
        }
        assert!(!logs.root().exists());
        logs.append("1/2/3/4/5/6/7/8").unwrap();
        logs.append(logs.root().join("2/2/3/4/5/6/7/8").to_str().unwrap()).unwrap();
    }

    #[test]
    fn a_directory_that_cannot_be_used_is_named_with_its_setting() {
        let place = tempfile::tempdir().unwrap();
        let (made, file) = (LogDirectory::new(place.path().join("a/b")), place.path().join("file"));
        made.prepare().unwrap();
        assert!(made.root().is_dir());
        std::fs::write(&file, "").unwrap();
        let logs = LogDirectory::new(&file);
        for refused in [logs.prepare().unwrap_err(), logs.append("x.log").unwrap_err()] {
            let told = refused.to_string();
            assert!(told.contains("(log_dir) cannot be used") && told.contains(file.to_str().unwrap()), "{told}");
        }
    }

    #[test]
    fn a_fifo_in_the_way_is_refused() {
        let root = tempfile::tempdir().unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, root.path().join("pipe"), rustix::fs::FileType::Fifo, Mode::RWXU, 0).unwrap();
        assert!(LogDirectory::new(root.path()).read("pipe", 0, 1, 1).is_err());
    }

    #[test]
    fn a_long_file_is_rotated() {
        let root = tempfile::tempdir().unwrap();
        let mut file = LogDirectory::new(root.path()).append("x.log").unwrap();
        file.size = ROTATE_AT;
        file.write_line("new").unwrap();
        assert_eq!(std::fs::read_to_string(root.path().join("x.log")).unwrap(), "new\n");
        assert!(root.path().join("x.log.1").exists());
    }

    #[test]
    fn a_line_that_is_still_being_written_is_left() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("x"), "one\r\ntwo\nthr").unwrap();
        let logs = LogDirectory::new(root.path());
        assert_eq!(logs.read("x", 0, 1, 1000).unwrap(), (vec![(5, "one".to_owned())], true));
        assert_eq!(logs.read("x", 5, 10, 1000).unwrap(), (vec![(9, "two".to_owned())], false));
    }

    #[test]
    fn a_page_ends_by_bytes_and_has_each_line_once() {
        let root = tempfile::tempdir().unwrap();
        let text = |number: usize| format!("{number} {}", "x".repeat(number * 37 % 3000));
        let written: String = (0..200).map(|number| text(number) + "\n").collect();
        // An overlong line is split into pieces, each of which is longer than a page here.
        std::fs::write(root.path().join("x"), written + &*("y".repeat(150_000) + "\n")).unwrap();
        let (logs, mut at, mut all) = (LogDirectory::new(root.path()), 0, Vec::new());
        loop {
            let (lines, full) = logs.read("x", at, 1000, 4096).unwrap();
            assert!(lines.len() == 1 || lines.iter().map(|(_, line)| line.len()).sum::<usize>() <= 4096);
            at = lines.last().map_or(at, |(end, _)| *end);
            all.extend(lines.into_iter().map(|(_, line)| line));
            if !full {
                break;
            }
        }
        let long = all.split_off(200);
        assert_eq!(all, (0..200).map(text).collect::<Vec<_>>());
        assert_eq!((long.len(), long.concat()), (3, "y".repeat(150_000)));
    }
}
