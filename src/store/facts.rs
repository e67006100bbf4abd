use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;

use super::connection::DEADLINE;
use super::list::COMPARED;
use super::{Error, Store};
use crate::model::{Job, JobId};

/// What filters ask of the jobs of the latest events, read once for all who follow.
#[derive(Debug, Default)]
pub(super) struct Facts(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    jobs: HashMap<JobId, Fact>,
    bytes: usize,
}

#[derive(Debug)]
struct Fact {
    read: Instant,
    /// Nothing of a job that is gone.
    job: Option<Arc<Job>>,
}

/// For so long a job is not read again; a foreign actor may still add its type or group.
const KEPT: Duration = Duration::from_secs(1);
/// No more jobs,
const MOST: usize = 4096;
/// and no more bytes are kept.
const BYTES: usize = 16 * 1024 * 1024;
/// What filters ask of jobs. The status of an event is its own.
const FIELDS: [&str; 6] = ["script_type", "caller_id", "group", "name", "labels", "created_at"];

impl Store {
    /// What a filter compares of these jobs; nothing of one that is gone.
    pub async fn facts(&self, jobs: &[JobId]) -> Result<BTreeMap<JobId, Option<Arc<Job>>>, Error> {
        // Held while Redis is read, so that followers of one event do not each read the same.
        let locking = tokio::time::timeout(DEADLINE, self.0.facts.0.lock());
        let mut kept = locking.await.map_err(|_| Error::Deadline(DEADLINE))?;
        let now = Instant::now();
        let mut found = BTreeMap::new();
        let mut missing: Vec<JobId> = Vec::new();
        for id in jobs {
            match kept.jobs.get(id).filter(|fact| now.duration_since(fact.read) < KEPT) {
                Some(fact) => drop(found.insert(id.clone(), fact.job.clone())),
                None => missing.push(id.clone()),
            }
        }
        missing.sort_unstable();
        missing.dedup();
        let mut rest = &missing[..];
        while !rest.is_empty() {
            let (parts, bytes) = self.first_parts(rest, &FIELDS, COMPARED).await?;
            if kept.jobs.len() + parts.len() > MOST || kept.bytes + bytes > BYTES {
                *kept = Kept::default();
            }
            kept.bytes += bytes;
            let (read, behind) = rest.split_at(parts.len());
            for (id, part) in read.iter().zip(parts) {
                let job = part.map(Arc::new);
                found.insert(id.clone(), job.clone());
                kept.jobs.insert(id.clone(), Fact { read: now, job });
            }
            rest = behind;
        }
        Ok(found)
    }
}
