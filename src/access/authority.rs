use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use super::error::Error;
use super::login::{Login, Logins};
use super::secret::{TokenKey, TokenSecret, is_secret, same, token_id};
use crate::model::{ContextId, ContextRights, Identity, IdentityId, IdentityPage, Role, Timestamp, Token, TokenId};
use crate::store::{self, Granted, IdentityChange, IdentityStored, Store, StoredToken, TokenCreated};

/// The longest name of a token, and the longest address of an identity, in bytes.
const LONGEST: usize = 256;
/// The most addresses of an identity.
const MOST_ADDRESSES: usize = 16;
/// How many tokens are read at once.
const CHUNK: usize = 1000;
/// How many logins are kept although nobody holds them.
const RECENT: usize = 10_000;
/// How often a token is made anew where another one has its id.
const TRIES: usize = 3;

/// Identities, tokens and rights. Cheap to clone.
#[derive(Clone)]
pub struct Authority(Arc<Inner>);

struct Inner {
    stores: BTreeMap<ContextId, Store>,
    key: TokenKey,
    logins: Logins,
    /// Those that were made last, by the hashes of their secrets, so that not each HTTP request asks Redis.
    recent: Mutex<HashMap<String, Arc<Login>>>,
    /// The rights in each context, as they were at `revision`.
    rights: RwLock<BTreeMap<ContextId, ContextRights>>,
    revision: AtomicU64,
    /// Held while what is known is read anew.
    reading: tokio::sync::Mutex<()>,
}

/// A token that was just made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewToken {
    /// What is known of it from now on.
    pub token: Token,
    /// Its secret, which nobody can ask for again.
    pub secret: TokenSecret,
}

impl Authority {
    /// The authority over these contexts. It knows no rights before it has [followed](Self::follow) once.
    pub fn new(stores: impl IntoIterator<Item = Store>, key: TokenKey) -> Self {
        let stores: BTreeMap<_, _> = stores.into_iter().map(|store| (store.context(), store)).collect();
        let (logins, recent, rights, reading) = Default::default();
        Self(Arc::new(Inner { stores, key, logins, recent, rights, revision: AtomicU64::new(u64::MAX), reading }))
    }

    fn home(&self) -> Result<&Store, Error> {
        self.0.stores.get(&ContextId(0)).ok_or(Error::Elsewhere)
    }

    fn store(&self, context: ContextId) -> Result<&Store, Error> {
        self.0.stores.get(&context).ok_or(Error::NoContext(context))
    }

    /// Makes an identity.
    pub async fn create_identity(&self, change: &IdentityChange) -> Result<Identity, Error> {
        self.set_identity(None, change).await
    }

    /// Changes what is named of an identity.
    pub async fn update_identity(&self, id: IdentityId, change: &IdentityChange) -> Result<Identity, Error> {
        self.set_identity(Some(id), change).await
    }

    async fn set_identity(&self, id: Option<IdentityId>, change: &IdentityChange) -> Result<Identity, Error> {
        let invalid = |message: String| Error::Invalid { param: "address", message };
        let addresses = change.address.as_deref().unwrap_or_default();
        if addresses.len() > MOST_ADDRESSES {
            return Err(invalid(format!("has {} entries, the limit is {MOST_ADDRESSES}", addresses.len())));
        }
        if let Some(long) = addresses.iter().find(|address| address.is_empty() || address.len() > LONGEST) {
            return Err(invalid(format!("each has 1 to {LONGEST} bytes, but one has {}", long.len())));
        }
        let id = match (self.home()?.set_identity(id, change).await?, id) {
            (IdentityStored::Stored(id), _) => id,
            (IdentityStored::Missing, Some(id)) => return Err(Error::NoIdentity(id)),
            (IdentityStored::Taken(owner), _) => return Err(Error::KeyTaken(owner)),
            (IdentityStored::Full | IdentityStored::Missing, _) => return Err(Error::Full("100,000 identities")),
        };
        self.identity(id).await
    }

    /// An identity.
    pub async fn identity(&self, id: IdentityId) -> Result<Identity, Error> {
        self.home()?.identity(id).await?.ok_or(Error::NoIdentity(id))
    }

