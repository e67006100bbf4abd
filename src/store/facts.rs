use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;

use super::connection::DEADLINE;
use super::{Error, Store};
use crate::model::{Job, JobId};

/// What filters ask of the jobs of the latest events, read once for all who follow.
#[derive(Debug, Default)]
pub(super) struct Facts(Mutex<HashMap<JobId, (Instant, Option<Arc<Job>>)>>);

/// For so long a job is not read again; a foreign actor may still add its type or group.
const KEPT: Duration = Duration::from_secs(1);
/// No more jobs are kept.
const MOST: usize = 4096;
/// What filters ask of jobs. The status of an event is its own.
const FIELDS: [&str; 6] = ["script_type", "caller_id", "group", "name", "labels", "created_at"];

impl Store {
    /// What a filter compares of these jobs; nothing of one that is gone.
    pub async fn facts(&self, jobs: &[JobId]) -> Result<BTreeMap<JobId, Option<Arc<Job>>>, Error> {
        // Held while Redis is read, so that followers of one event do not each read the same.
        let locking = tokio::time::timeout(DEADLINE, self.0.facts.0.lock());
        let mut kept = locking.await.map_err(|_| Error::Deadline(DEADLINE))?;
        let now = Instant::now();
        let fresh = |known: Option<&(Instant, _)>| known.is_some_and(|(read, _)| now.duration_since(*read) < KEPT);
        let mut missing: Vec<JobId> = jobs.iter().filter(|job| !fresh(kept.get(*job))).cloned().collect();
        missing.sort_unstable();
        missing.dedup();
        if kept.len() + missing.len() > MOST {
            kept.retain(|_, (read, _)| now.duration_since(*read) < KEPT);
        }
        if kept.len() + missing.len() > MOST {
            kept.retain(|job, _| jobs.contains(job));
        }
        let parts = self.parts(&missing, &FIELDS).await?;
        kept.extend(missing.into_iter().zip(parts).map(|(job, part)| (job, (now, part.map(Arc::new)))));
        Ok(jobs.iter().filter_map(|job| Some((job.clone(), kept.get(job)?.1.clone()))).collect())
    }
}
