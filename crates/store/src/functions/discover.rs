use std::time::Duration;

use redis::Pipeline;

use super::unexpected;
use crate::Error;
use crate::codec::Text;
use crate::fcall::Function;
use crate::keys::Keys;
use crate::views::Maintenance;
use hero_model::{IdentityId, JobId};

const FUNCTION: Function = Function("discover");

/// How many jobs one call looks at.
const CHUNK: usize = 128;
/// What was last changed longer ago is left as it is.
const DAY: Duration = Duration::from_secs(24 * 3600);

/// What a step of a walk through the keys of all jobs met.
#[derive(Debug, Clone)]
pub struct Walked {
    /// Where the next step begins.
    pub next: u64,
    /// The jobs, some maybe twice in a walk.
    pub jobs: Vec<JobId>,
    /// The identities, some maybe twice; in context 0.
    pub identities: Vec<IdentityId>,
    hours: Vec<String>,
    counters: Vec<String>,
}

impl Walked {
    /// Counters that nobody keeps last so long; `news.STATS_SECONDS` in the library.
    #[doc(hidden)]
    pub const COUNTERS_LAST: Duration = Duration::from_secs(30 * 24 * 3600);
}

impl Maintenance<'_> {
    /// Discovers those of some jobs that foreign programs wrote and nobody has seen yet, and says how many these are.
    ///
    /// They are listed from then on, their relations are honoured, and their ends are seen. What was last changed more than a day ago is only listed.
    pub async fn discover(self, jobs: &[JobId]) -> Result<usize, Error> {
        let mut new = 0;
        for jobs in jobs.chunks(CHUNK) {
            let now = self.0.clock.now();
            let mut call = self.0.call_at(&FUNCTION, now);
            call.arg(now.minus(DAY).to_string()).arg(self.0.periods.keep_created.as_millis() as u64);
            for job in jobs {
                call.arg(job.as_str());
            }
            let answer: Vec<Text> = self.0.commands.function(&call).await?;
            new += answer.first().and_then(Text::parse::<usize>).ok_or_else(|| unexpected("discover", &answer))?;
            self.0.wake_ups.wake_all(answer.iter().skip(1).filter_map(|text| text.0.as_ref()));
        }
        Ok(new)
    }

    /// One step of a walk through the keys of all jobs. It ends at 0, where it begins.
    pub async fn walk_jobs(self, from: u64) -> Result<Walked, Error> {
        let keys = &self.0.keys;
        let (next, found) = self.0.scan_step(from, &keys.walk_pattern()).await?;
        let jobs = found.iter().filter_map(|key| keys.parse_job(key)).collect();
        let identities = found.iter().filter_map(|key| keys.parse_identity(key)).collect();
        let of = |is: fn(&Keys, &str) -> bool| -> Vec<String> { found.iter().filter(|key| is(keys, key)).cloned().collect() };
        let (hours, counters) = (of(|keys, key| keys.parse_index(key).is_some()), of(|keys, key| keys.parse_stats(key).is_some()));
        Ok(Walked { next, jobs, identities, hours, counters })
    }

    /// Notes the indexes and counters that a step met, so that none is overlooked that an older version or a foreign program wrote.
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
