use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::EngineJob;
use crate::directory::{make_private, remove};
use hero_process::confine::JobUser;

/// The mode of a script: all rights for its owner, none for others.
const PRIVATE: u32 = 0o700;

/// The directory of a job, with its script and its arguments. It is removed with the job.
pub(crate) struct JobFiles {
    pub(super) directory: PathBuf,
    pub(super) script: PathBuf,
    pub(super) args: PathBuf,
    /// The owner of the files.
    pub(super) user: JobUser,
}

impl JobFiles {
    /// Makes the directory below that of the engine.
    pub(super) fn create(engine: &Path, number: u64, job: &EngineJob, file: &str, user: &JobUser) -> io::Result<Self> {
        let directory = engine.join(number.to_string());
        make_private(&directory)?;
        let files = Self { script: directory.join(file), args: directory.join("args.json"), directory, user: user.clone() };
        // The script may be executable by its first line.
        OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(&files.script)?.write_all(job.script.as_bytes())?;
        user.give(&files.script)?;
        files.write(&files.args, job.args.as_ref().map_or("{}", |args| args.as_str()))?;
        user.give(&files.directory)?;
        Ok(files)
    }

    /// Writes a file of the job.
    pub(super) fn write(&self, path: &Path, contents: impl AsRef<[u8]>) -> io::Result<()> {
        fs::write(path, contents)?;
        self.user.give(path)
    }
}

impl Drop for JobFiles {
    fn drop(&mut self) {
        // Files that cannot be removed now are removed with the directory of the engine.
        let _ = remove(&self.directory);
    }
}
