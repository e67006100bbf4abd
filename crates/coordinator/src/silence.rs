//! Places that do not answer: one message at a time tries whether they do again, so that those for them keep out no others.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::ways::Place;

/// How long a place is left alone, at first and at most.
const FIRST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(30);
/// How long a trial may take; after that another message tries.
const TRIAL: Duration = Duration::from_secs(30);
/// How long messages rest at most while another one tries.
const MEANWHILE: Duration = Duration::from_secs(5);
/// How many stops are on their way to a place at once, so that one which takes none leaves room for the others.
const MOST_THERE: usize = 32;
/// How many places are known.
const MOST: usize = 10_000;

/// What is known of a place that did not answer.
struct Rest {
    /// Since when it is left alone, and for how long.
    since: Instant,
    length: Duration,
    /// Since when a message tries again.
    trial: Option<Instant>,
    why: String,
}

/// The places that do not answer.
#[derive(Default)]
pub(super) struct Silence(Mutex<HashMap<Place, Rest>>);

impl Silence {
    /// Asks whether a message may go to a place. If not: how long it is to rest, and what was said of the place last.
    pub(super) fn may_try(&self, place: &Place, now: Instant) -> Result<(), (Duration, String)> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(rest) = all.get_mut(place) else { return Ok(()) };
        let until = rest.since + rest.length;
        if now < until {
            return Err((until - now, rest.why.clone()));
        }
        if rest.trial.is_some_and(|began| now < began + TRIAL) {
            return Err((rest.length.min(MEANWHILE), rest.why.clone()));
        }
        rest.trial = Some(now);
        Ok(())
    }

    /// Lets another message try a place, because this one does not.
    pub(super) fn leave(&self, place: &Place) {
        if let Some(rest) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get_mut(place) {
            rest.trial = None;
        }
    }

    /// Notes that a place answered.
    pub(super) fn answered(&self, place: &Place) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(place);
    }

    /// Notes that a place did not answer to what was begun then. Gives how long it is left alone, and whether it was not known that it does not
    /// answer, for this reason.
    pub(super) fn keeps_silent(&self, place: &Place, began: Instant, why: &str, now: Instant) -> (Duration, bool) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST && !all.contains_key(place) {
            all.retain(|_, rest| now < rest.since + rest.length);
            while all.len() >= MOST {
                let Some(other) = all.keys().next().cloned() else { break };
                all.remove(&other);
            }
        }
        let first = || Rest { since: now, length: FIRST, trial: None, why: why.to_owned() };
        let is_news = all.get(place).is_none_or(|rest| began >= rest.since && rest.why != why);
        let rest = all.entry(place.clone()).or_insert_with(first);
        // What was under way already tells nothing new.
        if began >= rest.since && rest.since != now {
            *rest = Rest { length: (rest.length * 2).min(LONGEST), ..first() };
        }
        ((rest.since + rest.length).saturating_duration_since(now).max(FIRST), is_news)
    }
}

/// How many stops are on their way to each place.
#[derive(Default)]
pub(super) struct Telling(Mutex<HashMap<Place, usize>>);

/// A stop that is on its way to a place.
pub(super) struct OnItsWay<'a>(&'a Telling, Place);

impl Telling {
    /// Lets a stop go to a place, unless as many as may be are on their way there.
    pub(super) fn begin(&self, place: &Place) -> Option<OnItsWay<'_>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let many = all.entry(place.clone()).or_default();
        (*many < MOST_THERE).then(|| {
            *many += 1;
            OnItsWay(self, place.clone())
        })
    }
}

impl Drop for OnItsWay<'_> {
    fn drop(&mut self) {
        let mut all = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(many) = all.get_mut(&self.1) {
            *many -= 1;
            if *many == 0 {
                all.remove(&self.1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hero_model::ContextId;

    #[tokio::test]
    async fn one_message_at_a_time_tries_a_silent_place_and_each_trial_in_vain_doubles_its_rest() {
        let (silence, place, began) = (Silence::default(), ("redis://h".to_owned(), ContextId(0)), Instant::now());
        assert!(silence.may_try(&place, began).is_ok() && silence.may_try(&place, began).is_ok());
        let now = began + Duration::from_secs(10);
        assert_eq!(silence.keeps_silent(&place, began, "dead", now), (FIRST, true));
        let later = now + FIRST / 5;
        assert_eq!(silence.keeps_silent(&place, began, "dead", later), (FIRST, false), "that was under way already");
        assert_eq!(silence.may_try(&place, later).unwrap_err().1, "dead");
        let mut now = now + FIRST;
        for length in [FIRST * 2, FIRST * 4] {
            assert!(silence.may_try(&place, now).is_ok());
            assert!(silence.may_try(&place, now).is_err(), "another one tries");
            let over = now + Duration::from_secs(10);
            assert_eq!(silence.keeps_silent(&place, now, "dead", over), (length, false), "that is known");
            now = over + length;
        }
        // That one does not try after all, and of the next nobody hears how it ends.
        assert!(silence.may_try(&place, now).is_ok());
        silence.leave(&place);
        assert!(silence.may_try(&place, now).is_ok() && silence.may_try(&place, now + TRIAL).is_ok());
        silence.answered(&place);
        assert!(silence.may_try(&place, now).is_ok() && silence.may_try(&place, now).is_ok());
        assert!(silence.keeps_silent(&place, now, "dead", now).1, "it answered since");
    }

    #[tokio::test]
    async fn one_place_more_than_may_be_known_makes_none_but_one_forgotten() {
        let (silence, now) = (Silence::default(), Instant::now());
        for n in 0..=u32::try_from(MOST).unwrap() {
            silence.keeps_silent(&("redis://h".to_owned(), ContextId(n)), now, "dead", now);
        }
        assert_eq!(silence.0.lock().unwrap().len(), MOST);
    }

    #[test]
    fn of_stops_for_one_place_so_many_are_on_their_way_that_there_is_room_for_others() {
        let (telling, [one, other]) = (Telling::default(), ["redis://a", "redis://b"].map(|url| (url.to_owned(), ContextId(0))));
        let mut sent: Vec<_> = (0..MOST_THERE).filter_map(|_| telling.begin(&one)).collect();
        assert_eq!(sent.len(), MOST_THERE);
        assert!(telling.begin(&one).is_none() && telling.begin(&other).is_some());
        sent.pop();
        assert!(telling.begin(&one).is_some());
        sent.clear();
        assert!(telling.0.lock().unwrap().is_empty());
    }
}
