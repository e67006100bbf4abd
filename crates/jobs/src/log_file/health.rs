use std::sync::{Arc, Mutex, PoisonError};

/// Whether log files can be written now, as the last who tried found. Shared by all clones of a directory and by those of its contexts.
#[derive(Debug, Clone, Default)]
pub(super) struct Health(Arc<Mutex<Option<String>>>);

impl Health {
    /// Notes why a file could not be used. Says whether that is news.
    pub(super) fn fail(&self, why: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).replace(why.to_owned()).is_none()
    }

    /// Notes that a file was written. Says whether that is news.
    pub(super) fn work(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take().is_some()
    }

    pub(super) fn failing(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
