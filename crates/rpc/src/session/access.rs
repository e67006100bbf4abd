use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::{HeaderMap, header};
use tokio::sync::watch;

use super::auth::{Permission, Principal, Session};
use super::guard::{Concern, Guard};
use crate::error::Error;
use hero_access as access;
use hero_model::ContextId;

/// Whether callers must log in.
#[derive(Clone, Default)]
pub enum Access {
    /// Every client that can connect to the server may use it.
    #[default]
    Open,
    /// Callers without an identity can call only [`Permission::Public`] methods. Identities can call the methods that their roles allow.
    Login(Guard),
}

impl Access {
    /// Whether every caller may do everything.
    pub const fn is_open(&self) -> bool {
        matches!(self, Self::Open)
    }

    /// Returns the session of the caller of a request with these headers, on the connection of `session`.
    ///
    /// An invalid token is refused for every call, so that a client with a wrong identity learns it.
    pub(crate) async fn log_in(&self, session: &Arc<Session>, headers: &HeaderMap) -> Result<Arc<Session>, Error> {
        let (Self::Login(guard), Principal::Anonymous) = (self, session.principal()) else { return Ok(Arc::clone(session)) };
        let Some(secret) = bearer(headers)? else { return Ok(Arc::clone(session)) };
        if let Some(login) = guard.authority().known_login(secret) {
            return Ok(Arc::new(session.of(Principal::Identity(login))));
        }
        match guard.authority().log_in(secret).await {
            Ok(login) => Ok(Arc::new(session.of(Principal::Identity(login)))),
            Err(access::Error::Unknown) => Err(slowed(session, access::Error::Unknown.into()).await),
            Err(error) => Err(error.into()),
        }
    }

    /// Checks whether a session may make a call that needs `permission` and has this concern.
    pub(crate) async fn allow(&self, session: &Session, permission: Permission, concern: &Concern<'_>) -> Result<(), Error> {
        match self {
            Self::Open => Ok(()),
            Self::Login(guard) => guard.allow(session, permission, concern).await,
        }
    }

    /// Returns the changes of the rights of a session from now on, if there can be any.
    pub(crate) fn changes(&self, session: &Session) -> Option<Changes> {
        match self {
            Self::Open => None,
            Self::Login(guard) => Some(Changes { rights: guard.authority().changes(), caller: session.principals() }),
        }
    }

    /// Returns, with the reason, when a session may no longer make a call that it could make: a role was revoked, or the session has logged
    /// in as another identity. `changes` must begin before the first check of the call. The owner of the connection handles the end of a
    /// token.
    pub(crate) async fn revoked(
        &self,
        session: &Session,
        permission: Permission,
        concern: &Concern<'_>,
        changes: Option<Changes>,
    ) -> Error {
        let (Self::Login(guard), Some(mut changes)) = (self, changes) else { return std::future::pending().await };
        while changes.next().await {
            loop {
                match guard.allow(session, permission, concern).await {
                    Ok(()) => break,
                    Err(error @ Error::Denied(_)) => return error,
                    Err(Error::NotAuthenticated) => break,
                    Err(error) => {
                        tracing::debug!(%error, "whether a call is still allowed is not known");
                        tokio::time::sleep(CHECK_RETRY_INTERVAL).await;
                    }
                }
            }
        }
        std::future::pending().await
    }

    /// Whether a context exists, as far as rights depend on it.
    pub(crate) fn knows(&self, context: ContextId) -> bool {
        match self {
            Self::Open => true,
            Self::Login(guard) => guard.authority().context(context).is_some(),
        }
    }

    /// Checks whether the caller of a session may call a method that needs `permission` at all, without regard to its concern.
    pub(crate) fn check(&self, principal: &Principal, permission: Permission) -> Result<(), Error> {
        match (self, principal, permission) {
            (Self::Open, _, _) | (_, Principal::Operator, _) | (_, _, Permission::Public) => Ok(()),
            (Self::Login(_), Principal::Anonymous, _) => Err(Error::NotAuthenticated),
            (Self::Login(_), Principal::Identity(login), _) if login.has_ended() => Err(Error::NotAuthenticated),
            (Self::Login(_), Principal::Identity(_), _) => Ok(()),
        }
    }
}

/// The changes that may affect the rights of a session: roles and logins.
pub(crate) struct Changes {
    rights: watch::Receiver<u64>,
    caller: watch::Receiver<Principal>,
}

impl Changes {
    /// Waits for the next change. Returns false if there will be none any more.
    async fn next(&mut self) -> bool {
        tokio::select! {
            changed = self.rights.changed() => changed.is_ok(),
            changed = self.caller.changed() => changed.is_ok(),
        }
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_open() { "open" } else { "login" })
    }
}

/// The interval at which a failed check is repeated.
const CHECK_RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// The number of wrong tokens and failed logins of one address that are answered at once in a second.
const WRONG_PER_SECOND: u32 = 20;
/// The delay of answers beyond that number.
const EXCESS_DELAY: Duration = Duration::from_secs(1);

/// Answers a wrong token or a failed login. A client that tries many waits for the answer. Correct tokens are not delayed, even from the
/// same address.
pub(crate) async fn slowed(session: &Session, error: Error) -> Error {
    match session.address().wrong_tokens.pass(WRONG_PER_SECOND, Instant::now()) {
        Ok(()) => error,
        Err(retry_after) => {
            tokio::time::sleep(EXCESS_DELAY).await;
            Error::Busy {
                what: format!("more than {WRONG_PER_SECOND} wrong tokens or logins a second from your address (a fixed limit)").into(),
                retry_after,
            }
        }
    }
}

/// Returns the bearer token of a request, if it has one. A token that is no text cannot be valid.
fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Error> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), next) = (values.next(), values.next()) else { return Ok(None) };
    if next.is_some() {
        return Err(Error::Request("Authorization may be given once"));
    }
    let value = value.as_bytes();
    let (scheme, token) = value.split_at(value.iter().position(|byte| *byte == b' ').unwrap_or(value.len()));
    if !scheme.eq_ignore_ascii_case(b"bearer") {
        return Ok(None);
    }
    Ok(Some(std::str::from_utf8(token).map_or("", str::trim)))
}
