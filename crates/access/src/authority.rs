use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::error::Error;
use super::login::{Login, Logins};
use super::pace::Pace;
use super::reading::Reading;
use super::secret::{TokenKey, TokenSecret, is_secret, same, token_id};
use hero_model::{Context, ContextId, Identity, IdentityId, IdentityPage, Timestamp, Token, TokenId};
use hero_store::{self as store, IdentityChange, IdentityFound, IdentityStored, Score, Store, StoredToken, TokenCreated};

/// The maximum length of a token's name and of an identity's address, in bytes.
const MAX_NAME_BYTES: usize = 256;
/// The maximum number of addresses of an identity.
const MOST_ADDRESSES: usize = 16;
/// The number of logins kept in memory although no connection holds them.
const MAX_UNHELD_LOGINS: usize = 10_000;
/// The number of attempts to make a token when its id is already taken.
pub(super) const MAX_TOKEN_ID_ATTEMPTS: usize = 3;
/// The default lifetime of a login by a signature.
const DEFAULT_LOGIN_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

fn check(change: &IdentityChange) -> Result<(), Error> {
    let invalid = |message: String| Err(Error::Invalid { param: "address", message });
    let addresses = change.address.as_deref().unwrap_or_default();
    match addresses.iter().find(|address| address.is_empty() || address.len() > MAX_NAME_BYTES) {
        _ if addresses.len() > MOST_ADDRESSES => invalid(format!("has {} entries, the limit is {MOST_ADDRESSES}", addresses.len())),
        Some(long) => invalid(format!("each has 1 to {MAX_NAME_BYTES} bytes, but one has {}", long.len())),
        None => Ok(()),
    }
}

/// Identities, tokens and rights. Cheap to clone.
#[derive(Clone)]
pub struct Authority(pub(super) Arc<Inner>);

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").field("contexts", &self.0.stores.len()).finish_non_exhaustive()
    }
}

pub(super) struct Inner {
    /// The stores of the contexts that this process always serves.
    pub(super) stores: BTreeMap<ContextId, Store>,
    key: TokenKey,
    /// The lifetime of a login by a signature.
    login_lifetime: Duration,
    pub(super) logins: Logins,
    /// The most recent logins, by the hashes of their secrets, so that not every HTTP request asks Redis.
    recent: Mutex<HashMap<String, Arc<Login>>>,
    /// The existing contexts as of `revision`.
    pub(super) contexts: RwLock<BTreeMap<ContextId, Arc<Context>>>,
    pub(super) revision: AtomicU64,
    /// Limits how fast identities make tokens.
    pub(super) pace: Pace,
    /// The contexts that could not be read; `contexts` holds their last known state.
    pub(super) missing: Mutex<BTreeSet<ContextId>>,
    /// Held while the known state is refreshed.
    pub(super) reading: tokio::sync::Mutex<Reading>,
    /// Whether callers of this process must log in; not set if the process has no callers.
    login: OnceLock<bool>,
    /// Whether callers of other processes must log in, as far as this process has seen.
    pub(super) login_elsewhere: AtomicBool,
    /// Notified when contexts have changed.
    pub(super) changed: watch::Sender<u64>,
}

/// A newly made token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewToken {
    /// The public part of the token.
    pub token: Token,
    /// The secret of the token. It cannot be retrieved later.
    pub secret: TokenSecret,
}

impl Authority {
    /// Creates the authority over these contexts. It knows no rights before the first [`follow`](Self::follow).
    pub fn new(stores: impl IntoIterator<Item = Store>, key: TokenKey) -> Self {
        Self::with_logins_of(stores, key, DEFAULT_LOGIN_LIFETIME)
    }

    /// Creates the authority with this lifetime of logins by a signature.
    pub fn with_logins_of(stores: impl IntoIterator<Item = Store>, key: TokenKey, login_lifetime: Duration) -> Self {
        let stores: BTreeMap<_, _> = stores.into_iter().map(|store| (store.context(), store)).collect();
        let (logins, recent, pace, missing, reading, changed) = Default::default();
        let contexts = stores.keys().map(|context| (*context, Arc::new(Context::none(*context)))).collect();
        let (contexts, revision) = (RwLock::new(contexts), AtomicU64::new(u64::MAX));
        let (login, login_elsewhere) = Default::default();
        Self(Arc::new(Inner {
            stores,
            key,
            login_lifetime,
            logins,
            recent,
            contexts,
            revision,
            pace,
            missing,
            reading,
            login,
            login_elsewhere,
            changed,
        }))
    }

    pub(super) fn home(&self) -> Result<&Store, Error> {
        self.0.stores.get(&ContextId(0)).ok_or(Error::Elsewhere)
    }

