//! The contexts that exist, who has which rights in them, and what may be used there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::reading::Reading;
use super::{Authority, Error};
use crate::model::{Context, ContextId, ContextLimits, ContextPage, ContextStatus, IdentityId, Role, TokenId};
use crate::store::{self, ContextChange, Granted, Listed, Store};

/// The most contexts.
const MOST: usize = 10_000;
/// The longest name of a context, in bytes.
const LONGEST: usize = 256;
/// The most admins that a new context may be given.
const MOST_ADMINS: usize = 1000;
/// How many tokens are read at once.
const CHUNK: usize = 1000;
/// Who began to make a context so long ago and has not told that it is there was killed.
const MAKING: Duration = Duration::from_secs(60);

/// What a context is to be, or to be from now on. What is not named stays as it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ContextSpec {
    /// What it is for.
    pub name: Option<String>,
    /// What may be used in it: a limit that is not named stays, and 0 takes one away.
    pub limits: ContextLimits,
    /// Who may do everything in it, when it is made.
    pub admins: BTreeSet<IdentityId>,
}

impl ContextSpec {
    fn check(&self) -> Result<(), Error> {
        let invalid = |param, message| Err(Error::Invalid { param, message });
        match &self.name {
            Some(name) if name.len() > LONGEST => invalid("name", format!("has {} bytes, the limit is {LONGEST}", name.len())),
            Some(name) if name.chars().any(char::is_control) => invalid("name", "has characters that cannot be seen".to_owned()),
            _ if self.admins.len() > MOST_ADMINS => {
                invalid("admins", format!("has {} entries; {MOST_ADMINS} can be named at once, and grant adds others", self.admins.len()))
            }
            _ => Ok(()),
        }
    }
}

impl Authority {
    /// Makes a context. It is served at once here, and within a second by other servers.
    pub async fn create_context(&self, spec: ContextSpec) -> Result<Context, Error> {
        spec.check()?;
        let home = self.home()?;
        for admin in &spec.admins {
            if home.identity(*admin).await?.is_none() {
                return Err(Error::NoIdentity(*admin));
            }
        }
        let context = home.new_context(MOST).await?.ok_or(Error::Full("10,000 contexts"))?;
        let limits = ContextLimits::default().changed(spec.limits);
        let change = ContextChange { name: spec.name, limits: Some(limits), admins: Some(spec.admins) };
        let made = async {
            let store = home.beside(context).await?;
            if store.set_context(&change).await? { home.note_context(context).await.map(|()| store) } else { Err(store::Error::Closed) }
        };
        let store = match made.await {
            Ok(store) => store,
            // There is no such database, so nothing was made in it.
            Err(store::Error::Unsuitable(why)) => {
                home.forget_context(context).await?;
                return Err(Error::NoDatabase(why));
            }
            Err(error) => return Err(error.into()),
        };
        self.follow().await?;
        Ok(store.own_context().await?)
    }

    /// Changes a context. It holds at once here, and within a second on other servers.
    pub async fn update_context(&self, context: ContextId, spec: ContextSpec) -> Result<Context, Error> {
        spec.check()?;
        let store = self.reach(context).await?;
        let before = store.own_context().await?;
        let limits = (spec.limits != ContextLimits::default()).then(|| before.limits.changed(spec.limits));
        if !store.set_context(&ContextChange { name: spec.name, limits, admins: None }).await? {
            return Err(Error::Deleting(context));
        }
        self.home()?.note_context(context).await?;
        self.follow().await?;
        Ok(store.own_context().await?)
    }

    /// Has a context be deleted with everything in it: it takes no calls any more. Refused while it has jobs, unless they are to `stop`.
    ///
    /// What it holds is deleted by the servers that see it.
    pub async fn close_context(&self, context: ContextId, stop: bool) -> Result<(), Error> {
        if self.0.stores.contains_key(&context) {
            return Err(Error::Configured(context));
        }
        if let Some(jobs) = self.reach(context).await?.close_context(stop).await? {
            return Err(Error::HasJobs { context, jobs });
        }
        self.home()?.note_context(context).await?;
        Ok(self.follow().await?)
    }

    /// Notes that nothing is left of a context that was to be deleted.
    pub async fn bury_context(&self, store: &Store) -> Result<(), Error> {
        store.bury_context().await?;
        self.home()?.forget_context(store.context()).await?;
        Ok(self.follow().await?)
    }

    /// Gives an identity a role in a context, or takes it away. Gives the rights there.
    pub async fn set_role(&self, context: ContextId, identity: IdentityId, role: Role, granted: bool) -> Result<Context, Error> {
        let (store, home) = (self.reach(context).await?, self.home()?);
        if granted && home.identity(identity).await?.is_none() {
            return Err(Error::NoIdentity(identity));
        }
        match store.set_role(identity, role, granted).await? {
            Granted::Full => return Err(Error::Full("10,000 who have that role in this context")),
            // What was so already is told again: the one who did it may not have told it.
            Granted::Changed | Granted::Same => home.note_access(identity, context).await?,
        }
        self.follow().await?;
        Ok(store.own_context().await?)
    }

    /// A context as it stands in Redis.
    pub async fn read_context(&self, context: ContextId) -> Result<Context, Error> {
        Ok(self.reach(context).await?.own_context().await?)
    }

    /// A context, as far as this server has seen; nothing if there is none.
    pub fn context(&self, context: ContextId) -> Option<Arc<Context>> {
        self.0.contexts.read().unwrap_or_else(PoisonError::into_inner).get(&context).cloned()
    }

