use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// After a library could not be loaded, scripts replace it for this long.
const REFUSAL_LIFETIME: Duration = Duration::from_secs(10);

/// The time since which a Redis refuses to load the library, if it does, and the log messages about it so far.
#[derive(Default)]
pub(crate) struct LibraryRefusal {
    since: Mutex<Option<Instant>>,
    /// Whether the log says that scripts do the work,
    told: AtomicBool,
    /// and whether it says that actors in other languages have no functions.
    told_of_public: AtomicBool,
}

impl LibraryRefusal {
    pub(crate) fn lasts(&self) -> bool {
        self.since.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).is_some_and(|since| since.elapsed() < REFUSAL_LIFETIME)
    }

    /// Records that Redis refuses the library. The log says so once until Redis takes it again.
    pub(crate) fn note(&self, error: &redis::RedisError) {
        *self.since.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(Instant::now());
        if !self.told.swap(true, Ordering::Relaxed) {
            tracing::warn!(%error, "Redis does not load the library of functions; scripts do its work");
        }
    }

    /// Records that Redis refuses the functions for actors in other languages.
    pub(crate) fn note_public(&self, error: &redis::RedisError) {
        if !self.told_of_public.swap(true, Ordering::Relaxed) {
            tracing::warn!(%error, "Redis does not load the functions for actors in other languages, so those cannot work here");
        }
    }

    /// Records that Redis has taken the library.
    pub(crate) fn is_over(&self) {
        self.told.store(false, Ordering::Relaxed);
    }

    /// Records that Redis has taken the functions for actors in other languages.
    pub(crate) fn is_over_for_public(&self) {
        self.told_of_public.store(false, Ordering::Relaxed);
    }
}
