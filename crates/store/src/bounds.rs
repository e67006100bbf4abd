use crate::views::Limits;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// The limits of a context. Functions get them with each call, so a change holds from the next call on.
#[derive(Debug)]
pub(super) struct ContextBounds {
    queue_length: AtomicUsize,
    max_running: AtomicUsize,
    jobs_per_second: AtomicU32,
    objects: AtomicU64,
}

impl ContextBounds {
    pub(super) fn new(queue_length: usize) -> Self {
        let queue_length = AtomicUsize::new(queue_length);
        Self { queue_length, max_running: AtomicUsize::default(), jobs_per_second: AtomicU32::default(), objects: AtomicU64::default() }
    }

    /// The most jobs in a queue.
    pub(super) fn queue_length(&self) -> usize {
        self.queue_length.load(Ordering::Relaxed)
    }

    /// The most running jobs; 0 is no limit.
    pub(super) fn max_running(&self) -> usize {
        self.max_running.load(Ordering::Relaxed)
    }

    /// The most jobs created in a second; 0 is no limit.
    pub(super) fn jobs_per_second(&self) -> u32 {
        self.jobs_per_second.load(Ordering::Relaxed)
    }

    /// The most bytes of all objects; 0 is no limit.
    pub(super) fn objects(&self) -> u64 {
        self.objects.load(Ordering::Relaxed)
    }
}

impl Limits<'_> {
    /// Limits the length of each queue, from the next call on.
    pub fn set_queues(self, most: usize) {
        self.0.bounds.queue_length.store(most, Ordering::Relaxed);
    }

    /// Limits the number of jobs that run in this context at once; 0 is no limit.
    pub fn set_running(self, most: usize) {
        self.0.bounds.max_running.store(most, Ordering::Relaxed);
    }

    /// Limits the number of jobs that all servers together create in a second; 0 is no limit.
    pub fn set_jobs_per_second(self, most: u32) {
        self.0.bounds.jobs_per_second.store(most, Ordering::Relaxed);
    }

    /// Limits the bytes of all objects together; 0 is no limit.
    pub fn set_objects(self, most: u64) {
        self.0.bounds.objects.store(most, Ordering::Relaxed);
    }

    /// The most running jobs in this context; 0 is no limit.
    pub fn running(self) -> usize {
        self.0.bounds.max_running()
    }
}
