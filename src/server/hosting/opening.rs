use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::messaging::MessagingPermit;
use super::runners::Runners;
use super::{Hosted, Hosting, MOST_OPEN, Pools, Running, TIME_SLICE};
use crate::conveyor::{Closer, Consumer};
use crate::coordinator::flows;
use crate::dispatch::{self, Opener};
use crate::model::{ContextId, ContextStatus, ScriptType};
use crate::server::pools::consumer_settings;
use crate::service;
use crate::store::{Store, Subscriber};

/// The pause before pools that did not start are tried again.
const RETRY_DELAY: Duration = Duration::from_secs(5);

/// The reason why a context is opened.
pub(super) enum Why {
    /// A call named it. Its pools start, too, because most calls are about jobs.
    Named,
    /// Something in it is due.
    Due,
    /// Messages are under way in it: it needs no pools.
    Messages(MessagingPermit),
}

impl Hosting {
    /// Returns the function that opens the contexts named by calls.
    pub(crate) fn opener(&self) -> Opener {
        let hosting = self.clone();
        Arc::new(move |context| {
            let hosting = hosting.clone();
            // Continues when the caller has gone, so that no context is left half open.
            let opening = tokio::spawn(async move { hosting.open(context, Why::Named).await });
            Box::pin(async move { opening.await.unwrap_or(Err(dispatch::Error::NoContext(context))) })
        })
    }

    /// Opens a context made at run time, if it is not open. For a named context the pools start, too.
    pub(super) async fn open(&self, context: ContextId, why: Why) -> Result<(), dispatch::Error> {
        let _door = self.door(context).await;
        if self.0.dispatcher.contexts().opened(context).is_ok() {
            return Ok(());
        }
        if self.0.closing.is_cancelled() || !self.is_made(context) {
            return Err(dispatch::Error::NoContext(context));
        }
        if self.0.authority.context(context).is_none() {
            // Another server may have just made it.
            self.0.authority.follow().await?;
        }
        match self.0.authority.context(context) {
            None => return Err(dispatch::Error::NoContext(context)),
            Some(known) if known.status == ContextStatus::Deleting => return Err(dispatch::Error::Deleting(context)),
            Some(_) => {}
        }
        let is_full = self.hosted().values().filter(|hosted| !hosted.is_pinned).count() >= MOST_OPEN;
        if is_full && !self.make_room(context, &why).await {
            return Err(dispatch::Error::many_contexts());
        }
        let home = self.0.dispatcher.contexts().opened(ContextId(0))?;
        let store = home.beside(context).await?;
        let longest = usize::try_from(self.0.settings.within(context).script_source).unwrap_or(usize::MAX);
        self.0.dispatcher.contexts().serve(store.clone(), Some(longest));
        self.host(store, false);
        match why {
            Why::Named => {
                let hosting = self.clone();
                self.0.tasks.spawn(async move { hosting.run(context).await });
            }
            Why::Due => {}
            Why::Messages(messaging) => {
                if let Some(hosted) = self.hosted().get_mut(&context) {
                    hosted.messaging = Some(messaging);
                }
            }
        }
        Ok(())
    }

    /// Runs the loops of a context here. The dispatcher already serves it.
    pub(crate) fn host(&self, store: Store, is_pinned: bool) {
        let context = store.context();
        self.limit(&store, &self.limits_of(context));
        let (settings, closing) = (&self.0.settings, self.0.closing.child_token());
        let services = TaskTracker::new();
        if !is_pinned {
            let loops = self.0.dispatcher.start_services_of(context, &closing);
            services.spawn(async move { loops.wait().await });
        }
        let pools = settings.pools.iter().filter(|pool| pool.serves(context, settings));
        let types: BTreeSet<ScriptType> = pools.map(|pool| pool.script_type.clone()).collect();
        services.spawn(service::run(Closer::new(store.clone()), closing.clone()));
        services.spawn(service::run(flows::Resumer::new(store.clone()), closing.clone()));
        let runners = Runners::new(self.clone(), store.clone()).run(self.0.shutdown.clone(), closing.clone());
        services.spawn(self.0.runner_loops.track_future(runners));
        if let Some(consumer) = consumer_settings(settings, context) {
            let shutdown = if is_pinned { self.0.shutdown.clone() } else { closing.clone() };
            services.spawn(service::run(Consumer::new(store.clone(), consumer), shutdown));
        }
        services.spawn(service::run(Subscriber::new(store.clone(), types.iter().cloned().collect()), closing.clone()));
        if !is_pinned {
            for script_type in types {
                services.spawn(self.clone().run_when_woken(store.clone(), script_type, closing.clone()));
            }
        }
        services.close();
        let hosted =
            Hosted { store, is_pinned, closing, services, pools: Pools::None, waits_since: None, messaging: None, busy: Instant::now() };
        let mut all = self.hosted();
        if let Some(message_loops) = self.0.message_loops.get() {
            message_loops.serve(context, &hosted.closing);
        }
        all.insert(context, hosted);
    }

