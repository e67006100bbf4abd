use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::{HeaderMap, header};
use tokio::sync::watch;

use super::auth::{Permission, Principal, Session};
use super::error::Error;
use super::guard::{Concern, Guard};
use hero_access as access;
use hero_model::ContextId;

/// Whether callers have to say who they are.
#[derive(Clone, Default)]
pub enum Access {
    /// Whoever can connect to the server may use it.
    #[default]
    Open,
    /// Without an identity only [`Permission::Public`] methods can be called, and with one what its roles allow.
    Login(Guard),
}

impl Access {
    /// Whether everybody may do everything.
    pub const fn is_open(&self) -> bool {
        matches!(self, Self::Open)
    }

    /// The session of whoever has sent a request with these headers over the connection of `session`.
    ///
    /// A token that is none is refused, whatever the call: a client that believes to be somebody is told that it is not.
    pub(super) async fn log_in(&self, session: &Arc<Session>, headers: &HeaderMap) -> Result<Arc<Session>, Error> {
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

    /// Whether a session may make a call that needs `permission` and concerns this.
    pub(super) async fn allow(&self, session: &Session, permission: Permission, concern: &Concern<'_>) -> Result<(), Error> {
        match self {
            Self::Open => Ok(()),
            Self::Login(guard) => guard.allow(session, permission, concern).await,
        }
    }

    /// Tells of changes of the rights of a session from now on, if there are any.
    pub(super) fn changes(&self, session: &Session) -> Option<Changes> {
        match self {
            Self::Open => None,
            Self::Login(guard) => Some(Changes { rights: guard.authority().changes(), caller: session.principals() }),
        }
    }

    /// Returns when a session may not make a call any more that it could make, and says why: a role was taken away, or it has logged in as somebody else. `changes` are those since before it
    /// was asked whether it may. Of a token that ends whoever serves the connection takes care.
    pub(super) async fn revoked(
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
                        tokio::time::sleep(AGAIN).await;
                    }
                }
            }
        }
        std::future::pending().await
    }

    /// Whether there is such a context, as far as that decides who may do what.
    pub(super) fn knows(&self, context: ContextId) -> bool {
        match self {
            Self::Open => true,
            Self::Login(guard) => guard.authority().context(context).is_some(),
        }
    }

    /// Whether whoever is behind a session may call a method that needs `permission` at all, whatever it concerns.
    pub(super) fn check(&self, principal: &Principal, permission: Permission) -> Result<(), Error> {
        match (self, principal, permission) {
            (Self::Open, _, _) | (_, Principal::Operator, _) | (_, _, Permission::Public) => Ok(()),
            (Self::Login(_), Principal::Anonymous, _) => Err(Error::NotAuthenticated),
            (Self::Login(_), Principal::Identity(login), _) if login.has_ended() => Err(Error::NotAuthenticated),
            (Self::Login(_), Principal::Identity(_), _) => Ok(()),
        }
    }
}

/// What may change the rights of a session: roles, and who has logged in.
pub(super) struct Changes {
    rights: watch::Receiver<u64>,
    caller: watch::Receiver<Principal>,
}

impl Changes {
    /// Waits for the next. False: there is none any more.
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

/// After what time it is asked again what could not be found out.
const AGAIN: Duration = Duration::from_secs(1);

/// How many who are not who they say, or say it wrongly, are answered at once in a second, if they have one address.
const WRONG_PER_SECOND: u32 = 20;
/// How long those beyond wait for their answer.
const SLOWED: Duration = Duration::from_secs(1);

/// The answer to a wrong token, or a login that failed. Whoever tries many waits for it; what is right is not slowed, from the same address either.
pub(super) async fn slowed(session: &Session, error: Error) -> Error {
    match session.address().wrong_tokens.pass(WRONG_PER_SECOND, Instant::now()) {
        Ok(()) => error,
        Err(retry_after) => {
            tokio::time::sleep(SLOWED).await;
            Error::Busy {
                what: format!("more than {WRONG_PER_SECOND} wrong tokens or logins a second from your address (a fixed limit)").into(),
                retry_after,
            }
        }
    }
}

/// The bearer token of a request, if it shows one. One that is no text is none that anybody was given.
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
