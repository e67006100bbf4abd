use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::service::Service;
use crate::store::{Error, JobFilter, Store};

/// Whether Redis is so full that new jobs are refused.
#[derive(Debug, Default)]
pub(super) struct Pressure {
    refusing: AtomicBool,
}

impl Pressure {
    /// Whether new jobs are taken.
    pub(super) fn admits_jobs(&self) -> bool {
        !self.refusing.load(Ordering::Relaxed)
    }
}

/// Keeps Redis from growing: takes ended jobs out of the index, and the oldest finished ones away when memory is short.
pub struct Pruner {
    store: Store,
    pressure: Arc<Pressure>,
    /// The hour that is being walked, and how far.
    place: Option<(String, usize)>,
    tidied: Option<Instant>,
    walked: Option<Instant>,
}

/// From this share of `maxmemory` the oldest finished jobs go.
const SHORT: f64 = 0.7;
/// From this share new jobs are refused.
const FULL: f64 = 0.9;
/// Actors and queues that are gone are forgotten this often.
const TIDY: Duration = Duration::from_secs(5);
/// The index is walked this often.
const WALK: Duration = Duration::from_secs(60);

impl Pruner {
    /// A pruner for one context.
    pub(super) fn new(store: Store, pressure: Arc<Pressure>) -> Self {
        Self { store, pressure, place: None, tidied: None, walked: None }
    }

    async fn relieve(&self) -> Result<(), Error> {
        let facts = self.store.store_info().await?;
        let share = if facts.max_memory == 0 { 0.0 } else { facts.used_memory as f64 / facts.max_memory as f64 };
        self.pressure.refusing.store(share >= FULL, Ordering::Relaxed);
        if share < SHORT {
            return Ok(());
        }
        let gone =
            self.store.delete_oldest(&JobFilter { status: Some(crate::model::Status::Finished), ..JobFilter::default() }, 1000).await?;
        metrics::counter!("hero_jobs_evicted_total", self.store.labels([])).increment(gone as u64);
        tracing::warn!(
            used = facts.used_memory,
            limit = facts.max_memory,
            jobs = gone,
            "memory is short: the oldest finished jobs were deleted"
        );
        Ok(())
    }

    /// One chunk of one hour. True: the walk is over.
    async fn walk(&mut self) -> Result<bool, Error> {
        let (hour, from) = match self.place.take() {
            Some(place) => place,
            None => match self.store.index_hours().await?.into_iter().next() {
                Some(hour) => (hour, 0),
                None => return Ok(true),
            },
        };
        if let Some(from) = self.store.prune_index(&hour, from).await? {
            self.place = Some((hour, from));
            return Ok(false);
        }
        self.place = self.store.index_hours().await?.into_iter().find(|later| *later > hour).map(|hour| (hour, 0));
        Ok(self.place.is_none())
    }
}

impl Service for Pruner {
    type Error = Error;

    const NAME: &'static str = "pruner";

    async fn tick(&mut self) -> Result<Duration, Error> {
        self.relieve().await?;
        if self.tidied.is_none_or(|at| at.elapsed() >= TIDY) {
            self.store.tidy().await?;
            self.tidied = Some(Instant::now());
        }
        if self.walked.is_none_or(|at| at.elapsed() >= WALK) {
            // At most so many chunks a round; the rest comes in the next.
            for _ in 0..32 {
                if self.walk().await? {
                    self.walked = Some(Instant::now());
                    break;
                }
            }
        }
        Ok(Duration::from_secs(1))
    }
}
