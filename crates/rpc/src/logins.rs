use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::HeaderMap;

use super::act;
use super::auth::{Principal, Session};
use super::error::{Code, Error};
use hero_audit::{Audit, Outcome};
use hero_model::TokenId;

/// Records who logs in, and who shows a token that is none.
///
/// Every request over HTTP has its token, so a login is a record when a token comes from an address for the first time in ten minutes. Wrong tokens are
/// counted as other refusals are.
#[derive(Debug)]
pub(super) struct Logins {
    audit: Audit,
    /// When a token came from an address.
    seen: Mutex<HashMap<(TokenId, IpAddr), Instant>>,
}

/// So long a login counts as the same.
const SAME: Duration = Duration::from_secs(600);
/// So many are remembered. When there are more, each is a record once more.
const MOST: usize = 8192;

impl Logins {
    pub(super) fn new(audit: Audit) -> Self {
        Self { audit, seen: Mutex::default() }
    }

    /// Notes what came of a request with these headers.
    pub(super) fn note(&self, before: &Session, headers: &HeaderMap, after: Result<&Session, &Error>) {
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
                // Whoever is slowed down has shown a wrong token all the same.
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
        if seen.len() >= MOST {
            seen.clear();
        }
        let key = (token.clone(), from);
        if seen.get(&key).is_some_and(|last| now.duration_since(*last) < SAME) {
            return false;
        }
        seen.insert(key, now);
        true
    }
}
