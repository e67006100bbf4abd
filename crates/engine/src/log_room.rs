use super::{LogRecord, size};
use hero_model::LogLevel;

/// The cost of a log line besides its text, in bytes: about its overhead in Redis.
const LINE_OVERHEAD_BYTES: usize = 32;

/// The remaining room in the log of a job.
#[derive(Debug)]
pub(super) struct LogRoom {
    limit: usize,
    bytes: usize,
    is_cut: bool,
}

impl LogRoom {
    /// Makes room for a log of at most `limit` bytes.
    pub(super) const fn new(limit: usize) -> Self {
        Self { limit, bytes: 0, is_cut: false }
    }

    /// Returns the record for a line. The first line that does not fit is replaced by a note that the log ends here,
    /// and the job continues.
    pub(super) fn take(&mut self, level: LogLevel, text: &str) -> Option<LogRecord> {
        if self.is_cut {
            return None;
        }
        self.bytes += cost(text);
        self.is_cut = self.bytes > self.limit;
        Some(match self.is_cut {
            true => {
                let most = size(self.limit);
                let text = format!(
                    "the log is cut here: the script logged more than {most} (script_log), of which each line takes {LINE_OVERHEAD_BYTES} bytes and its text"
                );
                LogRecord { level: LogLevel::Warn, text }
            }
            false => LogRecord { level, text: text.to_owned() },
        })
    }
}

/// The room that a line takes in a log, in bytes.
pub(super) const fn cost(text: &str) -> usize {
    text.len() + LINE_OVERHEAD_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_does_not_fit_is_the_last_and_says_so() {
        let mut room = LogRoom::new(2 * cost("1234"));
        let mut logged = |text| room.take(LogLevel::Info, text).map(|record| (record.level, record.text));
        assert_eq!(logged("1234"), Some((LogLevel::Info, "1234".to_owned())));
        assert_eq!(logged("5678"), Some((LogLevel::Info, "5678".to_owned())));
        let (level, text) = logged("").unwrap();
        assert!(level == LogLevel::Warn && text.contains("more than 72 bytes (script_log)"), "{text}");
        assert_eq!(logged(""), None);
    }
}