    /// All contexts, as far as this server has seen.
    pub fn contexts(&self) -> Vec<Arc<Context>> {
        self.0.contexts.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// A page of the contexts, in the order of their numbers: all of them, or those in which an identity has a role.
    pub fn context_page(&self, identity: Option<IdentityId>, cursor: Option<&str>, limit: usize) -> Result<ContextPage, Error> {
        let bad = || Error::Invalid { param: "cursor", message: "is not a cursor; list_contexts gives them as next_cursor".into() };
        let after = cursor.map(|cursor| cursor.parse().map(ContextId).map_err(|_| bad())).transpose()?;
        let sees = |context: &Context| identity.is_none_or(|identity| Role::ALL.iter().any(|role| context.has(identity, *role)));
        let known = self.0.contexts.read().unwrap_or_else(PoisonError::into_inner);
        let seen = known.iter().filter(|(id, context)| after.is_none_or(|after| **id > after) && sees(context));
        let mut contexts: Vec<Context> = seen.take(limit + 1).map(|(_, context)| (**context).clone()).collect();
        let more = contexts.len() > limit;
        contexts.truncate(limit);
        let next_cursor = contexts.last().filter(|_| more).map(|last| last.context_id.to_string());
        Ok(ContextPage { contexts, next_cursor })
    }

    /// Counts up whenever contexts were read anew, with what they are then.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.changed.subscribe()
    }

    /// Whether an identity has a role in a context, as far as this server has seen.
    pub fn has_role(&self, identity: IdentityId, context: ContextId, role: Role) -> bool {
        self.context(context).is_some_and(|context| context.has(identity, role))
    }

    /// The contexts in which an identity has roles, and which.
    pub fn roles(&self, identity: IdentityId) -> BTreeMap<ContextId, Vec<Role>> {
        let contexts = self.0.contexts.read().unwrap_or_else(PoisonError::into_inner);
        let of = |context: &Context| Role::ALL.into_iter().filter(|role| context.has(identity, *role)).collect::<Vec<_>>();
        contexts.iter().map(|(id, context)| (*id, of(context))).filter(|(_, roles)| !roles.is_empty()).collect()
    }

    /// The store of a context that exists, made for this if none is kept.
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

    /// Lists the contexts that this process always serves, so that no other gets their numbers. `elsewhere` are those in a Redis of their own.
    pub async fn list_own(&self, elsewhere: &BTreeSet<ContextId>) -> Result<(), store::Error> {
        let Some(home) = self.0.stores.get(&ContextId(0)) else { return Ok(()) };
        let (own, others): (Vec<_>, Vec<_>) = self.0.stores.keys().partition(|context| !elsewhere.contains(context));
        home.list_contexts(&own).await?;
        home.list_contexts_elsewhere(&others).await
    }

    /// Looks whether anything has changed, and acts on it: reads contexts anew, and ends logins whose tokens are gone or over.
    pub async fn follow(&self) -> Result<(), store::Error> {
        let Some(home) = self.0.stores.get(&ContextId(0)) else { return Ok(()) };
        let mut reading = self.0.reading.lock().await;
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
        let read = self.read_contexts(home, &mut reading).await;
        self.0.changed.send_modify(|count| *count += 1);
        read?;
        self.0.revision.store(revision, Ordering::Release);
        Ok(())
    }

    /// Reads the contexts that have changed, and forgets those that are gone.
    async fn read_contexts(&self, home: &Store, reading: &mut Reading) -> Result<(), store::Error> {
        let listed = home.contexts().await?;
        let of_time = |since| home.clock().now().since(since) > MAKING;
        let mut made = BTreeMap::new();
        let mut abandoned = Vec::new();
        for (id, how) in &listed {
            match how {
                Listed::At(revision) if !self.0.stores.contains_key(id) => drop(made.insert(*id, *revision)),
                Listed::Making(since) if of_time(*since) => abandoned.push(*id),
                _ => {}
            }
        }
        let changed: Vec<ContextId> =
            made.iter().filter(|(id, revision)| reading.seen.get(id) != Some(revision)).map(|(id, _)| *id).collect();
        let (mut fresh, mut unread, mut failed) = (Vec::new(), BTreeSet::new(), None);
        for store in self.0.stores.values() {
            match store.own_context().await {
                Ok(context) => fresh.push(context),
                // It stays as it was, and is asked for again.
                Err(error) => failed = Some(error),
            }
        }
        if !changed.is_empty() {
            if reading.databases.is_none() {
                reading.databases = Some(home.databases()?.map(Arc::new));
            }
            match &reading.databases {
                Some(Some(databases)) => {
                    for (id, context) in databases.contexts(&changed).await? {
                        match context {
                            Ok(context) => fresh.push(context),
                            Err(error) => {
                                unread.insert(id);
                                failed = Some(error);
                            }
                        }
                    }
                }
                _ => {
                    for id in &changed {
                        fresh.push(home.beside(*id).await?.own_context().await?);
                    }
                }
            }
        }
        // Who began to make these does not live any more: they go as any other.
        fresh.extend(abandoned.iter().map(|id| Context { status: ContextStatus::Deleting, ..Context::none(*id) }));
        let mut known = self.0.contexts.write().unwrap_or_else(PoisonError::into_inner);
        known.retain(|id, _| made.contains_key(id) || self.0.stores.contains_key(id) || abandoned.contains(id));
        known.extend(fresh.into_iter().map(|context| (context.context_id, Arc::new(context))));
        made.retain(|id, _| !unread.contains(id));
        reading.seen = made;
        failed.map_or(Ok(()), Err)
    }
}
