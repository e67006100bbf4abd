use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio_util::sync::CancellationToken;

use hero_model::{IdentityId, Timestamp, TokenId};

/// That somebody has shown a token, for as long as the token is worth something.
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

    /// Who has logged in.
    pub const fn identity(&self) -> IdentityId {
        self.identity
    }

    /// The token that was shown.
    pub const fn token(&self) -> &TokenId {
        &self.token
    }

    /// When the token ends, if it does.
    pub const fn expires_at(&self) -> Option<Timestamp> {
        self.expires_at
    }

    /// Whether the token was revoked, or its identity deleted, or it has expired, as far as this server has seen.
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

    /// Whether the time of the token is over.
    pub(super) fn is_over(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }
}

/// The logins that somebody still holds, by their tokens.
#[derive(Debug, Default)]
pub(super) struct Logins(Mutex<HashMap<TokenId, Vec<Weak<Login>>>>);

impl Logins {
    pub(super) fn add(&self, login: &Arc<Login>) {
        let mut logins = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_token = logins.entry(login.token.clone()).or_default();
        of_token.retain(|login| login.strong_count() > 0);
        of_token.push(Arc::downgrade(login));
    }

    /// Ends those that are such.
    pub(super) fn end(&self, which: impl Fn(&Login) -> bool) {
        for login in self.all().iter().flat_map(|(_, logins)| logins).filter(|login| which(login)) {
            login.end();
        }
    }

    /// All of them, by their tokens. Those that nobody holds any more are forgotten.
    pub(super) fn all(&self) -> Vec<(TokenId, Vec<Arc<Login>>)> {
        let mut logins = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        logins.retain(|_, of_token| {
            of_token.retain(|login| login.strong_count() > 0);
            !of_token.is_empty()
        });
        logins.iter().map(|(token, of_token)| (token.clone(), of_token.iter().filter_map(Weak::upgrade).collect())).collect()
    }
}
