use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::engine::EngineJob;
use crate::engine::directory::{make_private, remove};

/// The directory of a job, with its script and its arguments. It is removed with the job.
pub(super) struct JobFiles {
    pub(super) directory: PathBuf,
    pub(super) script: PathBuf,
    pub(super) args: PathBuf,
}

impl JobFiles {
    /// Makes the directory below that of the engine.
    pub(super) fn create(engine: &Path, number: u64, job: &EngineJob, file: &str) -> io::Result<Self> {
        let directory = engine.join(number.to_string());
        make_private(&directory)?;
        let files = Self { script: directory.join(file), args: directory.join("args.json"), directory };
        fs::write(&files.script, &job.script)?;
        let args = job.args.as_ref().map_or("{}", |args| args.as_str());
        File::create(&files.args)?.write_all(args.as_bytes())?;
        Ok(files)
    }
}

impl Drop for JobFiles {
    fn drop(&mut self) {
        // What cannot be removed now is removed with the directory of the engine.
        let _ = remove(&self.directory);
    }
}
