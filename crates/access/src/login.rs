use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio_util::sync::CancellationToken;

use hero_model::{IdentityId, Timestamp, TokenId};

/// A login by a token, valid for as long as the token.
#[derive(Debug)]
pub struct Login {
    identity: IdentityId,
    token: TokenId,
    expires_at: Option<Timestamp>,
    ended: CancellationToken,
}

impl Login {
    pub(super) fn new(identity: IdentityId, token: TokenId, expires_at: Option<Timestamp>) -> Self {
        Self { identity, token, expires_at, ended: CancellationToken::new() }
    }

    /// Returns the identity that has logged in.
    pub const fn identity(&self) -> IdentityId {
        self.identity
    }

    /// Returns the token of the login.
    pub const fn token(&self) -> &TokenId {
        &self.token
    }

    /// Returns the time at which the token expires, if it does.
    pub const fn expires_at(&self) -> Option<Timestamp> {
        self.expires_at
    }

    /// Whether the token was revoked or has expired, or its identity was deleted, as last seen by this server.
    pub fn has_ended(&self) -> bool {
        self.ended.is_cancelled()
    }

    /// Returns when the login has ended.
    pub async fn ended(&self) {
        self.ended.cancelled().await;
    }

    pub(super) fn end(&self) {
        self.ended.cancel();
    }

    /// Whether the token has expired.
    pub(super) fn is_over(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }
}

/// The logins that are still held, by their tokens.
#[derive(Debug, Default)]
pub(super) struct Logins(Mutex<HashMap<TokenId, Vec<Weak<Login>>>>);

impl Logins {
    pub(super) fn add(&self, login: &Arc<Login>) {
        let mut logins = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_token = logins.entry(login.token.clone()).or_default();
        of_token.retain(|login| login.strong_count() > 0);
        of_token.push(Arc::downgrade(login));
    }

    /// Ends the logins that match `which`.
    pub(super) fn end(&self, which: impl Fn(&Login) -> bool) {
        for login in self.all().iter().flat_map(|(_, logins)| logins).filter(|login| which(login)) {
            login.end();
        }
    }

    /// Returns all logins by their tokens. Forgets those that are no longer held.
    pub(super) fn all(&self) -> Vec<(TokenId, Vec<Arc<Login>>)> {
        let mut logins = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        logins.retain(|_, of_token| {
            of_token.retain(|login| login.strong_count() > 0);
            !of_token.is_empty()
        });
        logins.iter().map(|(token, of_token)| (token.clone(), of_token.iter().filter_map(Weak::upgrade).collect())).collect()
    }
}