    /// A page of identities, in the order of their numbers.
    pub async fn identities(&self, cursor: Option<&str>, limit: usize) -> Result<IdentityPage, Error> {
        let bad = || Error::Invalid { param: "cursor", message: "is not a cursor; list_identities gives them as next_cursor".into() };
        let after = cursor.map_or(Ok(0), |cursor| cursor.parse().map_err(|_| bad()))?;
        let mut identities = self.home()?.identities(after, limit + 1).await?;
        let more = identities.len() > limit;
        identities.truncate(limit);
        let next_cursor = identities.last().filter(|_| more).map(|last| last.identity_id.to_string());
        Ok(IdentityPage { identities, next_cursor })
    }

    /// Deletes an identity with its tokens, which end at once.
    pub async fn delete_identity(&self, id: IdentityId) -> Result<(), Error> {
        for (context, roles) in self.roles(id) {
            for role in roles {
                self.store(context)?.set_role(id, role, false).await?;
            }
        }
        if !self.home()?.delete_identity(id).await? {
            return Err(Error::NoIdentity(id));
        }
        Ok(self.follow().await?)
    }

    /// Makes a token of an identity, which ends after `lifetime`, and at `most`, if they are given.
    pub async fn create_token(
        &self,
        identity: IdentityId,
        name: Option<String>,
        lifetime: Option<Duration>,
        most: Option<Timestamp>,
    ) -> Result<NewToken, Error> {
        if let Some(name) = name.as_ref().filter(|name| name.len() > LONGEST) {
            return Err(Error::Invalid { param: "name", message: format!("has {} bytes, the limit is {LONGEST}", name.len()) });
        }
        let store = self.home()?;
        for _ in 0..TRIES {
            let secret = TokenSecret::random();
            let digest = self.0.key.digest(secret.reveal());
            let created_at = store.clock().now();
            let expires_at = lifetime.map(|lifetime| created_at.plus(lifetime)).into_iter().chain(most).min();
            let token = Token { token_id: token_id(&digest), identity_id: identity, name: name.clone(), created_at, expires_at };
            let stored = StoredToken { token, expires_ms: expires_at.map(Timestamp::as_millis), digest };
            match store.create_token(&stored).await? {
                TokenCreated::Stored => return Ok(NewToken { token: stored.token, secret }),
                TokenCreated::Missing => return Err(Error::NoIdentity(identity)),
                TokenCreated::Full => return Err(Error::Full("100 tokens of this identity")),
                TokenCreated::Taken => {}
            }
        }
        Err(Error::Full("too many tokens"))
    }

    /// The tokens of an identity that have not ended, the oldest first.
    pub async fn tokens(&self, identity: IdentityId) -> Result<Vec<Token>, Error> {
        let store = self.home()?;
        let now = store.clock().now();
        let tokens = store.tokens_of(identity).await?.into_iter().map(|stored| stored.token);
        Ok(tokens.filter(|token| token.expires_at.is_none_or(|end| end > now)).collect())
    }

    /// Whose token this is.
    pub async fn owner(&self, token: &TokenId) -> Result<IdentityId, Error> {
        let found = self.home()?.tokens(std::slice::from_ref(token)).await?.pop().flatten();
        found.map(|stored| stored.token.identity_id).ok_or_else(|| Error::NoToken(token.clone()))
    }

    /// Revokes a token: whoever has shown it is logged out, here at once, and by other servers within half a second.
    pub async fn revoke_token(&self, token: &TokenId) -> Result<(), Error> {
        if !self.home()?.revoke_token(token).await? {
            return Err(Error::NoToken(token.clone()));
        }
        Ok(self.follow().await?)
    }

