use std::time::Duration;

use redis::Pipeline;
use redis::streams::StreamRangeReply;

use super::{Error, Store};
use crate::model::{JobId, LogLevel, LogLine, Timestamp};

/// A job keeps about so many lines.
const LINES: usize = 10_000;
/// A log outlives a job that vanished by no more than this.
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

    /// The lines of a job's log behind `cursor`, at most `limit`, and whether lines between are gone.
    pub async fn read_log(&self, job: &JobId, cursor: Option<&str>, limit: usize) -> Result<(Vec<LogLine>, bool), Error> {
        // With the line at the cursor: where it is missing, others behind it may be.
        let mut range = redis::cmd("XRANGE");
        range.arg(self.keys().log(job)).arg(cursor.unwrap_or("-")).arg("+").arg("COUNT").arg(limit + usize::from(cursor.is_some()));
        let reply: StreamRangeReply = self.0.commands.call(&range).await?;
        let mut entries = reply.ids;
        let there = entries.first().is_some_and(|entry| Some(entry.id.as_str()) == cursor);
        if there {
            entries.remove(0);
        }
        entries.truncate(limit);
        let lost = cursor.is_some() && !there && !entries.is_empty();
        let line = |entry: redis::streams::StreamId| LogLine {
            time: entry.id.split_once('-').and_then(|(millis, _)| millis.parse().ok()).map(Timestamp::from_millis),
            level: entry.get::<String>("level").map_or(LogLevel::Info, |word| LogLevel::parse(&word)),
            text: entry.get("text").unwrap_or_default(),
            cursor: entry.id,
        };
        Ok((entries.into_iter().map(line).collect(), lost))
    }
}
