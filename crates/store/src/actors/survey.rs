use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Mutex, Notify, watch};

use crate::network::deadline::in_time;
use crate::views::{Actors, Health};
use crate::{Error, Pace};
use hero_model::{Actor, ScriptType};
use hero_service::until_pulse;

/// The live actors as they were last read, shared by all callers.
#[derive(Debug, Default)]
pub(crate) struct Surveys {
    /// Notified when a caller wants a survey.
    wanted: Notify,
    last: watch::Sender<Option<Survey>>,
    /// The actors read, and the time when the reading began. The lock is held while they are read.
    seen: Mutex<Option<(Instant, Arc<[Actor]>)>>,
}

/// The result of a walk through all keys for presences that other programs wrote.
#[derive(Debug, Clone, Copy)]
struct Survey {
    began: Instant,
    ended: Instant,
    steps: u32,
}

/// The average time between two steps of a survey while keys are added and nobody asks. A step reads a thousand keys and keeps Redis busy
/// for less than a millisecond.
const STEP_INTERVAL: Duration = Duration::from_millis(250);
/// The shortest time between two surveys, and between two checks for added keys.
const MIN_SURVEY_INTERVAL: Duration = Duration::from_secs(1);
/// The longest time between two surveys while keys are added.
const MAX_SURVEY_INTERVAL: Duration = Duration::from_secs(60);
/// The most steps of a survey for which a caller waits.
const MAX_AWAITED_STEPS: u32 = 50;
/// Surveys for callers take at most this fraction (1/50) of the time. No caller waits longer for the next one than `MIN_SURVEY_INTERVAL`.
const CALLERS_TIME_FRACTION: u32 = 50;
/// The number of presences read at once.
const PRESENCES_PER_READ: usize = 1000;
/// The time limit of a caller's wait for a survey. It takes this long only if no surveyor runs.
const WAIT_TIMEOUT: Duration = Duration::from_secs(3);

impl Survey {
    /// The shortest pause before the next survey without a caller.
    fn pause(&self) -> Duration {
        (STEP_INTERVAL * self.steps).clamp(MIN_SURVEY_INTERVAL, MAX_SURVEY_INTERVAL).saturating_sub(self.ended - self.began)
    }

    /// The time when the next survey for a caller may begin.
    fn may(&self) -> Instant {
        self.ended + ((self.ended - self.began) * CALLERS_TIME_FRACTION).min(MIN_SURVEY_INTERVAL)
    }
}

impl Actors<'_> {
    /// Returns every live actor, in order, including those that other programs announced just now.
    ///
    /// The surveyor finds these among all keys of the context, once for all callers at a time. With more than 50,000 keys no caller waits
    /// for that: a foreign actor is then listed once the next survey has seen it, after a minute at most (five minutes if another key
    /// happened to go as it came). An actor that has gone leaves the list at once.
    pub async fn now(self) -> Result<Arc<[Actor]>, Error> {
        let (asked, surveys) = (Instant::now(), &self.0.surveys);
        let mut last = surveys.last.subscribe();
        if last.borrow().is_none_or(|survey| survey.steps <= MAX_AWAITED_STEPS) {
            surveys.wanted.notify_one();
            let fresh = last.wait_for(|survey| survey.is_some_and(|survey| survey.began >= asked));
            // Without a surveyor the list has the actors seen so far.
            let _ = tokio::time::timeout(WAIT_TIMEOUT, fresh).await;
        }
        self.since(asked).await
    }

    /// Returns every live actor seen, in order, as of this time or later. The list is read once for all callers.
    pub async fn since(self, time: Instant) -> Result<Arc<[Actor]>, Error> {
        let mut seen = in_time(async { Ok(self.0.surveys.seen.lock().await) }).await?;
        if let Some((_, actors)) = seen.as_ref().filter(|(read, _)| *read >= time) {
            return Ok(actors.clone());
        }
        let (began, actors) = (Instant::now(), Arc::from(self.list().await?));
        *seen = Some((began, Arc::clone(&actors)));
        Ok(actors)
    }

    /// Returns every live actor seen in the last second.
    pub async fn lately(self) -> Result<Arc<[Actor]>, Error> {
        let now = Instant::now();
        self.since(now.checked_sub(MIN_SURVEY_INTERVAL).unwrap_or(now)).await
    }

    /// Waits until a survey is due or a caller wants one, and runs it.
    pub async fn survey_in_time(self, pace: &mut Pace) -> Result<(), Error> {
        let surveys = &self.0.surveys;
        let last = *surveys.last.borrow();
        if let Some(last) = last {
            tokio::select! {
                due = self.until_due(pace) => due?,
                () = surveys.wanted.notified() => tokio::time::sleep_until(last.may().into()).await,
            }
        }
        pace.begin(Health(self.0).number_of_keys().await?);
        let survey = self.survey().await?;
        pace.end(survey.pause(), survey.ended);
        let actors = self.since(survey.ended).await?;
        surveys.last.send_replace(Some(survey));
        self.find_native_only(&actors).await
    }

    /// Waits until a walk is due.
    async fn until_due(self, pace: &mut Pace) -> Result<(), Error> {
        loop {
            tokio::time::sleep(until_pulse(MIN_SURVEY_INTERVAL)).await;
            if pace.is_due(Health(self.0).number_of_keys().await?, Instant::now()) {
                return Ok(());
            }
        }
    }

    /// Records presences that foreign actors wrote.
    async fn survey(self) -> Result<Survey, Error> {
        let (began, mut steps, mut cursor, mut found) = (Instant::now(), 0, 0, Vec::new());
        while steps == 0 || cursor != 0 {
            let (next, keys) = self.0.scan_step(cursor, &self.0.keys.presence_pattern()).await?;
            found.extend(keys);
            (cursor, steps) = (next, steps + 1);
        }
        for found in found.chunks(PRESENCES_PER_READ) {
            let known = self.0.commands.call(redis::cmd("SMISMEMBER").arg(self.0.keys.actors()).arg(found)).await;
            let mut known: Vec<bool> = self.0.unspoilt(known)?;
            known.resize(found.len(), false);
            let new: Vec<&String> = found.iter().zip(known).filter_map(|(key, known)| (!known).then_some(key)).collect();
            self.0.note_keys(&self.0.keys.actors(), &new).await?;
        }
        Ok(Survey { began, ended: Instant::now(), steps })
    }

    /// Finds the script types that only actors of hero take. Queued jobs of other types are checked more often.
    async fn find_native_only(self, actors: &[Actor]) -> Result<(), Error> {
        let types = |foreign: bool| -> BTreeSet<&ScriptType> {
            actors.iter().filter(|actor| actor.foreign == foreign).map(|actor| &actor.script_type).collect()
        };
        let native_only: Vec<&str> = types(false).difference(&types(true)).map(|script_type| script_type.as_str()).collect();
        self.0.note_native_only(&native_only).await
    }
}
