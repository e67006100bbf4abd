use std::convert::Infallible;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::engine::trim_heap;
use crate::service::Service;

/// Interval at which this process is checked for rest.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// The process rests if it used less processor time than this since the last check.
const REST_TIME: Duration = Duration::from_millis(50);
/// Memory is given back only after at least this much processor time.
const MIN_WORK_TIME: Duration = Duration::from_millis(50);

/// Makes the allocator give unused memory back to the system when this process rests after work: above all after its
/// start, and after a burst of calls.
#[derive(Debug, Default)]
pub(crate) struct Trimmer {
    /// The processor time at the last check.
    looked: Duration,
    /// The processor time when memory was last given back.
    trimmed: Duration,
}

impl Trimmer {
    /// Whether memory should be given back now: there was work before, and no caller would wait.
    fn is_due(&mut self, used: Duration) -> bool {
        let rests = used.saturating_sub(std::mem::replace(&mut self.looked, used)) < REST_TIME;
        let due = rests && used.saturating_sub(self.trimmed) >= MIN_WORK_TIME;
        if due {
            self.trimmed = used;
        }
        due
    }
}

impl Service for Trimmer {
    type Error = Infallible;

    const NAME: &'static str = "returning memory to the system";

    async fn tick(&mut self) -> Result<Duration, Infallible> {
        if self.is_due(processor_time()) {
            trim_heap();
        }
        Ok(CHECK_INTERVAL)
    }
}

/// Returns the processor time used by this process.
fn processor_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_given_back_once_after_work_and_never_while_there_is_some() {
        let mut trimmer = Trimmer::default();
        let looks = [
            (500, false),
            (540, true),
            (560, false),
            (580, false),
            (700, false),
            (740, true),
            (1700, false),
            (1740, true),
            (1780, false),
            (1800, true),
        ];
        for (used, due) in looks {
            assert_eq!(trimmer.is_due(Duration::from_millis(used)), due, "{used} ms");
        }
    }
}