    /// Starts the pools of a context when work arrives while they do not run.
    async fn run_when_woken(self, store: Store, script_type: ScriptType, closing: CancellationToken) {
        let wake_up = store.wake_ups().register(&script_type);
        loop {
            tokio::select! {
                () = wake_up.notified() => self.run(store.context()).await,
                () = closing.cancelled() => return,
            }
        }
    }

    /// Starts the pools of an open context if it has none and there is a permit. Otherwise the context waits for one.
    pub(super) async fn run(&self, context: ContextId) {
        if let Err(error) = self.run_pools(context).await {
            tracing::warn!(%context, "the actors of a context do not start, and are tried again: {error:#}");
        }
    }

    /// Starts the pools like [`Self::run`], and returns an error if they did not start.
    pub(crate) async fn run_pools(&self, context: ContextId) -> anyhow::Result<()> {
        let Some(starter) = self.0.starter.get().filter(|starter| starter.serves(context)) else { return Ok(()) };
        let (store, permit) = {
            let mut all = self.hosted();
            let before = wait_before(&all, context);
            let Some(hosted) = all.get_mut(&context) else { return Ok(()) };
            if matches!(hosted.pools, Pools::Running(_) | Pools::Starting) || self.0.shutdown.is_cancelled() || self.is_draining() {
                return Ok(());
            }
            // It is now open for more than its messages.
            hosted.messaging = None;
            let permit = match hosted.is_pinned || before >= self.0.context_permits.available_permits() {
                true => None,
                false => Arc::clone(&self.0.context_permits).try_acquire_owned().ok(),
            };
            if !hosted.is_pinned && (permit.is_none() || matches!(hosted.pools, Pools::Ending(_))) {
                hosted.waits_since.get_or_insert_with(Instant::now);
                self.0.moved.notify_one();
                return Ok(());
            }
            (hosted.pools, hosted.waits_since) = (Pools::Starting, None);
            (hosted.store.clone(), permit)
        };
        let shutdown = self.0.shutdown.child_token();
        let started = starter.start(&store, &self.limits_of(context), &shutdown).await;
        let mut all = self.hosted();
        // A context whose pools are starting is not removed.
        let Some(hosted) = all.get_mut(&context) else { return Ok(()) };
        match started {
            Ok(pools) => {
                // Limits may have changed in the meantime.
                pools.limit(&self.limits_of(context));
                hosted.pools =
                    Pools::Running(Box::new(Running { pools, shutdown, since: Instant::now(), is_paused: false, _permit: permit }));
                hosted.busy = Instant::now();
                Ok(())
            }
            Err(error) => {
                // End the pools that had started.
                shutdown.cancel();
                hosted.pools = Pools::None;
                hosted.waits_since = Some(Instant::now() + RETRY_DELAY);
                Err(error)
            }
        }
    }

    /// Makes the pools of a context stop taking jobs, or take them again. Running jobs continue.
    pub(super) fn pause_pools(&self, context: ContextId, paused: bool) {
        if let Some(Hosted { pools: Pools::Running(running), .. }) = self.hosted().get_mut(&context) {
            running.is_paused = paused;
            running.pools.pools.iter().for_each(|entry| entry.pool.pause(paused));
        }
    }

