use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// The kernel counts processor time in hundredths of a second.
const TICK: Duration = Duration::from_millis(10);

/// The processor time of one engine: its own, and that of the processes that it has reaped. It remains after the engine
/// has ended.
#[derive(Debug, Default)]
pub struct Meter {
    pid: AtomicU32,
    /// The last value read, in ticks.
    ticks: AtomicU64,
    has_ended: AtomicBool,
}

impl Meter {
    /// Sets the process to measure.
    pub(super) fn begin(&self, pid: u32) {
        self.pid.store(pid, Ordering::Release);
    }

    /// Reads the time for the last time: the process is about to be killed or reaped, and another one may get its
    /// process id then.
    pub(super) fn end(&self) {
        self.read();
        self.has_ended.store(true, Ordering::Release);
    }

    /// The process id of the engine.
    pub fn pid(&self) -> u32 {
        self.pid.load(Ordering::Acquire)
    }

    /// Returns the processor time so far. It never decreases.
    pub fn read(&self) -> Duration {
        let known = self.ticks.load(Ordering::Acquire);
        let now = if self.has_ended.load(Ordering::Acquire) { None } else { ticks(self.pid()) };
        // If the process ended during the read, the value may be that of another process.
        let now = now.filter(|_| !self.has_ended.load(Ordering::Acquire)).unwrap_or(known);
        let most = self.ticks.fetch_max(now, Ordering::AcqRel).max(now);
        TICK.saturating_mul(u32::try_from(most).unwrap_or(u32::MAX))
    }
}

/// The processor time of a process and of the children that it has reaped.
fn ticks(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    fields.get(11..15)?.iter().map(|field| field.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_process_used_is_known_when_it_is_gone() {
        let mut child = std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let meter = Meter::default();
        meter.begin(child.id());
        while meter.read() < TICK * 5 {
            std::thread::yield_now();
        }
        meter.end();
        let used = meter.read();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(used >= TICK * 5 && meter.read() == used, "{used:?}");
    }
}
