use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::Store;
use hero_model::Timestamp;

/// What servers wait for until its time, by polls and by announcements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DueKind {
    /// Scheduled jobs, and ids in queues whose hash is missing.
    Jobs,
    /// Occurrences of schedules.
    Occurrences,
    /// Operations on flows.
    Flows,
}

impl DueKind {
    /// Maximum pause between two polls. `news.due` announces what is due before the next one.
    pub const POLL_INTERVAL: Duration = Duration::from_secs(1);

    /// Returns the meaning of the first word of a message.
    fn from_word(word: &str) -> Option<Self> {
        match word {
            "jobs" => Some(Self::Jobs),
            "occurrences" => Some(Self::Occurrences),
            "flows" => Some(Self::Flows),
            _ => None,
        }
    }
}

/// Minimum pause of a loop: the precision of times.
const MIN_PAUSE: Duration = Duration::from_millis(1);

/// Minimum length of a wait, so that no announcement keeps a loop busy.
const MIN_WAIT: Duration = Duration::from_millis(10);

/// Announcements of what is due before the next poll. They are hints: polls find what was missed.
#[derive(Debug, Default)]
pub(crate) struct Alarms([Alarm; 3]);

#[derive(Debug, Default)]
struct Alarm {
    /// The announced times: at most one that has passed, and one for each millisecond until the next poll.
    times: Mutex<BTreeSet<Timestamp>>,
    changed: Notify,
}

impl Alarm {
    fn times(&self) -> MutexGuard<'_, BTreeSet<Timestamp>> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Alarms {
    const fn of(&self, kind: DueKind) -> &Alarm {
        &self.0[kind as usize]
    }

    /// Takes an announcement, as another process published it.
    pub(crate) fn hear(&self, message: &str, now: Timestamp) {
        let mut words = message.split(' ');
        let (Some(kind), Some(Ok(due))) = (words.next().and_then(DueKind::from_word), words.next().map(str::parse)) else { return };
        let (alarm, due) = (self.of(kind), Timestamp::from_millis(due).max(now));
        // Any program may publish what it likes. The next poll finds what is due later.
        if due.since(now) <= 2 * DueKind::POLL_INTERVAL {
            let mut times = alarm.times();
            if times.first().is_some_and(|first| *first < now) {
                // Nobody waits here just now.
                times.retain(|time| *time > now);
                times.insert(now);
            }
            times.insert(due);
            alarm.changed.notify_one();
        }
    }
}

impl Store {
    /// Returns the pause until this time, or until the next poll if that is earlier or no time is known.
    pub fn pause_until(&self, due: Option<Timestamp>) -> Duration {
        due.map_or(DueKind::POLL_INTERVAL, |due| due.since(self.clock().now()).clamp(MIN_PAUSE, DueKind::POLL_INTERVAL))
    }

    /// Returns when something is due that was announced. One loop may wait for each kind.
    pub async fn comes_due(&self, kind: DueKind) {
        let alarm = self.0.alarms.of(kind);
        tokio::time::sleep(MIN_WAIT).await;
        loop {
            let first = alarm.times().first().copied();
            let left = first.map(|first| first.since(self.clock().now()));
            tokio::select! {
                () = alarm.changed.notified() => {}
                () = tokio::time::sleep(left.unwrap_or_default()), if left.is_some() => {
                    let now = self.clock().now();
                    alarm.times().retain(|time| *time > now);
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_due_soon_is_kept_and_no_message_does_harm() {
        let (alarms, now) = (Alarms::default(), Timestamp::from_millis(1_000_000));
        for message in ["", "jobs", "jobs x", "jobs ", "others 1000500", "jobs 9000000", "jobs -1 x", "flows 1000200", "jobs 1000500 x"] {
            alarms.hear(message, now);
        }
        let kept = |kind| alarms.of(kind).times().iter().map(|time| time.as_millis()).collect::<Vec<_>>();
        assert_eq!(kept(DueKind::Jobs), [1_000_000, 1_000_500]);
        assert_eq!((kept(DueKind::Occurrences), kept(DueKind::Flows)), (vec![], vec![1_000_200]));
        for later in 0..5000 {
            alarms.hear("jobs 7", now.plus(Duration::from_millis(later)));
        }
        assert_eq!(kept(DueKind::Jobs), [1_004_999], "what has passed is kept once, although nobody waits");
    }
}
