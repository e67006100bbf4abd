//! Follows changes made by other servers: ended tokens, and contexts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use futures_util::{FutureExt as _, StreamExt as _, stream};

use super::Authority;
use super::reading::Reading;
use hero_model::{Context, ContextId, ContextStatus, TokenId};
use hero_store::{self as store, Change, Listed, Store};

/// The number of tokens read at once.
const TOKENS_PER_READ: usize = 1000;
/// After this time, a process that began to make a context and has not reported it counts as killed.
const CREATION_TIMEOUT: Duration = Duration::from_secs(60);
/// A change that was announced this long ago and not completed is looked for, then again each `ANNOUNCEMENT_CHECK_INTERVAL`. Normally a
/// change takes less.
const ANNOUNCEMENT_TIMEOUT: Duration = Duration::from_secs(2);
const ANNOUNCEMENT_CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Timeout for reading or changing the rights of one context. Other contexts do not wait for it.
pub(super) const CONTEXT_TIMEOUT: Duration = Duration::from_secs(1);
/// The number of contexts with a store of their own that are read concurrently.
pub(super) const MAX_CONCURRENT_CONTEXTS: usize = 16;

impl Authority {
    /// Checks for changes and applies them: ends logins whose tokens were removed or have expired, and rereads
    /// contexts.
    ///
    /// A context that cannot be read keeps its last known state and delays nothing: [`Self::read_missing`] asks for it
    /// again.
    pub async fn follow(&self) -> Result<(), store::Error> {
        let Some(home) = self.0.stores.get(&ContextId(0)) else { return Ok(()) };
        let mut reading = self.0.reading.lock().await;
        // A change from now on has another revision, so the logins are listed after reading this one.
        let news = home.access().news().await?;
        if let Some(login) = news.as_ref().and_then(|news| news.login) {
            self.0.login_elsewhere.store(login, Ordering::Release);
        }
        let now = home.clock().now();
        let logins = self.0.logins.all();
        for login in logins.iter().flat_map(|(_, logins)| logins).filter(|login| login.is_over(now)) {
            login.end();
        }
        // If another program has spoilt the revision, everything may have changed.
        let (revision, changing) = news.map_or((None, Vec::new()), |news| (Some(news.revision), news.changing));
        self.look_at_changing(home, &mut reading, changing).await?;
        if revision == Some(self.0.revision.load(Ordering::Acquire)) {
            return Ok(());
        }
        for part in logins.chunks(TOKENS_PER_READ) {
            let ids: Vec<TokenId> = part.iter().map(|(token, _)| token.clone()).collect();
            for ((_, logins), stored) in part.iter().zip(home.access().tokens(&ids).await?) {
                for login in logins.iter().filter(|login| stored.as_ref().is_none_or(|stored| stored.token.identity_id != login.identity()))
                {
                    login.end();
                }
            }
        }
        let read = self.read_contexts(home, &mut reading).await;
        self.0.changed.send_modify(|count| *count += 1);
        read?;
        if let Some(revision) = revision {
            self.0.revision.store(revision, Ordering::Release);
        }
        Ok(())
    }

    /// Reads the contexts with announced changes that were not completed: the process that made the change may have
    /// been killed.
    async fn look_at_changing(&self, home: &Store, reading: &mut Reading, mut changing: Vec<Change>) -> Result<(), store::Error> {
        let now = home.clock().now();
        changing.retain(|change| now.since(change.since) > ANNOUNCEMENT_TIMEOUT);
        if changing.is_empty() || reading.looked_at_changing.is_some_and(|last| last.elapsed() < ANNOUNCEMENT_CHECK_INTERVAL) {
            return Ok(());
        }
        reading.looked_at_changing = Some(Instant::now());
        let contexts: BTreeSet<ContextId> = changing.iter().map(|change| change.context).collect();
        self.read_each(contexts.into_iter().collect()).await;
        self.0.changed.send_modify(|count| *count += 1);
        for change in changing.iter().filter(|change| now.since(change.since) > CREATION_TIMEOUT) {
            // By now the change was made, or never will be.
            home.contexts().note(change.context).await?;
            home.contexts().forget_change(&change.token).await?;
        }
        Ok(())
    }

