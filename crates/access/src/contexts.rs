//! The existing contexts, the rights of identities in them, and their limits.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::{Arc, PoisonError};

use futures_util::{FutureExt as _, StreamExt as _, stream};
use tokio::sync::watch;

use super::follow::{CONTEXT_TIMEOUT, MAX_CONCURRENT_CONTEXTS};
use super::{Authority, Error};
use hero_model::{Context, ContextId, ContextLimits, ContextPage, ContextStatus, IdentityId, Role};
use hero_store::{self as store, ContextChange, Granted, Store};

/// The maximum number of contexts.
const MAX_CONTEXTS: usize = 10_000;
/// The maximum length of a context's name, in bytes.
const MAX_NAME_BYTES: usize = 256;
/// The maximum number of admins of a new context.
const MOST_ADMINS: usize = 1000;

/// The properties of a new context, or changes to an existing one. Fields that are not named stay unchanged.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ContextSpec {
    /// The name, which tells the purpose of the context.
    pub name: Option<String>,
    /// The limits of the context. A limit that is not named stays, and 0 removes one.
    pub limits: ContextLimits,
    /// The admins of a new context.
    pub admins: BTreeSet<IdentityId>,
}

impl ContextSpec {
    fn check(&self) -> Result<(), Error> {
        let invalid = |param, message| Err(Error::Invalid { param, message });
        match &self.name {
            Some(name) if name.len() > MAX_NAME_BYTES => {
                invalid("name", format!("has {} bytes, the limit is {MAX_NAME_BYTES}", name.len()))
            }
            Some(name) if name.chars().any(char::is_control) => invalid("name", "has characters that cannot be seen".to_owned()),
            _ if self.admins.len() > MOST_ADMINS => {
                invalid("admins", format!("has {} entries; {MOST_ADMINS} can be named at once, and grant adds others", self.admins.len()))
            }
            _ => Ok(()),
        }
    }
}

impl Authority {
    /// Creates a context. This server serves it at once, other servers within a second.
    pub async fn create_context(&self, spec: ContextSpec) -> Result<Context, Error> {
        spec.check()?;
        let home = self.home()?;
        for admin in &spec.admins {
            self.identity(*admin).await?;
        }
        let context = home.contexts().reserve(MAX_CONTEXTS).await?.ok_or(Error::Full("10,000 contexts"))?;
        let limits = ContextLimits::default().changed(spec.limits);
        let change = ContextChange { name: spec.name, limits: Some(limits), admins: Some(spec.admins) };
        let made = async {
            let store = home.beside(context).await?;
            store.contexts().set(&change).await?;
            home.contexts().note(context).await.map(|()| store)
        };
        let store = match made.await {
            Ok(store) => store,
            // The database does not exist, so nothing was made in it.
            Err(store::Error::Unsuitable(why)) => {
                home.contexts().forget(context).await?;
                return Err(Error::NoDatabase(why));
            }
            Err(error) => return Err(error.into()),
        };
        self.follow().await?;
        Ok(store.contexts().own().await?)
    }

    /// Changes a context. The change takes effect at once here, and within a second on other servers.
    pub async fn update_context(&self, context: ContextId, spec: ContextSpec) -> Result<Context, Error> {
        spec.check()?;
        let store = self.reach(context).await?;
        let before = store.contexts().own().await?;
        let limits = (spec.limits != ContextLimits::default()).then(|| before.limits.changed(spec.limits));
        let home = self.home()?;
        let change = async {
            store.contexts().set(&ContextChange { name: spec.name, limits, admins: None }).await?;
            Ok(home.contexts().note(context).await?)
        };
        self.announced(context, Box::pin(change)).await?;
        self.follow().await?;
        self.changed_context(&store).await
    }

    /// Marks a context for deletion with everything in it; it takes no calls from then on. Refused while it has jobs,
    /// unless `stop` is set.
    ///
    /// The servers that see the mark delete its contents.
    pub async fn close_context(&self, context: ContextId, stop: bool) -> Result<(), Error> {
        if self.0.stores.contains_key(&context) {
            return Err(Error::Configured(context));
        }
        let (store, home) = (self.reach(context).await?, self.home()?);
        let change = async {
            match store.contexts().close(stop).await? {
                Some(jobs) => Err(Error::HasJobs { context, jobs }),
                None => Ok(home.contexts().note(context).await?),
            }
        };
        self.announced(context, Box::pin(change)).await?;
        Ok(self.follow().await?)
    }

