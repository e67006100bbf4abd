use crate::Error;
use crate::library::fcall::Function;
use crate::value::Text;
use crate::views::Jobs;
use hero_model::{JobId, LogLevel, LogLine, Timestamp};

const FUNCTION: Function = Function("read_lines");

/// Lines of a job's log.
#[derive(Debug, Default)]
pub struct LogLines {
    /// The lines, oldest first.
    pub lines: Vec<LogLine>,
    /// Whether lines between the cursor and the first of these are gone.
    pub lost: bool,
    /// Whether the page is full, so that more may follow at once.
    pub full: bool,
}

impl Jobs<'_> {
    /// Returns the lines of a job's log after `cursor`: at most `limit`, and about `bytes` of them unless the first is longer. Of a line of
    /// more than 256 KB, which no script of hero writes, only the beginning is read, and the line says so.
    pub async fn read_lines(self, job: &JobId, cursor: Option<&str>, limit: usize, bytes: usize) -> Result<LogLines, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(job.as_str()).arg(cursor.unwrap_or_default()).arg(limit).arg(bytes);
        let answer: Vec<Text> = self.0.commands.function(&call).await?;
        let [there, full, entries @ ..] = &*answer else { return Err(super::unexpected("read_lines", &answer)) };
        let (there, full) = (there.parse() == Some(1), full.parse() == Some(1));
        let lines: Vec<LogLine> = entries.chunks_exact(3).map(|entry| line(&entry[0], &entry[1], &entry[2])).collect();
        Ok(LogLines { lost: cursor.is_some() && !there && !lines.is_empty(), lines, full })
    }
}

fn line(cursor: &Text, level: &Text, text: &Text) -> LogLine {
    let of = |text: &Text| text.0.clone().unwrap_or_default();
    let cursor = of(cursor);
    LogLine {
        time: cursor.split_once('-').and_then(|(millis, _)| millis.parse().ok()).map(Timestamp::from_millis),
        level: LogLevel::parse(&of(level)),
        text: of(text),
        cursor,
    }
}