    /// Ends the pools of a context once their running jobs have ended. Then its permit is free.
    pub(super) fn end_pools(&self, context: ContextId) {
        let mut all = self.hosted();
        let Some(hosted) = all.get_mut(&context) else { return };
        let Pools::Running(running) = &hosted.pools else { return };
        let ending = Pools::Ending(running.shutdown.clone());
        let Pools::Running(running) = std::mem::replace(&mut hosted.pools, ending) else { return };
        drop(all);
        let hosting = self.clone();
        self.0.tasks.spawn(async move {
            running.pools.pools.iter().for_each(|entry| entry.pool.leave());
            for entry in &running.pools.pools {
                entry.pool.ended().await;
            }
            drop(running);
            if let Some(hosted) = hosting.hosted().get_mut(&context) {
                hosted.pools = Pools::None;
            }
            hosting.0.moved.notify_one();
        });
    }

    /// Ends the pools of a context, even if jobs run: scripts get the grace period.
    pub(super) fn shut_pools(&self, context: ContextId) {
        self.end_pools(context);
        if let Some(Hosted { pools: Pools::Ending(shutdown), .. }) = self.hosted().get(&context) {
            shutdown.cancel();
        }
    }

    /// Closes a context that has no pools and was unused for `idle`; without `idle`, even one in use. Returns whether
    /// it was closed.
    pub(super) async fn shut(&self, context: ContextId, idle: Option<Duration>) -> bool {
        let _door = self.door(context).await;
        self.shut_behind_door(context, idle).await
    }

    /// Closes a context whose door the caller holds.
    async fn shut_behind_door(&self, context: ContextId, idle: Option<Duration>) -> bool {
        let may = matches!(self.hosted().get(&context), Some(hosted) if matches!(hosted.pools, Pools::None));
        if !may || !self.0.dispatcher.contexts().shut(context, idle) {
            return false;
        }
        let hosted = self.hosted().remove(&context);
        if let Some(hosted) = hosted {
            hosted.closing.cancel();
            // Its loops end before it is opened again, so that none runs twice.
            hosted.services.wait().await;
        }
        true
    }

    /// Closes one unused context without pools to make room for `wanted`, whose door the caller holds. Returns `false`
    /// if there is none.
    ///
    /// Contexts that wait for a permit go last, and only for a named context. A context that is open for its messages
    /// does not make room for another of its kind: the two would open and close in turns and get nothing done.
    async fn make_room(&self, wanted: ContextId, why: &Why) -> bool {
        let idle = if matches!(why, Why::Messages(_)) { TIME_SLICE } else { Duration::ZERO };
        let may_go = |hosted: &Hosted| match why {
            Why::Named => true,
            Why::Due => hosted.waits_since.is_none(),
            Why::Messages(_) => hosted.waits_since.is_none() && hosted.messaging.is_none(),
        };
        let mut others: Vec<(bool, Instant, ContextId)> = {
            let all = self.hosted();
            let free = all.iter().filter(|(_, hosted)| !hosted.is_pinned && matches!(hosted.pools, Pools::None) && may_go(hosted));
            free.map(|(id, hosted)| (hosted.waits_since.is_some(), hosted.busy, *id)).collect()
        };
        others.sort_unstable();
        for (_, _, id) in others {
            // Never waits for a door while holding another.
            let door = self.door_of(id).try_lock();
            if (door.is_ok() || self.is_same_door(id, wanted)) && self.shut_behind_door(id, Some(idle)).await {
                return true;
            }
        }
        false
    }
}

/// The number of contexts that have waited longer for a permit than this one.
pub(super) fn wait_before(all: &BTreeMap<ContextId, Hosted>, context: ContextId) -> usize {
    let now = Instant::now();
    let since = all.get(&context).and_then(|hosted| hosted.waits_since).unwrap_or(now);
    let others = all.values().filter(|hosted| !hosted.is_pinned && matches!(hosted.pools, Pools::None));
    others.filter(|hosted| hosted.waits_since.is_some_and(|other| other < since)).count()
}
