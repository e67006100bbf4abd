use std::sync::Arc;
use std::time::{Duration, Instant};

use super::pressure::Pressure;
use hero_service::Service;
use hero_store::{Error, Pace, Pruning, Store};

/// Keeps Redis from growing: removes jobs that are gone from the indexes, and deletes the oldest finished jobs when
/// memory is short.
pub struct Pruner {
    store: Store,
    pressure: Arc<Pressure>,
    position: Option<Walk>,
    relief: Relief,
    tidied: Option<Instant>,
    tidied_libraries: Option<Instant>,
    /// The last warnings about sets that are too large.
    overfull: Vec<String>,
    pace: Pace,
}

/// The pruner's position in the indexes: first all hours, the oldest first, then the indexes by status.
#[derive(Debug, Clone, PartialEq)]
enum Walk {
    Hour(String, Pruning),
    Status(&'static str, usize),
}

/// The search for jobs that may be deleted before their time.
///
/// Each round continues where the last one stopped, so that many jobs that must stay do not hide those that may be
/// deleted.
#[derive(Debug, Default)]
struct Relief {
    position: Option<(String, usize)>,
    /// The number of jobs deleted since the walk through the index began.
    gone: usize,
    /// Whether jobs that ended in error may be deleted, too: there was nothing else, and new jobs are refused.
    errors: bool,
    /// The end of the last walk that found nothing.
    in_vain: Option<Instant>,
}

/// Maximum time that one round deletes jobs.
const MAX_ROUND_TIME: Duration = Duration::from_millis(300);
/// The pause after a walk that found nothing to delete.
const EMPTY_WALK_PAUSE: Duration = Duration::from_secs(5);
/// The interval at which actors and queues that are gone are forgotten.
const TIDY_INTERVAL: Duration = Duration::from_secs(5);
/// The interval at which functions of other versions are removed.
const LIBRARY_TIDY_INTERVAL: Duration = Duration::from_secs(60);
/// The index by status of jobs that ended in error.
const ERROR: &str = "error";
/// The index of foreign jobs that were abandoned long ago.
const LEFT: &str = "left";
/// The indexes are walked at this interval while keys are added. Otherwise jobs still expire, but their remains in a
/// list do not grow, so the interval increases, up to `MAX_WALK_INTERVAL`.
const WALK_INTERVAL: Duration = Duration::from_secs(60);
const MAX_WALK_INTERVAL: Duration = Duration::from_secs(900);

impl Pruner {
    /// Creates a pruner for one context that shares its measure of memory with no other part.
    #[doc(hidden)]
    pub fn alone(store: Store) -> Self {
        Self::new(store, Arc::default())
    }

    /// Creates a pruner for one context.
    pub(super) fn new(store: Store, pressure: Arc<Pressure>) -> Self {
        Self {
            store,
            pressure,
            position: None,
            relief: Relief::default(),
            tidied: None,
            tidied_libraries: None,
            overfull: Vec::new(),
            pace: Pace::up_to(MAX_WALK_INTERVAL),
        }
    }

    /// Checks how full Redis is, and deletes jobs before their time while it is too full.
    async fn relieve(&mut self) -> Result<(), Error> {
        let began = Instant::now();
        let mut gone = 0;
        while self.is_short().await? && began.elapsed() < MAX_ROUND_TIME {
            if self.relief.in_vain.is_some_and(|at| at.elapsed() < EMPTY_WALK_PAUSE) {
                break;
            }
            match self.relieve_a_little().await? {
                Some(deleted) => gone += deleted,
                None => break,
            }
        }
        if gone > 0 {
            metrics::counter!("hero_jobs_evicted_total", self.store.labels([])).increment(gone as u64);
            tracing::debug!(jobs = gone, "memory is short: finished jobs were deleted before their time");
        }
        Ok(())
    }

    async fn is_short(&self) -> Result<bool, Error> {
        let (used, limit) = self.store.health().look_at_memory().await?;
        self.pressure.note(used, limit);
        Ok(self.pressure.is_short())
    }

    /// Checks the next few jobs. Returns the number of deleted jobs, or `None` at the end of the index.
    async fn relieve_a_little(&mut self) -> Result<Option<usize>, Error> {
        let relief = &mut self.relief;
        let (hour, from) = match relief.position.take() {
            Some(position) => position,
            None => match hour_after(&self.store, None).await? {
                Some(hour) => (hour, 0),
                None => return Ok(None),
            },
        };
        let evicted = self.store.maintenance().evict(&hour, from, relief.errors).await?;
        relief.gone += evicted.gone;
        relief.position = match evicted.next {
            Some(next) => Some((hour, next)),
            None => hour_after(&self.store, Some(&hour)).await?.map(|hour| (hour, 0)),
        };
        if relief.position.is_none() {
            let in_vain = std::mem::take(&mut relief.gone) == 0;
            let more = in_vain && !relief.errors && !self.pressure.admits_jobs();
            (relief.errors, relief.in_vain) = (more, (in_vain && !more).then(Instant::now));
            return Ok((evicted.gone > 0).then_some(evicted.gone));
        }
        Ok(Some(evicted.gone))
    }

