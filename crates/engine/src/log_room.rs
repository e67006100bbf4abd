use super::{LogRecord, size};
use hero_model::LogLevel;

/// What a line of a log costs besides its text, in bytes: about what it takes in Redis.
const LINE: usize = 32;

/// The room that the log of a job still has.
#[derive(Debug)]
pub(super) struct LogRoom {
    limit: usize,
    bytes: usize,
    is_cut: bool,
}

impl LogRoom {
    /// For a log of at most so many bytes.
    pub(super) const fn new(limit: usize) -> Self {
        Self { limit, bytes: 0, is_cut: false }
    }

    /// What is logged of a line. In place of the first that does not fit the log says so and ends, and the job goes on.
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
                    "the log is cut here: the script logged more than {most} (script_log), of which each line takes {LINE} bytes and its text"
                );
                LogRecord { level: LogLevel::Warn, text }
            }
            false => LogRecord { level, text: text.to_owned() },
        })
    }
}

/// How many bytes of a log a line takes.
pub(super) const fn cost(text: &str) -> usize {
    text.len() + LINE
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
