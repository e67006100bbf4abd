use std::sync::{Arc, Mutex, PoisonError};

/// Whether log files can be written now, according to the last attempt. Shared by all clones of a directory and by
/// those of its contexts.
#[derive(Debug, Clone, Default)]
pub(super) struct Health(Arc<Mutex<Option<String>>>);

impl Health {
    /// Notes why a file could not be used. Returns true if files could be used before.
    pub(super) fn fail(&self, why: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).replace(why.to_owned()).is_none()
    }

    /// Notes that a file was written. Returns true if files could not be used before.
    pub(super) fn work(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take().is_some()
    }

    pub(super) fn failing(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
