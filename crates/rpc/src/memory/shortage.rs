use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{Budget, Side};

/// How often the log says at most that a budget is used up.
const SILENCE: Duration = Duration::from_secs(60);

/// How many have waited since the log last said so, and when that was.
static SAID: Mutex<(u64, Option<Instant>)> = Mutex::new((0, None));

/// A request or a call that waits because a budget is used up.
#[derive(Debug, Default)]
pub(super) struct Shortage {
    is_noted: bool,
}

impl Shortage {
    /// Notes that it has waited for a while. What one connection uses by itself is its own matter, so the log does not say that.
    pub(super) fn note(&mut self, budget: &Budget) {
        if std::mem::replace(&mut self.is_noted, true) {
            return;
        }
        metrics::counter!("hero_rpc_held_full_total", "setting" => budget.setting).increment(1);
        let Some(of) = budget.of else { return };
        let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
        let (waited, last) = &mut *said;
        *waited += 1;
        if last.is_some_and(|last| last.elapsed() < SILENCE) {
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
