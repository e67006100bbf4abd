use std::sync::LazyLock;
use std::time::Duration;

use super::unexpected;
use crate::model::JobId;
use crate::store::codec::Text;
use crate::store::connection::Script;
use crate::store::{Error, Store};

static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("notice.lua")));

/// How many jobs one call looks at.
const CHUNK: usize = 128;
/// What was last changed longer ago is left as it is.
const DAY: Duration = Duration::from_secs(24 * 3600);

impl Store {
    /// Takes note of those of some jobs that outsiders wrote and nobody has noticed, and says how many these are.
    ///
    /// They are listed from then on, their relations are honoured, and their ends are noticed. What was last changed more than a day ago is only listed.
    pub async fn notice(&self, jobs: &[JobId]) -> Result<usize, Error> {
        let mut new = 0;
        for jobs in jobs.chunks(CHUNK) {
            let now = self.0.clock.now();
            let mut call = self.0.call_at(&SCRIPT, now);
            call.arg(now.minus(DAY).to_string()).arg(self.0.periods.keep_created.as_millis() as u64);
            for job in jobs {
                call.arg(job.as_str());
            }
            let answer: Vec<Text> = self.0.commands.script(&SCRIPT, &call).await?;
            new += answer.first().and_then(Text::parse::<usize>).ok_or_else(|| unexpected("notice", &answer))?;
            self.0.bells.ring_all(answer.iter().skip(1).filter_map(|text| text.0.as_ref()));
        }
        Ok(new)
    }

    /// One step of a walk through the keys of all jobs: the jobs it met, some maybe twice in a walk, and where the next begins. It ends at 0, where it begins.
    pub async fn walk_jobs(&self, from: u64) -> Result<(u64, Vec<JobId>), Error> {
        let (next, keys) = self.scan_step(from, &self.keys().job_pattern()).await?;
        Ok((next, keys.iter().filter_map(|key| self.keys().parse_job(key)).collect()))
    }
}
