use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use redis::Pipeline;

use super::{Error, Store};
use crate::model::{Actor, ScriptType};

/// When the presences were last looked for, and in how many steps.
#[derive(Debug, Default)]
pub(super) struct Surveys(Mutex<Option<(Instant, u32)>>);

/// A step, which looks at a thousand keys, keeps Redis busy for less than a millisecond. In the background there is one in this time on average,
const STEP: Duration = Duration::from_millis(250);
/// a survey at most this often,
const OFTEN: Duration = Duration::from_secs(1);
/// and at least this often.
const RARE: Duration = Duration::from_secs(60);
/// Somebody who asks gets a survey of his own if it takes no more steps than this.
const QUICK: u32 = 50;

impl Surveys {
    fn locked(&self) -> MutexGuard<'_, Option<(Instant, u32)>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn is_quick(&self) -> bool {
        self.locked().is_none_or(|(_, steps)| steps <= QUICK)
    }

    /// How long the next one in the background can wait.
    fn pause(&self) -> Duration {
        self.locked().map_or(Duration::ZERO, |(began, steps)| (STEP * steps).clamp(OFTEN, RARE).saturating_sub(began.elapsed()))
    }
}

impl Store {
    /// Every live actor, in order, those included that other programs announced just now.
    ///
    /// These are found among all keys of the context. Where there are more than 50,000 it is not done for each call: then a foreign actor is
    /// in the list as soon as the next survey has seen it, at the latest after a minute. Who has gone is out of it at once.
    pub async fn actors_now(&self) -> Result<Vec<Actor>, Error> {
        if self.0.surveys.is_quick() {
            self.survey().await?;
        }
        self.actors().await
    }

    /// Looks for presences and notes them, if it is time. Says how long to wait for the next time.
    pub async fn survey_in_time(&self) -> Result<Duration, Error> {
        if self.0.surveys.pause().is_zero() {
            self.survey().await?;
            self.note_calm().await?;
        }
        Ok(self.0.surveys.pause())
    }

    /// Notes presences that foreign actors wrote.
    async fn survey(&self) -> Result<(), Error> {
        let (began, mut steps, mut cursor, mut found) = (Instant::now(), 0, 0, Vec::new());
        while steps == 0 || cursor != 0 {
            let (next, keys) = self.scan_step(cursor, &self.keys().presence_pattern()).await?;
            found.extend(keys);
            (cursor, steps) = (next, steps + 1);
        }
        let known: Vec<String> = self.0.commands.call(redis::cmd("SMEMBERS").arg(self.keys().actors())).await?;
        let mut pipeline = Pipeline::new();
        for key in found.iter().filter(|key| !known.contains(key)) {
            pipeline.cmd("SADD").arg(self.keys().actors()).arg(key).ignore();
        }
        if !pipeline.is_empty() {
            self.0.commands.pipeline::<()>(&pipeline).await?;
        }
        *self.0.surveys.locked() = Some((began, steps));
        Ok(())
    }

    /// Says which script types only actors of ours take. Who puts a job of another type into a queue has it looked at more often.
    async fn note_calm(&self) -> Result<(), Error> {
        let actors = self.actors().await?;
        let types = |foreign: bool| -> BTreeSet<&ScriptType> {
            actors.iter().filter(|actor| actor.foreign == foreign).map(|actor| &actor.script_type).collect()
        };
        let calm: Vec<&str> = types(false).difference(&types(true)).map(|script_type| script_type.as_str()).collect();
        self.calm(&calm).await
    }

    /// Forgets actors and queues that are gone. What comes at the same time stays.
    pub async fn tidy(&self) -> Result<(), Error> {
        // A queue that fills again is noted again by the push that makes it non-empty.
        for set in [self.keys().actors(), self.keys().queues()] {
            let mut known: Vec<String> = self.0.commands.call(redis::cmd("SMEMBERS").arg(&set)).await?;
            // A script may look at keys of its own context only.
            known.retain(|key| key.starts_with(self.keys().prefix()));
            self.forget(&set, &known).await?;
        }
        Ok(())
    }
}
