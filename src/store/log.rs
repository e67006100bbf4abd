use std::time::Duration;

use redis::Pipeline;

use super::{Error, Store};
use crate::model::{JobId, LogLevel};

/// How many lines of a job are kept, about.
const LINES: usize = 10_000;
/// How long a log is kept whose job has vanished.
const AT_MOST: Duration = Duration::from_secs(8 * 24 * 3600);

impl Store {
    /// Appends lines to the log of a job. It is kept as long as the job.
    pub async fn append_log(&self, job: &JobId, lines: &[(LogLevel, String)]) -> Result<(), Error> {
        let key = self.keys().log(job);
        let mut pipeline = Pipeline::with_capacity(lines.len() + 1);
        for (level, text) in lines {
            pipeline
                .cmd("XADD")
                .arg(&key)
                .arg("MAXLEN")
                .arg("~")
                .arg(LINES)
                .arg("*")
                .arg("level")
                .arg(level.as_str())
                .arg("text")
                .arg(text)
                .ignore();
        }
        pipeline.cmd("EXPIRE").arg(&key).arg(AT_MOST.as_secs()).ignore();
        self.0.commands.pipeline::<()>(&pipeline).await
    }
}
