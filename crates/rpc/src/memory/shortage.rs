use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{Budget, Side};

/// The shortest interval between log lines about full budgets.
const LOG_INTERVAL: Duration = Duration::from_secs(60);

/// The number of waits since the last log line, and the time of that line.
static SAID: Mutex<(u64, Option<Instant>)> = Mutex::new((0, None));

/// A request or a call that waits because a budget is full.
#[derive(Debug, Default)]
pub(super) struct Shortage {
    is_noted: bool,
}

impl Shortage {
    /// Records that it has waited for a while. A full budget of a single connection concerns only its client, so it is not logged.
    pub(super) fn note(&mut self, budget: &Budget) {
        if std::mem::replace(&mut self.is_noted, true) {
            return;
        }
        metrics::counter!("hero_rpc_held_full_total", "setting" => budget.setting).increment(1);
        let Some(of) = budget.of else { return };
        let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
        let (waited, last) = &mut *said;
        *waited += 1;
        if last.is_some_and(|last| last.elapsed() < LOG_INTERVAL) {
            return;
        }
        tracing::warn!(
            setting = budget.setting,
            bytes = budget.limit,
            logged_in = of == Side::Known,
            waited = *waited,
            "requests wait, because as much memory as may be is held for requests that arrive or are answered, and for answers that are not read"
        );
        *said = (0, Some(Instant::now()));
    }
}
