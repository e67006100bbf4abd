use std::time::Duration;

use redis::Pipeline;

use super::unexpected;
use crate::Error;
use crate::keys::Keys;
use crate::library::fcall::Function;
use crate::value::Text;
use crate::views::Maintenance;
use hero_model::{IdentityId, JobId};

const FUNCTION: Function = Function("discover");

/// The number of jobs that one call checks.
const JOBS_PER_CALL: usize = 128;
/// Jobs whose last change is older than this are left as they are.
const MAX_JOB_AGE: Duration = Duration::from_secs(24 * 3600);

/// The keys that a step of a walk through all jobs met.
#[derive(Debug, Clone)]
pub struct Walked {
    /// The cursor of the next step.
    pub next: u64,
    /// The jobs. A walk may meet some twice.
    pub jobs: Vec<JobId>,
    /// The identities, in context 0. A walk may meet some twice.
    pub identities: Vec<IdentityId>,
    hours: Vec<String>,
    counters: Vec<String>,
}

impl Walked {
    /// The lifetime of counters that no server updates; `news.STATS_SECONDS` in the library.
    #[doc(hidden)]
    pub const COUNTERS_LAST: Duration = Duration::from_secs(30 * 24 * 3600);
}

impl Maintenance<'_> {
    /// Discovers those of some jobs that foreign programs wrote and no server has seen yet, and returns their number.
    ///
    /// From then on they are listed, their relations are honoured, and their ends are seen. Jobs whose last change is more than a day ago
    /// are only listed.
    pub async fn discover(self, jobs: &[JobId]) -> Result<usize, Error> {
        let mut new = 0;
        for jobs in jobs.chunks(JOBS_PER_CALL) {
            let now = self.0.clock.now();
            let mut call = self.0.call_at(&FUNCTION, now);
            call.arg(now.minus(MAX_JOB_AGE).to_string()).arg(self.0.periods.keep_created.as_millis() as u64);
            for job in jobs {
                call.arg(job.as_str());
            }
            let answer: Vec<Text> = self.0.commands.function(&call).await?;
            new += answer.first().and_then(Text::parse::<usize>).ok_or_else(|| unexpected("discover", &answer))?;
            self.0.wake_ups.wake_all(answer.iter().skip(1).filter_map(|text| text.0.as_ref()));
        }
        Ok(new)
    }

    /// Runs one step of a walk through the keys of all jobs. The walk starts and ends at 0.
    pub async fn walk_jobs(self, from: u64) -> Result<Walked, Error> {
        let keys = &self.0.keys;
        let (next, found) = self.0.scan_step(from, &keys.walk_pattern()).await?;
        let jobs = found.iter().filter_map(|key| keys.parse_job(key)).collect();
        let identities = found.iter().filter_map(|key| keys.parse_identity(key)).collect();
        let of = |is: fn(&Keys, &str) -> bool| -> Vec<String> { found.iter().filter(|key| is(keys, key)).cloned().collect() };
        let (hours, counters) = (of(|keys, key| keys.parse_index(key).is_some()), of(|keys, key| keys.parse_stats(key).is_some()));
        Ok(Walked { next, jobs, identities, hours, counters })
    }

    /// Records the indexes and counters that a step met, so that those of older versions and foreign programs are not missed.
    pub async fn note_walked(self, walked: &Walked) -> Result<(), Error> {
        let keys = &self.0.keys;
        self.0.note_keys(&keys.hours(), &walked.hours).await?;
        self.0.note_keys(&keys.types(), &walked.counters).await?;
        let mut expire = Pipeline::with_capacity(walked.counters.len());
        for key in &walked.counters {
            expire.cmd("EXPIRE").arg(key).arg(Walked::COUNTERS_LAST.as_secs()).arg("NX").ignore();
        }
        if !expire.is_empty() {
            self.0.commands.pipeline::<()>(&expire).await?;
        }
        Ok(())
    }
}
