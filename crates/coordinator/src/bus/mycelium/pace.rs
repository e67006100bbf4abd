//! The interval at which a node is asked for messages: short during traffic, long at rest.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

/// The minimum pause between two requests, and the maximum, at rest. An unexpected envelope waits up to the maximum.
const MIN_PAUSE: Duration = Duration::from_millis(20);
const MAX_PAUSE: Duration = Duration::from_secs(1);
/// A pause is this fraction of the time since the last traffic, so that an answer waits at most this fraction of the
/// time that it took.
const PAUSE_FRACTION: u32 = 100;

/// The pace of requests.
pub(super) struct Pace {
    times: Mutex<Times>,
    hurry: Notify,
}

struct Times {
    /// The time of the last traffic, in either direction.
    traffic: Instant,
    /// The time of the last request.
    asked: Option<Instant>,
}

impl Times {
    /// Notes a request and returns `Ok` if one is due; otherwise returns when it is.
    fn ask(&mut self, now: Instant) -> Result<(), Instant> {
        let pause = (now.saturating_duration_since(self.traffic) / PAUSE_FRACTION).clamp(MIN_PAUSE, MAX_PAUSE);
        match self.asked.map(|asked| asked + pause) {
            Some(due) if due > now => Err(due),
            _ => {
                self.asked = Some(now);
                Ok(())
            }
        }
    }
}

impl Pace {
    pub(super) fn new(now: Instant) -> Self {
        Self { times: Mutex::new(Times { traffic: now, asked: None }), hurry: Notify::new() }
    }

    fn times(&self) -> MutexGuard<'_, Times> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes traffic: more is expected soon.
    pub(super) fn traffic(&self) {
        self.times().traffic = Instant::now();
        self.hurry.notify_one();
    }

    /// Waits until the next request is due, or until `until`. Returns true if it is due, and notes it.
    pub(super) async fn next(&self, until: Instant) -> bool {
        loop {
            let now = Instant::now();
            let Err(due) = self.times().ask(now) else { return true };
            if until <= now {
                return false;
            }
            tokio::select! {
                () = sleep(due.min(until) - now) => {}
                () = self.hurry.notified() => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_node_is_asked_often_after_traffic_and_at_most_once_a_second_at_rest() {
        let mut now = Instant::now();
        let mut times = Times { traffic: now, asked: None };
        let mut asked = |times: &mut Times, time: Duration| {
            let (until, mut asked) = (now + time, 0);
            while now < until {
                match times.ask(now) {
                    Ok(()) => asked += 1,
                    Err(due) => now = due.min(until),
                }
            }
            asked
        };
        // The first one at once.
        assert_eq!(asked(&mut times, Duration::from_secs(2)), 100);
        let slower = asked(&mut times, Duration::from_secs(98));
        assert!((300..500).contains(&slower), "{slower}");
        let at_rest = asked(&mut times, Duration::from_secs(3600));
        assert!((3599..=3601).contains(&at_rest), "{at_rest}");
        times.traffic += Duration::from_secs(3700);
        assert_eq!(asked(&mut times, Duration::from_secs(1)), 50);
    }
}
