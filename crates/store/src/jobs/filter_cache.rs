use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::filter;
use super::list::MAX_COMPARED_BYTES;
use crate::Error;
use crate::views::Jobs;
use hero_model::{Job, JobFilter, JobId};

/// The compared fields of the jobs of the latest events, read once for all followers with such a filter.
#[derive(Debug)]
pub(crate) struct FilterCache {
    kept: Mutex<CachedJobs>,
    /// A lock for each set of fields, held by the reader of these fields.
    reading: [tokio::sync::Mutex<()>; 1 << FIELDS.len()],
}

/// A set of fields, with a bit for each field.
type Fields = usize;

#[derive(Debug, Default)]
struct CachedJobs {
    jobs: HashMap<(Fields, JobId), Entry>,
    bytes: usize,
}

#[derive(Debug)]
struct Entry {
    read: Instant,
    /// Nothing if the job is gone.
    job: Option<Arc<Job>>,
}

/// The time for which read fields are used. After that, a foreign actor may have added the type or group of the job.
const FIELDS_LIFETIME: Duration = Duration::from_secs(1);
/// The longest time to wait while another follower reads the same fields. After that, each follower reads for itself.
const MAX_SHARED_WAIT: Duration = Duration::from_millis(100);
/// The most jobs that are kept.
const MAX_JOBS: usize = 4096;
/// The most bytes that are kept.
const MAX_BYTES: usize = 16 * 1024 * 1024;
/// The fields of jobs that filters compare. An event carries the status itself.
const FIELDS: [&str; 7] = ["script_type", "caller_id", "group", "name", "parent_id", "labels", "created_at"];

impl Default for FilterCache {
    fn default() -> Self {
        Self { kept: Mutex::default(), reading: std::array::from_fn(|_| tokio::sync::Mutex::default()) }
    }
}

impl FilterCache {
    /// Returns the exclusive right to read some fields, if it becomes free soon.
    async fn turn(&self, fields: Fields) -> Option<tokio::sync::MutexGuard<'_, ()>> {
        tokio::time::timeout(MAX_SHARED_WAIT, self.reading[fields].lock()).await.ok()
    }

    fn kept(&self) -> MutexGuard<'_, CachedJobs> {
        self.kept.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Moves the jobs that were read a moment ago from `missing` to `found`.
    fn find(&self, fields: Fields, missing: &mut Vec<JobId>, found: &mut BTreeMap<JobId, Option<Arc<Job>>>) {
        let (kept, now) = (self.kept(), Instant::now());
        missing.retain(|id| match kept.jobs.get(&(fields, id.clone())).filter(|entry| now.duration_since(entry.read) < FIELDS_LIFETIME) {
            Some(entry) => {
                found.insert(id.clone(), entry.job.clone());
                false
            }
            None => true,
        });
    }

    fn keep(&self, fields: Fields, entries: Vec<(JobId, Entry)>, bytes: usize) {
        let mut kept = self.kept();
        if kept.jobs.len() + entries.len() > MAX_JOBS || kept.bytes + bytes > MAX_BYTES {
            *kept = CachedJobs::default();
        }
        kept.bytes += bytes;
        kept.jobs.extend(entries.into_iter().map(|(id, entry)| ((fields, id), entry)));
    }
}

impl Jobs<'_> {
    /// Returns only the fields of these jobs that a filter compares; nothing for a job that is gone.
    pub async fn compared_fields(self, jobs: &[JobId], filter: &JobFilter) -> Result<BTreeMap<JobId, Option<Arc<Job>>>, Error> {
        let asked = filter::fields(filter);
        let names: Vec<&str> = FIELDS.into_iter().filter(|name| asked.contains(name)).collect();
        let fields = FIELDS.iter().enumerate().filter(|(_, name)| asked.contains(name)).map(|(at, _)| 1 << at).sum();
        let (cache, mut found, mut missing) = (&self.0.filter_cache, BTreeMap::new(), jobs.to_vec());
        missing.sort_unstable();
        missing.dedup();
        loop {
            // The lock is held for one read. So the followers of one event do not each read the same, and none waits for the reads of all
            // others.
            let _turn = cache.turn(fields).await;
            cache.find(fields, &mut missing, &mut found);
            if missing.is_empty() {
                return Ok(found);
            }
            let read = Instant::now();
            let (parts, bytes) = self.first_parts(&missing, &names, MAX_COMPARED_BYTES).await?;
            let ids: Vec<JobId> = missing.drain(..parts.len()).collect();
            let fresh: Vec<(JobId, Entry)> =
                ids.into_iter().zip(parts).map(|(id, part)| (id, Entry { read, job: part.map(Arc::new) })).collect();
            found.extend(fresh.iter().map(|(id, entry)| (id.clone(), entry.job.clone())));
            cache.keep(fields, fresh, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_read_that_cannot_be_shared_does_not_wait() {
        let cache = FilterCache::default();
        let held = cache.turn(1).await;
        assert!(held.is_some() && cache.turn(1).await.is_none(), "it would wait as long as the other reads");
        assert!(cache.turn(2).await.is_some(), "other fields are another read");
        drop(held);
        assert!(cache.turn(1).await.is_some());
    }
}
