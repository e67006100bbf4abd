use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use hero_model::IdentityId;

/// The number of tokens that an identity may make at once.
const TOKEN_BURST: u32 = 100;
/// The time after which it may make one more.
const TOKEN_INTERVAL: Duration = Duration::from_secs(1);
/// From this number of known identities on, those that have not made tokens for a while are forgotten.
const FORGET_ABOVE_IDENTITIES: usize = 10_000;

/// Limits how fast identities make tokens of their own. That needs no right, and each token adds a record to the audit
/// log.
#[derive(Debug, Default)]
pub(super) struct Pace(Mutex<HashMap<IdentityId, Instant>>);

impl Pace {
    /// Lets an identity make one more token, or returns the time to wait.
    pub(super) fn pass(&self, identity: IdentityId, now: Instant) -> Result<(), Duration> {
        let mut paid = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if paid.len() >= FORGET_ABOVE_IDENTITIES {
            paid.retain(|_, until| *until > now);
        }
        let until = paid.get(&identity).map_or(now, |until| (*until).max(now)) + TOKEN_INTERVAL;
        let over = until.saturating_duration_since(now + TOKEN_INTERVAL * TOKEN_BURST);
        if over > Duration::ZERO {
            return Err(over);
        }
        paid.insert(identity, until);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_makes_a_hundred_at_once_and_then_one_a_second_and_keeps_no_other_from_it() {
        let (pace, now) = (Pace::default(), Instant::now());
        assert!((0..TOKEN_BURST).all(|_| pace.pass(IdentityId(1), now).is_ok()));
        assert_eq!(pace.pass(IdentityId(1), now), Err(TOKEN_INTERVAL));
        assert_eq!(pace.pass(IdentityId(2), now), Ok(()));
        assert_eq!(pace.pass(IdentityId(1), now + TOKEN_INTERVAL), Ok(()));
        assert!(pace.pass(IdentityId(1), now + TOKEN_INTERVAL).is_err());
    }

    #[test]
    fn those_who_have_made_none_for_a_while_are_forgotten() {
        let (pace, now) = (Pace::default(), Instant::now());
        assert!((0..2 * FORGET_ABOVE_IDENTITIES as u32).all(|id| pace.pass(IdentityId(id), now + 2 * TOKEN_INTERVAL * id).is_ok()));
        assert!(pace.0.lock().unwrap().len() <= FORGET_ABOVE_IDENTITIES);
    }
}