    pub(super) fn key(&self) -> &TokenKey {
        &self.0.key
    }

    pub(super) fn login_lifetime(&self) -> Duration {
        self.0.login_lifetime
    }

    /// Sets whether callers of this process must log in, and tells actors of other processes.
    pub async fn set_login(&self, login: bool) -> Result<(), Error> {
        // Set only once.
        let _ = self.0.login.set(login);
        Ok(self.home()?.access().note_login(login).await?)
    }

    /// Whether callers must log in: those of this process or, if it has no callers, those of the servers on the same
    /// Redis.
    pub fn has_login(&self) -> bool {
        self.0.login.get().copied().unwrap_or_else(|| self.0.login_elsewhere.load(Ordering::Acquire))
    }

    /// Creates an identity.
    ///
    /// Skips a number to which another program has given roles, so that the new identity does not inherit them.
    pub async fn create_identity(&self, change: &IdentityChange) -> Result<Identity, Error> {
        check(change)?;
        self.follow().await?;
        let stored = self.home()?.access().new_identity(change, |numbers| self.holders(numbers)).await?;
        self.stored(stored, None).await
    }

    /// Changes the named fields of an identity.
    pub async fn update_identity(&self, id: IdentityId, change: &IdentityChange) -> Result<Identity, Error> {
        check(change)?;
        let stored = self.home()?.access().set_identity(id, change).await?;
        if change.pubkey.is_some() && matches!(stored, IdentityStored::Stored(_)) {
            // Logins with the previous key have ended.
            self.follow().await?;
        }
        self.stored(stored, Some(id)).await
    }

    async fn stored(&self, stored: IdentityStored, id: Option<IdentityId>) -> Result<Identity, Error> {
        match (stored, id) {
            (IdentityStored::Stored(id), _) => self.identity(id).await,
            (IdentityStored::Missing, Some(id)) => Err(self.why_missing(id).await),
            (IdentityStored::Taken(owner), _) => Err(Error::KeyTaken(owner)),
            (IdentityStored::NoNumber, _) => Err(Error::NoNumber),
            (IdentityStored::Later, _) => Err(Error::NumbersTaken),
            (IdentityStored::Full | IdentityStored::Missing, _) => Err(Error::Full("100,000 identities")),
        }
    }

    /// Returns an identity.
    pub async fn identity(&self, id: IdentityId) -> Result<Identity, Error> {
        match self.home()?.access().known_identity(id).await? {
            IdentityFound::There(identity) => Ok(identity),
            IdentityFound::Missing => Err(Error::NoIdentity(id)),
            IdentityFound::Unlisted(why) => Err(Error::Unlisted(id, why)),
        }
    }

    /// Returns the reason why no identity has this number, for an update that found none.
    async fn why_missing(&self, id: IdentityId) -> Error {
        self.identity(id).await.err().unwrap_or(Error::NoIdentity(id))
    }

    /// Whether this `caller_id` belongs to a deleted identity. False for a text that is no identity's number.
    pub async fn is_deleted(&self, caller: &str) -> Result<bool, store::Error> {
        match (IdentityId::of_caller(caller), self.0.stores.get(&ContextId(0))) {
            (Some(id), Some(home)) => home.access().had_identity(id).await,
            _ => Ok(false),
        }
    }

    /// Returns a page of identities in the order of their numbers: all identities, or those that `viewer` may see. The
    /// page may hold fewer than `limit` and still have a next one.
    pub async fn identities(&self, viewer: Option<IdentityId>, cursor: Option<&str>, limit: usize) -> Result<IdentityPage, Error> {
        let after = cursor.map_or(Ok(Score::from(0)), |cursor| cursor.parse().map_err(|()| Error::bad_cursor()))?;
        let (identities, next) = match viewer {
            None => self.home()?.access().identities(after, limit).await?,
            Some(viewer) => {
                let fellows = self.fellows(viewer);
                let mut behind = fellows.into_iter().filter(|fellow| Score::from(fellow.0).is_behind(after));
                let page: Vec<IdentityId> = behind.by_ref().take(limit).collect();
                let next = page.last().filter(|_| behind.next().is_some()).map(|last| Score::from(last.0));
                (self.home()?.access().listed_identities(&page).await?, next)
            }
        };
        Ok(IdentityPage { identities, next_cursor: next.map(|next| next.to_string()) })
    }

    /// Deletes an identity and its tokens, which end at once. Contexts that cannot be reached keep its number in their
    /// lists.
    pub async fn delete_identity(&self, id: IdentityId) -> Result<(), Error> {
        if !self.home()?.access().delete_identity(id).await? {
            return Err(Error::NoIdentity(id));
        }
        self.0.logins.end(|login| login.identity() == id);
        // Another server may have just given it a role.
        self.follow().await?;
        self.forget_roles(id).await;
        Ok(self.follow().await?)
    }

