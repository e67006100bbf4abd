use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::HeaderMap;

use super::act;
use super::auth::{Principal, Session};
use crate::error::{Code, Error};
use hero_audit::{Audit, Outcome};
use hero_model::TokenId;

/// Records logins and invalid tokens.
///
/// Every request over HTTP has its token, so a login is recorded when a token comes from an address for the first time in ten minutes.
/// Wrong tokens are counted like other refusals.
#[derive(Debug)]
pub(crate) struct Logins {
    audit: Audit,
    /// The time when each token last came from an address.
    seen: Mutex<HashMap<(TokenId, IpAddr), Instant>>,
}

/// The time for which logins count as the same.
const SAME_LOGIN_TIME: Duration = Duration::from_secs(600);
/// The most logins that are remembered. With more, each is recorded again.
const MAX_REMEMBERED_LOGINS: usize = 8192;

impl Logins {
    pub(crate) fn new(audit: Audit) -> Self {
        Self { audit, seen: Mutex::default() }
    }

    /// Records the outcome of a request with these headers.
    pub(crate) fn note(&self, before: &Session, headers: &HeaderMap, after: Result<&Session, &Error>) {
        if !self.audit.is_on() || !headers.contains_key(http::header::AUTHORIZATION) {
            return;
        }
        match after.map(|session| (session, session.principal())) {
            Ok((session, Principal::Identity(login))) if matches!(before.principal(), Principal::Anonymous) => {
                if self.is_new(login.token(), session.peer().ip()) {
                    self.audit.note(|| act::of(session, "login", Outcome::Ok));
                }
            }
            Ok(_) => {}
            Err(error) => {
                // A slowed-down caller has shown a wrong token, too.
                let refused = !matches!(error.code(), Code::StoreUnavailable | Code::Internal);
                let outcome =
                    if refused { Outcome::Refused(Code::NotAuthenticated.number()) } else { Outcome::Failed(error.code().number()) };
                self.audit.refusal(|| act::of(before, "login", outcome));
            }
        }
    }

    fn is_new(&self, token: &TokenId, from: IpAddr) -> bool {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if seen.len() >= MAX_REMEMBERED_LOGINS {
            seen.clear();
        }
        let key = (token.clone(), from);
        if seen.get(&key).is_some_and(|last| now.duration_since(*last) < SAME_LOGIN_TIME) {
            return false;
        }
        seen.insert(key, now);
        true
    }
}