    /// Records that the deletion of a context is complete.
    pub async fn bury_context(&self, store: &Store) -> Result<(), Error> {
        store.contexts().bury().await?;
        self.home()?.contexts().forget(store.context()).await?;
        Ok(self.follow().await?)
    }

    /// Gives an identity a role in a context, or takes it away. Returns the resulting rights in the context.
    pub async fn set_role(&self, context: ContextId, identity: IdentityId, role: Role, granted: bool) -> Result<Context, Error> {
        let (store, home) = (self.reach(context).await?, self.home()?);
        // A role can be taken away from an identity that no longer exists.
        let missing = self.identity(identity).await.err();
        if granted && let Some(error) = missing {
            return Err(error);
        }
        let change = async {
            let set = store.access().set_role(identity, role, granted).await?;
            match set {
                Granted::Full => return Err(Error::Full("10,000 who have that role in this context")),
                // Announced even if nothing changed: the process that made the change may have ended before announcing
                // it.
                Granted::Changed | Granted::Same => home.access().note(context).await?,
            }
            Ok(set)
        };
        let set = self.announced(context, Box::pin(change)).await?;
        self.follow().await?;
        if set == Granted::Same
            && let Some(error) = missing
        {
            return Err(error);
        }
        self.changed_context(&store).await
    }

    /// Makes a change of a context and tells other servers. They find the change even if this process is killed in
    /// between, because it is announced beforehand.
    async fn announced<T>(&self, context: ContextId, change: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let home = self.home()?;
        let announced = home.contexts().announce_change(context).await?;
        let changed = change.await;
        if let Err(Error::Store(source)) = &changed
            && !source.not_done()
        {
            // The change may have been made.
            return changed;
        }
        if let Err(error) = home.contexts().forget_change(&announced).await {
            tracing::debug!(%error, %context, "a change of a context that was told is looked for all the same");
        }
        changed
    }

    /// Returns a context that its store has just changed, and updates the state known here.
    async fn changed_context(&self, store: &Store) -> Result<Context, Error> {
        let context = store.contexts().own().await?;
        self.learn(&context);
        Ok(context)
    }

    /// Removes a deleted identity from the contexts in which it had roles, as far as they can be reached. Remaining
    /// entries mean nothing, because no number is given twice.
    pub(super) async fn forget_roles(&self, identity: IdentityId) {
        let of_each: Vec<_> =
            self.roles(identity).into_iter().map(|(context, roles)| self.forget_roles_in(context, identity, roles).boxed()).collect();
        stream::iter(of_each).for_each_concurrent(MAX_CONCURRENT_CONTEXTS, |done| done).await;
    }