    /// Logs in whoever shows the secret of a token.
    pub async fn log_in(&self, secret: &str) -> Result<Arc<Login>, Error> {
        if !is_secret(secret) {
            return Err(Error::Unknown);
        }
        let (store, digest) = (self.home()?, self.0.key.digest(secret));
        let id = token_id(&digest);
        let read = async || Ok::<_, Error>(store.tokens(std::slice::from_ref(&id)).await?.pop().flatten());
        let stored = read().await?.filter(|stored| same(&stored.digest, &digest)).ok_or(Error::Unknown)?;
        let login = Arc::new(Login::new(stored.token.identity_id, id.clone(), stored.token.expires_at));
        self.0.logins.add(&login);
        // One that is revoked from now on ends the login; so it has to be there still.
        if store.identity(stored.token.identity_id).await?.is_none()
            || login.is_over(store.clock().now())
            || read().await?.is_none_or(|stored| !same(&stored.digest, &digest))
        {
            return Err(Error::Unknown);
        }
        let mut recent = self.0.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if recent.len() >= RECENT {
            recent.clear();
        }
        recent.insert(digest, Arc::clone(&login));
        Ok(login)
    }

    /// The login of whoever shows a secret that was shown here lately.
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

    /// Gives an identity a role in a context, or takes it away. Gives the rights there.
    pub async fn set_role(&self, context: ContextId, identity: IdentityId, role: Role, granted: bool) -> Result<ContextRights, Error> {
        let (store, home) = (self.store(context)?, self.home()?);
        if granted && home.identity(identity).await?.is_none() {
            return Err(Error::NoIdentity(identity));
        }
        match store.set_role(identity, role, granted).await? {
            Granted::Full => return Err(Error::Full("10,000 who have that role in this context")),
            // What was so already is told again: the one who did it may not have told it.
            Granted::Changed | Granted::Same => home.note_access(identity).await?,
        }
        self.follow().await?;
        self.read_rights(context).await
    }

    /// The rights in a context, as they stand in Redis.
    pub async fn read_rights(&self, context: ContextId) -> Result<ContextRights, Error> {
        Ok(self.store(context)?.rights().await?)
    }

    /// Whether an identity has a role in a context, as far as this server has seen.
    pub fn has_role(&self, identity: IdentityId, context: ContextId, role: Role) -> bool {
        let rights = self.0.rights.read().unwrap_or_else(PoisonError::into_inner);
        rights.get(&context).is_some_and(|rights| rights.has(identity, role))
    }

    /// The contexts in which an identity has roles, and which.
    pub fn roles(&self, identity: IdentityId) -> BTreeMap<ContextId, Vec<Role>> {
        let rights = self.0.rights.read().unwrap_or_else(PoisonError::into_inner);
        let of = |rights: &ContextRights| Role::ALL.into_iter().filter(|role| rights.has(identity, *role)).collect::<Vec<_>>();
        rights.iter().map(|(context, rights)| (*context, of(rights))).filter(|(_, roles)| !roles.is_empty()).collect()
    }

    /// Looks whether anything has changed, and acts on it: reads rights anew, and ends logins whose tokens are gone or over.
    pub async fn follow(&self) -> Result<(), store::Error> {
        let Some(home) = self.0.stores.get(&ContextId(0)) else { return Ok(()) };
        let _reading = self.0.reading.lock().await;
        // What is changed from now on has another revision: so the logins are taken after it was read.
        let revision = home.access_revision().await?;
        let now = home.clock().now();
        let logins = self.0.logins.all();
        for login in logins.iter().flat_map(|(_, logins)| logins).filter(|login| login.is_over(now)) {
            login.end();
        }
        if revision == self.0.revision.load(Ordering::Acquire) {
            return Ok(());
        }
        for part in logins.chunks(CHUNK) {
            let ids: Vec<TokenId> = part.iter().map(|(token, _)| token.clone()).collect();
            for ((_, logins), stored) in part.iter().zip(home.tokens(&ids).await?) {
                for login in logins.iter().filter(|login| stored.as_ref().is_none_or(|stored| stored.token.identity_id != login.identity()))
                {
                    login.end();
                }
            }
        }
        let mut failed = None;
        for (context, store) in &self.0.stores {
            match store.rights().await {
                Ok(rights) => drop(self.0.rights.write().unwrap_or_else(PoisonError::into_inner).insert(*context, rights)),
                // Its rights stay as they were, and are asked for again.
                Err(error) => failed = Some(error),
            }
        }
        if let Some(error) = failed {
            return Err(error);
        }
        self.0.revision.store(revision, Ordering::Release);
        Ok(())
    }
}
