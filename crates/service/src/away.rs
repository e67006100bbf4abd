//! Work that is too long for the threads that serve connections.

/// Up to this many bytes are processed in place; more go to threads that do not serve connections.
pub const MAX_IN_PLACE_BYTES: usize = 8 << 10;

/// Runs work on this many bytes. Unless they are few, uses a thread that does not serve connections. Returns `None` if
/// the work panicked, or the process is about to end.
pub async fn away<T: Send + 'static>(bytes: usize, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    if bytes <= MAX_IN_PLACE_BYTES { Some(work()) } else { tokio::task::spawn_blocking(work).await.ok() }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[tokio::test]
    async fn much_work_leaves_the_thread_that_serves_connections() {
        let here = thread::current().id();
        assert_eq!(away(MAX_IN_PLACE_BYTES, || thread::current().id()).await, Some(here));
        assert_ne!(away(MAX_IN_PLACE_BYTES + 1, || thread::current().id()).await, Some(here));
        assert_eq!(away(MAX_IN_PLACE_BYTES + 1, || panic!("intended")).await, None::<()>);
    }
}
