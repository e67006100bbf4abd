use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::journal::Journal;
use super::record::{Outcome, Record};
use super::state::Shared;

/// Time for which records are collected before they are written, unless a caller waits for them. A process that is
/// killed loses at most this much.
const COLLECT_TIME: Duration = Duration::from_millis(25);
/// Interval at which written data is flushed to the disk, a failed log is tried again, and counted refusals are
/// checked.
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);

/// The thread that writes the log.
pub(super) struct Writer {
    shared: Arc<Shared>,
    journal: Journal,
    /// The records taken from the queue and not yet written.
    records: VecDeque<Record>,
    /// The callers that wait until these records are written.
    waiting: Vec<oneshot::Sender<()>>,
    synced: Instant,
}

impl Writer {
    pub(super) fn new(shared: Arc<Shared>, journal: Journal) -> Self {
        Self { shared, journal, records: VecDeque::new(), waiting: Vec::new(), synced: Instant::now() }
    }

    /// Writes until the log is closed.
    pub(super) fn run(mut self) {
        loop {
            let closing = self.collect();
            if closing {
                self.records.push_back(Record::of_server("audit_stop", Outcome::Ok, None));
            }
            let failed = self.write(closing).err().map(|error| error.to_string());
            self.tell(failed.as_deref());
            if closing {
                if failed.is_some() {
                    tracing::error!(records = self.records.len(), "so many records of the audit log were not written when it ended");
                }
                break;
            }
        }
        // A caller that waits for the end may open the log again.
        let shared = Arc::clone(&self.shared);
        drop(self);
        shared.ended.cancel();
    }

    /// Collects the records to write. Returns whether they are the last.
    fn collect(&mut self) -> bool {
        let mut state = self.shared.lock();
        let failing = state.failing.is_some();
        loop {
            let something = !state.queue.is_empty() && !failing || !state.waiting.is_empty();
            if something || state.closing {
                break;
            }
            let timed = failing || self.journal.is_unsynced() || !state.repeats.is_empty() || state.lost.is_some();
            state.idle = !failing;
            if timed {
                let (woken, waited) =
                    self.shared.wake.wait_timeout(state, FLUSH_INTERVAL).unwrap_or_else(std::sync::PoisonError::into_inner);
                state = woken;
                if waited.timed_out() {
                    break;
                }
            } else {
                state = self.shared.wake.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner);
            }
        }
        state.idle = false;
        if state.waiting.is_empty() && !state.closing && !state.queue.is_empty() {
            let collected = |state: &mut super::state::State| state.waiting.is_empty() && !state.closing;
            let waited = self.shared.wake.wait_timeout_while(state, COLLECT_TIME, collected);
            state = waited.unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
        self.records.append(&mut state.queue);
        self.waiting.append(&mut state.waiting);
        state.bytes = self.records.iter().map(Record::weight).sum();
        let closing = state.closing;
        // While the log cannot be written, counted refusals stay counted.
        if !failing || closing {
            self.records.extend(state.repeats.due(Instant::now(), closing));
        }
        if (!failing || closing)
            && let Some((count, since)) = state.lost.take()
        {
            let lost = Record {
                count: Some((count, since)),
                ..Record::of_server("audit_lost", Outcome::Bad, Some("so many records had no room".to_owned()))
            };
            self.records.push_back(lost);
        }
        state.taken = self.records.len();
        closing
    }

    fn write(&mut self, closing: bool) -> Result<(), super::Error> {
        self.journal.write(&mut self.records)?;
        if closing || self.synced.elapsed() >= FLUSH_INTERVAL {
            self.synced = Instant::now();
            self.journal.sync()?;
        }
        Ok(())
    }

    /// Reports the result: to the waiting callers, and once in the server's log.
    fn tell(&mut self, failed: Option<&str>) {
        let mut state = self.shared.lock();
        (state.taken, state.bytes) = (self.records.len(), self.records.iter().chain(&state.queue).map(Record::weight).sum());
        // A caller that gave up waiting needs no answer.
        self.waiting.drain(..).for_each(|told| {
            let _ = told.send(());
        });
        match (failed, &state.failing) {
            (Some(why), None) => {
                tracing::error!("{why}; changes are refused until it can be written, and it is tried again every second");
                metrics::gauge!("hero_audit_failing").set(1.0);
            }
            (None, Some(_)) => {
                tracing::info!("the audit log can be written again");
                metrics::gauge!("hero_audit_failing").set(0.0);
            }
            // Set these too, so that metrics show that nothing is wrong.
            (None, None) => {
                metrics::gauge!("hero_audit_failing").set(0.0);
                metrics::counter!("hero_audit_lost_total").increment(0);
            }
            (Some(_), Some(_)) => {}
        }
        state.failing = failed.map(str::to_owned);
    }
}
