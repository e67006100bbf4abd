use std::collections::BTreeMap;
use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use super::log_followers::LogFollowers;
use super::pressure::Pressure;
use super::readiness::Memory;
use super::views::ContextCalls;
use super::{Error, Objects, Schemas};
use hero_model::ContextId;
use hero_store::Store;

/// A context that is open in this process: its store, and its other state.
pub(super) struct ContextState {
    store: Store,
    pub(super) objects: Objects,
    /// Per context, because contexts can be in different Redis, one full and another not.
    pub(super) pressure: Arc<Pressure>,
    pub(super) memory: Memory,
    /// The followers of logs, per context: contexts can be in different Redis, one silent and another not.
    pub(super) followers: LogFollowers,
    /// Maximum length of a script of a built-in type, in bytes. `None` is the limit of the protocol.
    pub(super) longest_script: Option<usize>,
    /// Whether the context is being deleted, and accepts no calls.
    is_closed: AtomicBool,
    used: Mutex<Instant>,
}

impl ContextState {
    pub(super) const fn store(&self) -> &Store {
        &self.store
    }
}

/// An open context, which stays open while this is held.
#[derive(Clone)]
pub struct OpenContext(pub(super) Arc<ContextState>);

impl Deref for OpenContext {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.0.store
    }
}

/// Opens a closed context: makes the dispatcher [serve](ContextCalls::serve) it. The server sets it, because it knows
/// which contexts exist.
pub type Opener = Arc<dyn Fn(ContextId) -> Pin<Box<dyn Future<Output = Result<(), Error>> + Send>> + Send + Sync>;

/// The open contexts.
#[derive(Default)]
pub(super) struct Contexts {
    open: RwLock<BTreeMap<ContextId, Arc<ContextState>>>,
    opener: OnceLock<Opener>,
}

/// Maximum number of tries if a context is shut between its opening and its use.
const MAX_USE_ATTEMPTS: usize = 3;

impl Contexts {
    pub(super) fn add(&self, store: Store, schemas: Arc<Schemas>, longest_script: Option<usize>) {
        let objects = Objects::new(store.clone(), schemas);
        let (pressure, memory, followers) = Default::default();
        let state = ContextState {
            store,
            objects,
            pressure,
            memory,
            followers,
            longest_script,
            is_closed: AtomicBool::new(false),
            used: Mutex::new(Instant::now()),
        };
        self.write().insert(state.store.context(), Arc::new(state));
    }

    pub(super) fn all(&self) -> Vec<Arc<ContextState>> {
        self.open.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    fn get(&self, context: ContextId) -> Option<OpenContext> {
        let state = self.open.read().unwrap_or_else(PoisonError::into_inner).get(&context).cloned()?;
        *state.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        Some(OpenContext(state))
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, BTreeMap<ContextId, Arc<ContextState>>> {
        self.open.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ContextCalls<'_> {
    /// Sets the function that opens a context when a call names it. Only the first call has an effect.
    pub fn open_with(self, opener: Opener) {
        // A second one would know the same contexts.
        let _ = self.0.0.contexts.opener.set(opener);
    }

    /// Serves a context from now on. Call [`start_services_of`](super::Dispatcher::start_services_of) to start its
    /// services.
    pub fn serve(self, store: Store, longest_script: Option<usize>) {
        self.0.0.contexts.add(store, Arc::clone(&self.0.0.settings.schemas), longest_script);
    }

    /// Stops serving a context if nobody uses it, and nobody has used it for `idle`. Without `idle`, stops serving it
    /// in any case, and running calls end as they can. Returns whether it is shut.
    pub fn shut(self, context: ContextId, idle: Option<Duration>) -> bool {
        let mut open = self.0.0.contexts.write();
        let Some(state) = open.get(&context) else { return true };
        let used = *state.used.lock().unwrap_or_else(PoisonError::into_inner);
        let may = idle.is_none_or(|idle| Arc::strong_count(state) == 1 && used.elapsed() >= idle);
        if may {
            open.remove(&context);
        }
        may
    }

    /// Refuses calls in a context from now on, because it is being deleted.
    pub fn refuse(self, context: ContextId) {
        if let Some(open) = self.0.0.contexts.get(context) {
            open.0.is_closed.store(true, Ordering::Relaxed);
        }
    }

    /// Returns an open context.
    #[doc(hidden)]
    pub fn opened(self, context: ContextId) -> Result<OpenContext, Error> {
        self.0.0.contexts.get(context).ok_or(Error::NoContext(context))
    }

    /// Returns a context, and opens it if necessary.
    #[doc(hidden)]
    pub async fn store(self, context: ContextId) -> Result<OpenContext, Error> {
        for _ in 0..MAX_USE_ATTEMPTS {
            if let Some(open) = self.0.0.contexts.get(context) {
                let is_closed = open.0.is_closed.load(Ordering::Relaxed);
                return if is_closed { Err(Error::Deleting(context)) } else { Ok(open) };
            }
            let Some(opener) = self.0.0.contexts.opener.get() else { return Err(Error::NoContext(context)) };
            opener(context).await?;
        }
        Err(Error::many_contexts())
    }

    /// Returns the objects of a context.
    pub async fn objects(self, context: ContextId) -> Result<Objects, Error> {
        Ok(self.store(context).await?.0.objects.clone())
    }

    /// Returns the open contexts.
    pub fn ids(self) -> Vec<ContextId> {
        self.0.0.contexts.all().iter().map(|state| state.store.context()).collect()
    }

    /// Returns the stores of the open contexts.
    #[doc(hidden)]
    pub fn stores(self) -> Vec<Store> {
        self.0.0.contexts.all().iter().map(|state| state.store.clone()).collect()
    }
}