    /// Starts a walk if one is due.
    async fn begins_walk(&mut self) -> Result<bool, Error> {
        let keys = self.store.health().number_of_keys().await?;
        let is_due = self.pace.is_due(keys, Instant::now());
        if is_due {
            self.pace.begin(keys);
        }
        Ok(is_due)
    }

    /// Walks through one chunk of one index. Returns true if the walk is over.
    async fn walk(&mut self) -> Result<bool, Error> {
        let position = match self.position.take() {
            Some(position) => position,
            None => self.hour_or_status(None).await?,
        };
        self.position = match position {
            Walk::Hour(hour, at) => Some(match self.store.maintenance().prune(&hour, at).await? {
                Some(at) => Walk::Hour(hour, at),
                None => self.hour_or_status(Some(&hour)).await?,
            }),
            // When it begins, all hours have put in what was missing.
            Walk::Status(status, from) => {
                match self.store.maintenance().clean_status_index(status, from, status == ERROR && from == 0).await? {
                    Some(from) => Some(Walk::Status(status, from)),
                    None => (status == ERROR).then_some(Walk::Status(LEFT, 0)),
                }
            }
        };
        Ok(self.position.is_none())
    }

    async fn hour_or_status(&self, after: Option<&str>) -> Result<Walk, Error> {
        let hour = hour_after(&self.store, after).await?;
        Ok(hour.map_or(Walk::Status(ERROR, 0), |hour| Walk::Hour(hour, Pruning::default())))
    }
}

/// Returns the first hour of the index after this one, or the first of all without one.
async fn hour_after(store: &Store, hour: Option<&str>) -> Result<Option<String>, Error> {
    Ok(store.maintenance().index_hours().await?.into_iter().find(|later| hour.is_none_or(|hour| later.as_str() > hour)))
}

impl Service for Pruner {
    type Error = Error;

    const NAME: &'static str = "removing deleted jobs from lists, and freeing memory in Redis";

    async fn tick(&mut self) -> Result<Duration, Error> {
        self.relieve().await?;
        if self.position.is_some() || self.begins_walk().await? {
            // Limits the number of chunks in one round; the rest comes in the next.
            for _ in 0..32 {
                if self.walk().await? {
                    self.pace.end(WALK_INTERVAL, Instant::now());
                    break;
                }
            }
        }
        if self.tidied.is_none_or(|at| at.elapsed() >= TIDY_INTERVAL) {
            // Also if it fails: a command that this Redis user may not run is not tried every second.
            self.tidied = Some(Instant::now());
            // First, so that whatever else cannot be done now is no reason not to say why.
            self.store.maintenance().name_spoilt().await?;
            self.store.maintenance().keep_public_functions().await?;
            self.store.maintenance().tidy().await?;
            let overfull = self.store.health().overfull().await?;
            overfull.iter().filter(|words| !self.overfull.contains(words)).for_each(|words| tracing::warn!("{words}"));
            self.overfull = overfull;
        }
        if self.tidied_libraries.is_none_or(|at| at.elapsed() >= LIBRARY_TIDY_INTERVAL) {
            self.tidied_libraries = Some(Instant::now());
            self.store.maintenance().tidy_libraries().await?;
        }
        Ok(Duration::from_secs(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of walks in this time, for the number of keys after each second.
    fn walks(pace: &mut Pace, time: std::ops::Range<u64>, began: Instant, keys: impl Fn(u64) -> u64) -> usize {
        let mut walks = 0;
        for second in time {
            let now = began + Duration::from_secs(second);
            if pace.is_due(keys(second), now) {
                pace.begin(keys(second));
                pace.end(WALK_INTERVAL, now);
                walks += 1;
            }
        }
        walks
    }

    #[test]
    fn indexes_are_walked_each_minute_where_keys_come_and_hardly_ever_at_rest() {
        let (mut pace, began, hour) = (Pace::up_to(MAX_WALK_INTERVAL), Instant::now(), 3600);
        // The first walk, those with growing pauses, and one each quarter of an hour; also while replies and jobs are
        // deleted.
        let at_rest = walks(&mut pace, 0..10 * hour, began, |second| 50_000 - second);
        assert!((40..=45).contains(&at_rest), "{at_rest} walks");
        let busy = walks(&mut pace, 10 * hour..11 * hour, began, |second| 50_000 + second % 7);
        assert!((59..=61).contains(&busy), "{busy} walks");
    }
}
