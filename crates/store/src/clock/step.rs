use redis::Pipeline;

use crate::Error;
use crate::keys::Keys;
use crate::value::Text;
use crate::views::Maintenance;
use hero_model::Timestamp;

/// Jobs whose times are out of order by less than this are always found, in ms.
const TOLERATED_DISORDER_MILLIS: i64 = 1000;
/// The suffix of a backward step's field among the time offsets, after the key of the index.
const BACK: &str = ":back";
/// The number of the newest hours that are checked.
const CHECKED_HOURS: usize = 3;

/// Backward steps of Redis' clock. After one, jobs enter the index of an hour with earlier times than some jobs before them. A list by time must
/// then search further, by the length of the step.
impl Maintenance<'_> {
    /// Sets the clock by Redis. Returns false if Redis took too long to answer, so that the clock goes on unchanged.
    pub async fn set_clock(self) -> Result<bool, Error> {
        let before = std::time::Instant::now();
        let (seconds, micros): (i64, i64) = self.0.commands.call(&redis::cmd("TIME")).await?;
        let set = self.0.clock.set(Timestamp::from_millis(seconds * 1000 + micros / 1000), before.elapsed());
        if let Some(back) = self.0.clock.step_back().filter(|back| *back > TOLERATED_DISORDER_MILLIS) {
            match self.note_step_back(back).await {
                Ok(hours) => {
                    if self.0.clock.has_noted(back) || hours > 0 {
                        let seconds = back as f64 / 1000.0;
                        tracing::warn!(seconds, "the clock of Redis was set back; lists by time look further in {hours} hours");
                    }
                }
                // Redis may be full. The next check tries again.
                Err(error) => tracing::debug!(%error, "that the clock of Redis was set back could not be noted"),
            }
        }
        Ok(set)
    }

    /// Reads the times of the newest jobs, so that the clock knows what Redis had shown before this process began.
    pub async fn look_back(self) -> Result<(), Error> {
        let now = self.0.clock.now().hour();
        let hours = self.index_hours().await?;
        for hour in hours.iter().rev().take(CHECKED_HOURS).filter(|hour| **hour >= now) {
            let newest = self.0.commands.call(redis::cmd("LINDEX").arg(self.0.keys.index_of_hour(hour)).arg(-1)).await;
            let newest: Text = self.0.unspoilt(newest)?;
            let Some(id) = newest.parse() else { continue };
            let times = self.0.commands.call(redis::cmd("HMGET").arg(self.0.keys.job(&id)).arg("indexed").arg("created_at")).await;
            let (indexed, created): (Text, Text) = self.0.unspoilt(times)?;
            if let Some(time) = indexed.parse().map(Timestamp::from_millis).or_else(|| created.parse()).filter(|time| time.hour() == *hour)
            {
                self.0.clock.has_shown(time);
            }
        }
        Ok(())
    }

    /// Records how far the jobs of each hour that may come again are out of order. Returns the number of hours for which that was new.
    async fn note_step_back(self, back: i64) -> Result<usize, Error> {
        let mut news = 0;
        let now = self.0.clock.now();
        let (first, last) = (now.hour(), Timestamp::from_millis(now.as_millis().saturating_add(back)).hour());
        let mut hours = self.index_hours().await?;
        hours.retain(|hour| (&first..=&last).contains(&hour));
        let mut known = Pipeline::with_capacity(hours.len());
        for hour in &hours {
            known.cmd("HGET").arg(self.0.keys.time_offsets()).arg(field(&self.0.keys, hour));
        }
        let keys = vec![self.0.keys.time_offsets(); hours.len()];
        let known: Vec<Text> = self.0.each_unspoilt(&keys, &mut known).await?;
        for (hour, known) in hours.iter().zip(known) {
            if known.parse::<i64>().is_none_or(|known| known < back) {
                self.0
                    .commands
                    .call::<u64>(redis::cmd("HSET").arg(self.0.keys.time_offsets()).arg(field(&self.0.keys, hour)).arg(back))
                    .await?;
                news += 1;
            }
        }
        Ok(news)
    }
}

fn field(keys: &Keys, hour: &str) -> String {
    keys.index_of_hour(hour) + BACK
}

/// Returns the index whose step a field of the time offsets records, if it records one.
pub(crate) fn set_back(field: &str) -> Option<&str> {
    field.strip_suffix(BACK)
}