    /// Makes a token of an identity. The token expires after `lifetime`, if given. A token made `by` a login expires no
    /// later than the token of that login.
    pub async fn create_token(
        &self,
        identity: IdentityId,
        name: Option<String>,
        lifetime: Option<Duration>,
        by: Option<&Login>,
    ) -> Result<NewToken, Error> {
        if let Some(name) = name.as_ref().filter(|name| name.len() > MAX_NAME_BYTES) {
            return Err(Error::Invalid { param: "name", message: format!("has {} bytes, the limit is {MAX_NAME_BYTES}", name.len()) });
        }
        if by.is_some() {
            self.0.pace.pass(identity, Instant::now()).map_err(Error::TooFast)?;
        }
        let store = self.home()?;
        let (most, parent) = (by.and_then(Login::expires_at), by.map(|login| login.token().clone()));
        for _ in 0..MAX_TOKEN_ID_ATTEMPTS {
            let secret = TokenSecret::random();
            let digest = self.0.key.digest(secret.reveal());
            let created_at = store.clock().now();
            let expires_at = lifetime.map(|lifetime| created_at.plus(lifetime)).into_iter().chain(most).min();
            let token = Token { token_id: token_id(&digest), identity_id: identity, name: name.clone(), created_at, expires_at };
            let stored =
                StoredToken { token, expires_ms: expires_at.map(Timestamp::as_millis), login: false, parent: parent.clone(), digest };
            match store.access().create_token(&stored).await? {
                TokenCreated::Stored => return Ok(NewToken { token: stored.token, secret }),
                TokenCreated::Missing => return Err(self.why_missing(identity).await),
                TokenCreated::Over => return Err(Error::Unknown),
                TokenCreated::Full => return Err(Error::Full("100 tokens of this identity")),
                TokenCreated::Taken => {}
            }
        }
        Err(Error::Full("too many tokens"))
    }

    /// Returns the tokens of an identity that have not ended, oldest first.
    pub async fn tokens(&self, identity: IdentityId) -> Result<Vec<Token>, Error> {
        let store = self.home()?;
        let now = store.clock().now();
        let tokens = store.access().tokens_of(identity).await?.into_iter().map(|stored| stored.token);
        Ok(tokens.filter(|token| token.expires_at.is_none_or(|end| end > now)).collect())
    }

    /// Returns the identity that owns this token.
    pub async fn owner(&self, token: &TokenId) -> Result<IdentityId, Error> {
        let found = self.home()?.access().token(token).await?;
        found.map(|stored| stored.token.identity_id).ok_or_else(|| Error::NoToken(token.clone()))
    }

    /// Revokes a token. Its logins end at once here, and within half a second on other servers.
    pub async fn revoke_token(&self, token: &TokenId) -> Result<(), Error> {
        if !self.home()?.access().revoke_token(token).await? {
            return Err(Error::NoToken(token.clone()));
        }
        self.0.logins.end(|login| login.token() == token);
        Ok(self.follow().await?)
    }

    /// Logs in a caller with the secret of a token.
    pub async fn log_in(&self, secret: &str) -> Result<Arc<Login>, Error> {
        if !is_secret(secret) {
            return Err(Error::Unknown);
        }
        let (store, digest) = (self.home()?, self.0.key.digest(secret));
        let id = token_id(&digest);
        let read = async || Ok::<_, Error>(store.access().token(&id).await?);
        let stored = read().await?.filter(|stored| same(&stored.digest, &digest)).ok_or(Error::Unknown)?;
        let login = Arc::new(Login::new(stored.token.identity_id, id.clone(), stored.token.expires_at));
        self.0.logins.add(&login);
        // A revocation from now on ends the login, so the token must still exist at this point.
        if store.access().identity(stored.token.identity_id).await?.is_none()
            || login.is_over(store.clock().now())
            || read().await?.is_none_or(|stored| !same(&stored.digest, &digest))
        {
            return Err(Error::Unknown);
        }
        let mut recent = self.0.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if recent.len() >= MAX_UNHELD_LOGINS {
            recent.clear();
        }
        recent.insert(digest, Arc::clone(&login));
        Ok(login)
    }

    /// Returns the login for a secret that was shown here recently.
    pub fn known_login(&self, secret: &str) -> Option<Arc<Login>> {
        let digest = self.0.key.digest(secret);
        let now = self.home().ok()?.clock().now();
        let mut recent = self.0.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let login = recent.get(&digest).cloned()?;
        if login.has_ended() || login.is_over(now) {
            recent.remove(&digest);
            return None;
        }
        Some(login)
    }
}
