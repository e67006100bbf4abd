use std::convert::Infallible;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::engine::trim_heap;
use crate::service::Service;

/// How often it is looked at whether this process rests.
const PERIOD: Duration = Duration::from_secs(1);
/// It rests if it used less of the processor than this since the last look.
const REST: Duration = Duration::from_millis(50);
/// There is something to give back once it has worked for so long.
const WORK: Duration = Duration::from_millis(50);

/// Has the allocator give back what it holds and nobody uses, when this process rests after work: after its start above all, and after a burst of calls.
#[derive(Debug, Default)]
pub(crate) struct Trimmer {
    /// The processor time of this process at the last look.
    looked: Duration,
    /// The same when memory was given back.
    trimmed: Duration,
}

impl Trimmer {
    /// Whether there is something to give back now, and nobody who would wait meanwhile.
    fn is_due(&mut self, used: Duration) -> bool {
        let rests = used.saturating_sub(std::mem::replace(&mut self.looked, used)) < REST;
        let due = rests && used.saturating_sub(self.trimmed) >= WORK;
        if due {
            self.trimmed = used;
        }
        due
    }
}

impl Service for Trimmer {
    type Error = Infallible;

    const NAME: &'static str = "trimmer";

    async fn tick(&mut self) -> Result<Duration, Infallible> {
        if self.is_due(processor_time()) {
            trim_heap();
        }
        Ok(PERIOD)
    }
}

/// What this process has used of the processor.
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