    async fn forget_roles_in(&self, context: ContextId, identity: IdentityId, roles: Vec<Role>) {
        let forgetting = async {
            let (store, home) = (self.reach(context).await?, self.home()?);
            let change = async {
                for role in roles {
                    store.access().set_role(identity, role, false).await?;
                }
                Ok(home.access().note(context).await?)
            };
            self.announced(context, Box::pin(change)).await
        };
        let why = match tokio::time::timeout(CONTEXT_TIMEOUT, forgetting).await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no answer within {} s", CONTEXT_TIMEOUT.as_secs()),
        };
        tracing::warn!(%identity, %context, "an identity that was deleted stays in the lists of a context: {why}");
    }

    /// Reads a context from Redis.
    pub async fn read_context(&self, context: ContextId) -> Result<Context, Error> {
        Ok(self.reach(context).await?.contexts().own().await?)
    }

    /// Returns a context as last seen by this server, or `None` if it does not exist.
    pub fn context(&self, context: ContextId) -> Option<Arc<Context>> {
        self.0.contexts.read().unwrap_or_else(PoisonError::into_inner).get(&context).cloned()
    }

    /// Returns all contexts as last seen by this server.
    pub fn contexts(&self) -> Vec<Arc<Context>> {
        self.0.contexts.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// Returns a page of contexts in the order of their numbers: all contexts, or those in which an identity has a
    /// role.
    pub fn context_page(&self, identity: Option<IdentityId>, cursor: Option<&str>, limit: usize) -> Result<ContextPage, Error> {
        let after = cursor.map(|cursor| cursor.parse().map(ContextId).map_err(|_| Error::bad_cursor())).transpose()?;
        let sees = |context: &Context| identity.is_none_or(|identity| Role::ALL.iter().any(|role| context.has(identity, *role)));
        let known = self.0.contexts.read().unwrap_or_else(PoisonError::into_inner);
        let seen = known.iter().filter(|(id, context)| after.is_none_or(|after| **id > after) && sees(context));
        let mut contexts: Vec<Context> = seen.take(limit + 1).map(|(_, context)| (**context).clone()).collect();
        let more = contexts.len() > limit;
        contexts.truncate(limit);
        let next_cursor = contexts.last().filter(|_| more).map(|last| last.context_id.to_string());
        Ok(ContextPage { contexts, next_cursor })
    }

    /// Returns a receiver that counts up whenever contexts have been refreshed.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.changed.subscribe()
    }

    /// Whether an identity has a role in a context, as last seen by this server.
    pub fn has_role(&self, identity: IdentityId, context: ContextId, role: Role) -> bool {
        self.context(context).is_some_and(|context| context.has(identity, role))
    }

    /// Returns the contexts in which an identity has roles, with these roles.
    pub fn roles(&self, identity: IdentityId) -> BTreeMap<ContextId, Vec<Role>> {
        let contexts = self.0.contexts.read().unwrap_or_else(PoisonError::into_inner);
        let of = |context: &Context| Role::ALL.into_iter().filter(|role| context.has(identity, *role)).collect::<Vec<_>>();
        contexts.iter().map(|(id, context)| (*id, of(context))).filter(|(_, roles)| !roles.is_empty()).collect()
    }

    /// Returns the numbers in this range that have a role in any context, as last seen by this server.
    pub(super) fn holders(&self, numbers: RangeInclusive<IdentityId>) -> BTreeSet<IdentityId> {
        let contexts = self.0.contexts.read().unwrap_or_else(PoisonError::into_inner);
        let of =
            |context: &Context| Role::ALL.into_iter().flat_map(|role| context.of(role).range(numbers.clone()).copied()).collect::<Vec<_>>();
        contexts.values().flat_map(|context| of(context)).collect()
    }

    /// Returns the identity and all others that share a context with it, as last seen by this server.
    pub fn fellows(&self, identity: IdentityId) -> BTreeSet<IdentityId> {
        let contexts = self.0.contexts.read().unwrap_or_else(PoisonError::into_inner);
        let shared = contexts.values().filter(|context| Role::ALL.iter().any(|role| context.has(identity, *role)));
        shared.flat_map(|context| Role::ALL.into_iter().flat_map(|role| context.of(role))).copied().chain([identity]).collect()
    }

    /// Returns the store of an existing context. Makes one for this use if none is kept.
    pub(super) async fn reach(&self, context: ContextId) -> Result<Store, Error> {
        if let Some(store) = self.0.stores.get(&context) {
            return Ok(store.clone());
        }
        match self.context(context) {
            None => Err(Error::NoContext(context)),
            Some(known) if known.status == ContextStatus::Deleting => Err(Error::Deleting(context)),
            Some(_) => Ok(self.home()?.beside(context).await?),
        }
    }

    /// Lists the contexts that this process always serves, so that no other context gets their numbers. `elsewhere` are
    /// those in a Redis of their own.
    pub async fn list_own(&self, elsewhere: &BTreeSet<ContextId>) -> Result<(), store::Error> {
        let Some(home) = self.0.stores.get(&ContextId(0)) else { return Ok(()) };
        let (own, others): (Vec<_>, Vec<_>) = self.0.stores.keys().partition(|context| !elsewhere.contains(context));
        home.contexts().note_new(&own).await?;
        home.contexts().note_elsewhere(&others).await
    }

    /// Creates the missing hashes of the contexts that this process always serves. A hash that cannot be created now is
    /// created by the first change.
    pub async fn found_own(&self) {
        for store in self.0.stores.values() {
            if let Err(error) = store.contexts().found().await {
                tracing::warn!(context = %store.context(), %error, "the hash of a context that others may look at cannot be made now");
            }
        }
    }
}
