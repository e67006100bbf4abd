use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// After a library could not be loaded, scripts do its work for so long.
const LASTS: Duration = Duration::from_secs(10);

/// Since when a Redis refuses to load the library, if it does, and what was said of that.
#[derive(Default)]
pub(super) struct LibraryRefusal {
    since: Mutex<Option<Instant>>,
    /// Whether it was told that scripts do the work,
    told: AtomicBool,
    /// and that there are no functions for actors in other languages.
    told_of_public: AtomicBool,
}

impl LibraryRefusal {
    pub(super) fn lasts(&self) -> bool {
        self.since.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).is_some_and(|since| since.elapsed() < LASTS)
    }

    /// It refuses. What is told of that is told once, until it takes the library again.
    pub(super) fn note(&self, error: &redis::RedisError) {
        *self.since.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(Instant::now());
        if !self.told.swap(true, Ordering::Relaxed) {
            tracing::warn!(%error, "Redis does not load the library of functions; scripts do its work");
        }
    }

    /// It refuses the functions for actors in other languages.
    pub(super) fn note_public(&self, error: &redis::RedisError) {
        if !self.told_of_public.swap(true, Ordering::Relaxed) {
            tracing::warn!(%error, "Redis does not load the functions for actors in other languages, so those cannot work here");
        }
    }

    /// It has taken the library.
    pub(super) fn is_over(&self) {
        self.told.store(false, Ordering::Relaxed);
    }

    /// It has taken those for actors in other languages.
    pub(super) fn is_over_for_public(&self) {
        self.told_of_public.store(false, Ordering::Relaxed);
    }
}
