use std::sync::Mutex;
use std::time::{Duration, Instant};

/// After a library could not be loaded, scripts do its work for so long.
const LASTS: Duration = Duration::from_secs(10);

/// Since when a Redis refuses to load the library, if it does.
#[derive(Default)]
pub(super) struct LibraryRefusal(Mutex<Option<Instant>>);

impl LibraryRefusal {
    pub(super) fn lasts(&self) -> bool {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).is_some_and(|since| since.elapsed() < LASTS)
    }

    pub(super) fn note(&self) {
        *self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(Instant::now());
    }
}
