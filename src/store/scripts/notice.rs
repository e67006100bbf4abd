use std::sync::LazyLock;
use std::time::Duration;

use redis::Pipeline;

use super::unexpected;
use crate::keys::Keys;
use crate::model::JobId;
use crate::store::codec::Text;
use crate::store::connection::Script;
use crate::store::{Error, Store};

static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("notice.lua")));

/// How many jobs one call looks at.
const CHUNK: usize = 128;
/// What was last changed longer ago is left as it is.
const DAY: Duration = Duration::from_secs(24 * 3600);
/// Counters that nobody keeps last so long; `shared.lua` has the same number.
const COUNTERS: Duration = Duration::from_secs(30 * 24 * 3600);

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
    ///
    /// Indexes and counters that it meets are noted, so that none is overlooked that an older version or an outsider wrote.
    pub async fn walk_jobs(&self, from: u64) -> Result<(u64, Vec<JobId>), Error> {
        let keys = self.keys();
        let (next, found) = self.scan_step(from, &keys.walk_pattern()).await?;
        let of = |is: fn(&Keys, &str) -> bool| found.iter().filter(|key| is(keys, key)).collect::<Vec<_>>();
        let counters = of(|keys, key| keys.parse_stats(key).is_some());
        self.note(&keys.hours(), &of(|keys, key| keys.parse_index(key).is_some())).await?;
        self.note(&keys.types(), &counters).await?;
        let mut expire = Pipeline::with_capacity(counters.len());
        for key in counters {
            expire.cmd("EXPIRE").arg(key).arg(COUNTERS.as_secs()).arg("NX").ignore();
        }
        if !expire.is_empty() {
            self.0.commands.pipeline::<()>(&expire).await?;
        }
        Ok((next, found.iter().filter_map(|key| keys.parse_job(key)).collect()))
    }

    /// Has keys in a set of ours. What an outsider made of it gives way.
    async fn note(&self, set: &str, keys: &[&String]) -> Result<(), Error> {
        if keys.is_empty() {
            return Ok(());
        }
        match self.0.commands.call::<u64>(redis::cmd("SADD").arg(set).arg(keys)).await {
            Err(error) if error.is_of_another_type() => self.0.commands.call::<u64>(redis::cmd("DEL").arg(set)).await.map(drop),
            added => added.map(drop),
        }
    }
}
