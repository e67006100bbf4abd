//! Remote contexts that do not answer: only one message at a time tries such a context again, so that messages for it
//! do not delay others.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::remote_connections::RemoteContext;

/// Time that a remote context is left alone, at first and at most.
const FIRST_REST: Duration = Duration::from_millis(250);
const MAX_REST: Duration = Duration::from_secs(30);
/// Timeout of a trial. After it another message may try.
const TRIAL_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum time that messages rest while another one tries.
const MAX_REST_DURING_TRIAL: Duration = Duration::from_secs(5);
/// Maximum number of stops that are being sent to a remote context at once, so that a silent one leaves room for
/// others.
const MAX_STOPS_PER_CONTEXT: usize = 32;
/// Maximum number of remote contexts that are remembered.
const MAX_REMEMBERED_CONTEXTS: usize = 10_000;

/// A remote context that did not answer.
struct RemoteBackoff {
    /// The start and the length of its rest.
    since: Instant,
    length: Duration,
    /// The start of the current trial.
    trial: Option<Instant>,
    why: String,
}

/// The remote contexts that do not answer.
#[derive(Default)]
pub(super) struct Silence(Mutex<HashMap<RemoteContext, RemoteBackoff>>);

impl Silence {
    /// Checks whether a message may be sent to a remote context. If not, returns the time to rest and the last
    /// error of that context.
    pub(super) fn may_try(&self, remote: &RemoteContext, now: Instant) -> Result<(), (Duration, String)> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(rest) = all.get_mut(remote) else { return Ok(()) };
        let until = rest.since + rest.length;
        if now < until {
            return Err((until - now, rest.why.clone()));
        }
        if rest.trial.is_some_and(|began| now < began + TRIAL_TIMEOUT) {
            return Err((rest.length.min(MAX_REST_DURING_TRIAL), rest.why.clone()));
        }
        rest.trial = Some(now);
        Ok(())
    }

    /// Lets another message try a remote context, because this one does not.
    pub(super) fn leave(&self, remote: &RemoteContext) {
        if let Some(rest) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get_mut(remote) {
            rest.trial = None;
        }
    }

    /// Notes that a remote context answered.
    pub(super) fn answered(&self, remote: &RemoteContext) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(remote);
    }

    /// Notes that a remote context did not answer to an attempt that began at `began`. Returns the time that it is left
    /// alone, and whether this failure, with this reason, is new.
    pub(super) fn keeps_silent(&self, remote: &RemoteContext, began: Instant, why: &str, now: Instant) -> (Duration, bool) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_REMEMBERED_CONTEXTS && !all.contains_key(remote) {
            all.retain(|_, rest| now < rest.since + rest.length);
            while all.len() >= MAX_REMEMBERED_CONTEXTS {
                let Some(other) = all.keys().next().cloned() else { break };
                all.remove(&other);
            }
        }
        let first = || RemoteBackoff { since: now, length: FIRST_REST, trial: None, why: why.to_owned() };
        let is_news = all.get(remote).is_none_or(|rest| began >= rest.since && rest.why != why);
        let rest = all.entry(remote.clone()).or_insert_with(first);
        // An attempt that was already under way does not extend the rest.
        if began >= rest.since && rest.since != now {
            *rest = RemoteBackoff { length: (rest.length * 2).min(MAX_REST), ..first() };
        }
        ((rest.since + rest.length).saturating_duration_since(now).max(FIRST_REST), is_news)
    }
}

/// The number of stops that are being sent to each remote context.
#[derive(Default)]
pub(super) struct Telling(Mutex<HashMap<RemoteContext, usize>>);

/// A stop that is being sent to a remote context.
pub(super) struct OnItsWay<'a>(&'a Telling, RemoteContext);

impl Telling {
    /// Starts sending a stop to a remote context, unless the maximum number of stops is being sent there.
    pub(super) fn begin(&self, remote: &RemoteContext) -> Option<OnItsWay<'_>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let many = all.entry(remote.clone()).or_default();
        (*many < MAX_STOPS_PER_CONTEXT).then(|| {
            *many += 1;
            OnItsWay(self, remote.clone())
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
    async fn one_message_at_a_time_tries_a_silent_remote_context_and_each_trial_in_vain_doubles_its_rest() {
        let (silence, remote, began) = (Silence::default(), ("redis://h".to_owned(), ContextId(0)), Instant::now());
        assert!(silence.may_try(&remote, began).is_ok() && silence.may_try(&remote, began).is_ok());
        let now = began + Duration::from_secs(10);
        assert_eq!(silence.keeps_silent(&remote, began, "dead", now), (FIRST_REST, true));
        let later = now + FIRST_REST / 5;
        assert_eq!(silence.keeps_silent(&remote, began, "dead", later), (FIRST_REST, false), "that was under way already");
        assert_eq!(silence.may_try(&remote, later).unwrap_err().1, "dead");
        let mut now = now + FIRST_REST;
        for length in [FIRST_REST * 2, FIRST_REST * 4] {
            assert!(silence.may_try(&remote, now).is_ok());
            assert!(silence.may_try(&remote, now).is_err(), "another one tries");
            let over = now + Duration::from_secs(10);
            assert_eq!(silence.keeps_silent(&remote, now, "dead", over), (length, false), "that is known");
            now = over + length;
        }
        // The first message does not try after all, and the outcome of the next is never reported.
        assert!(silence.may_try(&remote, now).is_ok());
        silence.leave(&remote);
        assert!(silence.may_try(&remote, now).is_ok() && silence.may_try(&remote, now + TRIAL_TIMEOUT).is_ok());
        silence.answered(&remote);
        assert!(silence.may_try(&remote, now).is_ok() && silence.may_try(&remote, now).is_ok());
        assert!(silence.keeps_silent(&remote, now, "dead", now).1, "it answered since");
    }

    #[tokio::test]
    async fn one_remote_context_more_than_may_be_known_makes_none_but_one_forgotten() {
        let (silence, now) = (Silence::default(), Instant::now());
        for n in 0..=u32::try_from(MAX_REMEMBERED_CONTEXTS).unwrap() {
            silence.keeps_silent(&("redis://h".to_owned(), ContextId(n)), now, "dead", now);
        }
        assert_eq!(silence.0.lock().unwrap().len(), MAX_REMEMBERED_CONTEXTS);
    }

    #[test]
    fn of_stops_for_one_remote_context_so_many_are_on_their_way_that_there_is_room_for_others() {
        let (telling, [one, other]) = (Telling::default(), ["redis://a", "redis://b"].map(|url| (url.to_owned(), ContextId(0))));
        let mut sent: Vec<_> = (0..MAX_STOPS_PER_CONTEXT).filter_map(|_| telling.begin(&one)).collect();
        assert_eq!(sent.len(), MAX_STOPS_PER_CONTEXT);
        assert!(telling.begin(&one).is_none() && telling.begin(&other).is_some());
        sent.pop();
        assert!(telling.begin(&one).is_some());
        sent.clear();
        assert!(telling.0.lock().unwrap().is_empty());
    }
}