    /// Reads the contexts that have changed, and forgets those that are gone.
    async fn read_contexts(&self, home: &Store, reading: &mut Reading) -> Result<(), store::Error> {
        let listed = match home.contexts().list().await {
            // The list of contexts cannot be read, so use the known ones.
            Err(error) if error.is_spoilt() => {
                if !std::mem::replace(&mut reading.list_is_spoilt, true) {
                    tracing::warn!(%error, "which contexts there are cannot be read; those that were known are served on");
                }
                reading.seen.iter().map(|(id, revision)| (*id, Listed::At(*revision))).collect()
            }
            listed => {
                reading.list_is_spoilt = false;
                listed?
            }
        };
        let of_time = |since| home.clock().now().since(since) > CREATION_TIMEOUT;
        let mut made = BTreeMap::new();
        let mut abandoned = Vec::new();
        for (id, how) in &listed {
            match how {
                Listed::At(revision) if !self.0.stores.contains_key(id) => drop(made.insert(*id, *revision)),
                Listed::Making(since) if of_time(*since) => abandoned.push(*id),
                _ => {}
            }
        }
        {
            let mut known = self.0.contexts.write().unwrap_or_else(PoisonError::into_inner);
            known.retain(|id, _| made.contains_key(id) || self.0.stores.contains_key(id) || abandoned.contains(id));
            // The process that began to make these was killed, so they are deleted like others.
            let gone = |id: &ContextId| (*id, Arc::new(Context { status: ContextStatus::Deleting, ..Context::none(*id) }));
            known.extend(abandoned.iter().map(gone));
        }
        let missing = {
            let mut missing = self.0.missing.lock().unwrap_or_else(PoisonError::into_inner);
            missing.retain(|id| made.contains_key(id) || self.0.stores.contains_key(id));
            missing.clone()
        };
        let others = self.0.stores.keys().filter(|id| **id != home.context() && !missing.contains(id));
        let (own, ()) = tokio::join!(home.contexts().own(), self.read_each(others.copied().collect()));
        self.know([own?]);
        let changed: Vec<ContextId> =
            made.iter().filter(|(id, revision)| reading.seen.get(id) != Some(revision)).map(|(id, _)| *id).collect();
        if !changed.is_empty() {
            if reading.databases.is_none() {
                reading.databases = Some(home.contexts().databases()?.map(Arc::new));
            }
            match &reading.databases {
                Some(Some(databases)) => self.take(databases.contexts(&changed).await?),
                _ => self.read_each(changed.into_iter().filter(|id| !missing.contains(id)).collect()).await,
            }
        }
        reading.seen = made;
        Ok(())
    }

    /// Reads contexts concurrently, each with a store of its own.
    async fn read_each(&self, ids: Vec<ContextId>) {
        let asked: Vec<_> = ids.iter().copied().map(|id| self.read_one(id).map(move |read| (id, read)).boxed()).collect();
        self.take(stream::iter(asked).buffered(MAX_CONCURRENT_CONTEXTS).collect().await);
    }

    async fn read_one(&self, id: ContextId) -> Result<Context, store::Error> {
        let reading = async {
            match (self.0.stores.get(&id), self.0.stores.get(&ContextId(0))) {
                (Some(store), _) => store.contexts().own().await,
                (None, Some(home)) => home.beside(id).await?.contexts().own().await,
                (None, None) => Err(store::Error::Closed),
            }
        };
        tokio::time::timeout(CONTEXT_TIMEOUT, reading).await.unwrap_or(Err(store::Error::Deadline(CONTEXT_TIMEOUT)))
    }

    /// Applies what was read, and notes the contexts that could not be read. A context leaves the missing ones only
    /// after its state is known.
    fn take(&self, read: Vec<(ContextId, Result<Context, store::Error>)>) {
        self.know(read.iter().filter_map(|(_, read)| read.as_ref().ok().cloned()));
        let mut missing = self.0.missing.lock().unwrap_or_else(PoisonError::into_inner);
        for (id, read) in &read {
            match read {
                Ok(_) if missing.remove(id) => tracing::info!(context = %id, "who has which rights in a context is known again"),
                Err(error) if missing.insert(*id) => {
                    tracing::warn!(context = %id, %error, "who has which rights in a context cannot be read; what was known holds, and it is asked for again each second");
                }
                _ => {}
            }
        }
    }

    /// Returns the contexts that could not be read.
    pub(super) fn missing(&self) -> BTreeSet<ContextId> {
        self.0.missing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Retries the contexts that could not be read. No caller waits for it.
    pub async fn read_missing(&self) {
        let before = self.0.revision.load(Ordering::Acquire);
        let asked: Vec<_> = self.missing().into_iter().map(|id| self.read_one(id).map(move |read| (id, read)).boxed()).collect();
        let read: Vec<_> = stream::iter(asked).buffered(MAX_CONCURRENT_CONTEXTS).collect().await;
        let _reading = self.0.reading.lock().await;
        // If other servers changed something in the meantime, the result may be outdated, so these contexts are read
        // again. A context that is gone is no longer missing.
        if self.0.revision.load(Ordering::Acquire) != before || read.iter().all(|(_, read)| read.is_err()) {
            return;
        }
        self.take(read);
        self.0.changed.send_modify(|count| *count += 1);
    }

    /// Applies the state of a context that is otherwise skipped because it did not answer. It stays among those to
    /// retry.
    pub(super) fn learn(&self, context: &Context) {
        if self.missing().contains(&context.context_id) {
            self.know([context.clone()]);
            self.0.changed.send_modify(|count| *count += 1);
        }
    }

    fn know(&self, contexts: impl IntoIterator<Item = Context>) {
        let mut known = self.0.contexts.write().unwrap_or_else(PoisonError::into_inner);
        known.extend(contexts.into_iter().map(|context| (context.context_id, Arc::new(context))));
    }
}
