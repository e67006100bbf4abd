use std::collections::HashMap;
use std::time::Duration;

use redis::Pipeline;

use crate::Error;
use crate::value::Text;
use crate::views::Jobs;
use hero_model::{JobId, LogLevel};

/// The approximate number of lines that are kept of a job.
const KEPT_LINES: usize = 10_000;
/// The time for which the log of a vanished job is kept.
const MAX_RETENTION: Duration = Duration::from_secs(8 * 24 * 3600);

impl Jobs<'_> {
    /// Appends lines to the log of a job, and returns the id of the last one, if there is one. The log is kept as long as the job.
    pub async fn append_log(self, job: &JobId, lines: &[(LogLevel, String)]) -> Result<Option<String>, Error> {
        let key = self.0.keys.log(job);
        let mut pipeline = Pipeline::with_capacity(lines.len() + 1);
        for (level, text) in lines {
            pipeline
                .cmd("XADD")
                .arg(&key)
                .arg("MAXLEN")
                .arg("~")
                .arg(KEPT_LINES)
                .arg("*")
                .arg("level")
                .arg(level.as_str())
                .arg("text")
                .arg(text);
        }
        pipeline.cmd("EXPIRE").arg(&key).arg(MAX_RETENTION.as_secs()).ignore();
        Ok(self.0.commands.pipeline::<Vec<String>>(&pipeline).await?.pop())
    }

    /// Counts how many of these lines, from the first on, are the last entries of a log after a given entry, and returns the id of the last
    /// one. A call without an answer wrote them.
    pub async fn appended_to_log(self, job: &JobId, after: &str, lines: &[(LogLevel, String)]) -> Result<(usize, Option<String>), Error> {
        let mut read = redis::cmd("XREVRANGE");
        read.arg(self.0.keys.log(job)).arg("+").arg(format!("({after}")).arg("COUNT").arg(lines.len());
        let mut written: Vec<(String, HashMap<String, Text>)> = self.0.commands.call(&read).await?;
        written.reverse();
        let is = |(_, fields): &(String, HashMap<String, Text>), (level, text): &(LogLevel, String)| {
            let of = |name: &str| fields.get(name).and_then(|text| text.0.as_deref());
            of("level") == Some(level.as_str()) && of("text") == Some(text)
        };
        let begins = |many: &usize| written[written.len() - many..].iter().zip(lines).all(|(entry, line)| is(entry, line));
        let many = (0..=written.len()).rev().find(begins).unwrap_or(0);
        Ok((many, if many > 0 { written.pop().map(|(id, _)| id) } else { None }))
    }
}
