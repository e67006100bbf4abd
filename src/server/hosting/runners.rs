use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::select_all;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::runner_pool::{RunnerPool, State};
use super::{Hosting, IDLE_TIME};
use crate::dispatch::OpenContext;
use crate::model::{Runner, RunnerId, ScriptType, Target};
use crate::service::until_pulse;
use crate::store::{Error, Score, Store};

/// The pools of the local runners of an open context. A pool starts when there are jobs for its runner and a permit is
/// free, and ends when it has been idle for a while, or another runner waits for a permit.
pub(super) struct Runners {
    hosting: Hosting,
    store: Store,
    pools: BTreeMap<RunnerId, RunnerPool>,
    revision: Option<Option<u64>>,
    /// The runner after which the next scan for jobs begins.
    looked: Option<RunnerId>,
    /// Notified when there are jobs of the types of these runners.
    wake_ups: BTreeMap<ScriptType, Arc<Notify>>,
    /// Keeps the context open while one of their jobs runs or waits for a pool.
    in_use: Option<OpenContext>,
}

/// Interval at which changes of runners and jobs for them are looked for.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// Minimum interval while jobs arrive.
const MIN_CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// The maximum number of local runners with pools in a context: the most that may exist.
const MAX_RUNNERS: usize = 10_000;
/// The maximum number of runners scanned for jobs at once. The others are next.
const RUNNERS_PER_SCAN: usize = 256;
/// The number of runners per page.
const RUNNERS_PER_PAGE: usize = 500;

impl Runners {
    pub(super) fn new(hosting: Hosting, store: Store) -> Self {
        let (pools, wake_ups) = Default::default();
        Self { hosting, store, pools, revision: None, looked: None, wake_ups, in_use: None }
    }

    /// Starts and ends pools until `shutdown` or `closing`. Then all end, with the grace period for running scripts; in
    /// a drain running scripts get as long as they need.
    pub(super) async fn run(mut self, shutdown: CancellationToken, closing: CancellationToken) {
        let (mut is_failing, draining) = (false, self.hosting.0.draining.clone());
        while !shutdown.is_cancelled() && !closing.is_cancelled() && !draining.is_cancelled() {
            match self.look().await {
                Ok(()) => is_failing = false,
                Err(error) if !std::mem::replace(&mut is_failing, true) => {
                    tracing::warn!(context = %self.store.context(), %error, "cannot read runners, and tries again");
                }
                Err(_) => {}
            }
            tokio::select! {
                () = self.next_look() => {}
                () = shutdown.cancelled() => {}
                () = closing.cancelled() => {}
                () = draining.cancelled() => {}
            }
        }
        let mut ending = std::mem::take(&mut self.pools);
        if draining.is_cancelled() {
            ending.values_mut().for_each(|pool| pool.leave(&self.hosting.0.tasks));
        }
        while ending.values().any(RunnerPool::is_leaving) && !shutdown.is_cancelled() && !closing.is_cancelled() {
            tokio::time::sleep(MIN_CHECK_INTERVAL).await;
        }
        for (id, pool) in &ending {
            self.hosting.0.runner_permits.give_up((self.store.context(), *id));
            pool.shut();
        }
        for pool in ending.into_values() {
            pool.ended().await;
        }
    }

    /// Waits until the next check, which is soon if jobs arrive.
    async fn next_look(&self) {
        let wanted = |script_type: &ScriptType| self.pools.values().any(|pool| pool.rests() && pool.runner.script_type == *script_type);
        let wakes = self.wake_ups.iter().filter(|(script_type, _)| wanted(script_type)).map(|(_, wake)| Box::pin(wake.notified()));
        let wakes: Vec<_> = wakes.collect();
        tokio::time::sleep(MIN_CHECK_INTERVAL).await;
        let rest = tokio::time::sleep(until_pulse(CHECK_INTERVAL.saturating_sub(MIN_CHECK_INTERVAL)));
        if wakes.is_empty() {
            return rest.await;
        }
        tokio::select! {
            () = rest => {}
            _ = select_all(wakes) => {}
        }
    }

    async fn look(&mut self) -> Result<(), Error> {
        if self.hosting.0.starter.get().is_none() {
            return Ok(());
        }
        let revision = self.store.runners().revision().await?;
        if revision.is_none() || self.revision != Some(revision) {
            let wanted = self.wanted().await?;
            self.follow(wanted);
            self.revision = Some(revision);
        }
        self.make_way();
        let waits = self.start_those_with_jobs().await?;
        let jobs: usize = self.pools.values().map(RunnerPool::jobs).sum();
        self.in_use = if jobs > 0 || waits { self.hosting.0.dispatcher.contexts().opened(self.store.context()).ok() } else { None };
        Ok(())
    }

    /// Returns the local runners.
    async fn wanted(&self) -> Result<BTreeMap<RunnerId, Runner>, Error> {
        let (mut wanted, mut after) = (BTreeMap::new(), Score::from(0));
        loop {
            let (page, next) = self.store.runners().list(after, RUNNERS_PER_PAGE).await?;
            wanted.extend(page.into_iter().filter(|runner| runner.local).map(|runner| (runner.runner_id, runner)));
            match next {
                Some(next) if wanted.len() < MAX_RUNNERS => after = next,
                _ => break,
            }
        }
        while wanted.len() > MAX_RUNNERS {
            wanted.pop_last();
        }
        Ok(wanted)
    }

    /// Ends the pools of runners that are no longer wanted or have changed their type, and adds new runners.
    fn follow(&mut self, wanted: BTreeMap<RunnerId, Runner>) {
        let context = self.store.context();
        let is_same = |pool: &RunnerPool| wanted.get(&pool.runner.runner_id).is_some_and(|now| now.script_type == pool.runner.script_type);
        let gone: Vec<RunnerId> = self.pools.iter().filter(|(_, pool)| !is_same(pool)).map(|(id, _)| *id).collect();
        for id in gone {
            self.hosting.0.runner_permits.give_up((context, id));
            if let Some(pool) = self.pools.remove(&id) {
                pool.shut();
                tracing::info!(runner = %id, %context, "the pool of a runner ends");
                self.hosting.0.tasks.spawn(pool.ended());
            }
        }
        for (id, runner) in wanted {
            let script_type = runner.script_type.clone();
            let is_new = !self.pools.contains_key(&id);
            if is_new && !self.hosting.0.starter.get().is_some_and(|starter| starter.offers(&script_type)) {
                tracing::warn!(runner = %id, %context, %script_type, "this server has no pool for the script type of a runner, so its jobs wait for another");
            }
            if is_new {
                self.wake_ups.entry(script_type.clone()).or_insert_with(|| self.store.wake_ups().register(&script_type));
                self.pools.insert(id, RunnerPool::new(runner));
            }
        }
        self.wake_ups.retain(|script_type, _| self.pools.values().any(|pool| pool.runner.script_type == *script_type));
    }

    /// Ends idle pools, and pools whose turn is over while others wait.
    fn make_way(&mut self) {
        let now = Instant::now();
        for pool in self.pools.values_mut() {
            pool.look(now, IDLE_TIME, &self.hosting.0.tasks);
        }
    }

    /// Starts the pools of runners that have jobs and no pool. Returns whether any waits for a permit.
    async fn start_those_with_jobs(&mut self) -> Result<bool, Error> {
        let (context, now) = (self.store.context(), Instant::now());
        let Some(starter) = self.hosting.0.starter.get() else { return Ok(false) };
        let may = |pool: &&RunnerPool| pool.may_start(now) && starter.offers(&pool.runner.script_type);
        // Jobs for any runner of a type go to the first runner of that type, unless another pool takes them.
        let first = self.pools.values().rev().filter(may);
        let mut for_all: BTreeMap<&ScriptType, RunnerId> = first.map(|pool| (&pool.runner.script_type, pool.runner.runner_id)).collect();
        for pool in self.pools.values().filter(|pool| matches!(pool.state, State::Running(_))) {
            for_all.remove(&pool.runner.script_type);
        }
        for_all.retain(|script_type, _| !starter.serves_type(context, script_type));
        // Waiting runners ask for a permit each time.
        let (mut waiting, mut others): (Vec<&RunnerPool>, Vec<&RunnerPool>) =
            self.pools.values().filter(may).partition(|pool| pool.waits_since.is_some());
        // If very many wait, only the first ones ask, and the others keep their order.
        waiting.sort_by_key(|pool| pool.waits_since);
        for pool in waiting.iter().skip(RUNNERS_PER_SCAN) {
            self.hosting.0.runner_permits.stay((context, pool.runner.runner_id), now);
        }
        let behind = others.iter().filter(|pool| self.looked.is_some_and(|last| pool.runner.runner_id <= last)).count();
        others.rotate_left(behind);
        others.truncate(RUNNERS_PER_SCAN);
        self.looked = others.last().map(|pool| pool.runner.runner_id);
        let mut asked: Vec<(RunnerId, (ScriptType, Target))> = Vec::new();
        for pool in waiting.into_iter().take(RUNNERS_PER_SCAN).chain(others) {
            let (id, script_type, group) = (pool.runner.runner_id, &pool.runner.script_type, pool.runner.runner_id.group());
            asked.push((id, (script_type.clone(), Target::Group(group.clone()))));
            asked.push((id, (script_type.clone(), Target::Instance(group, 1))));
        }
        asked.extend(for_all.into_iter().map(|(script_type, id)| (id, (script_type.clone(), Target::Type))));
        let targets: Vec<_> = asked.iter().map(|(_, target)| target.clone()).collect();
        let mut has_jobs: BTreeMap<RunnerId, bool> = BTreeMap::new();
        for ((id, _), has) in asked.iter().zip(self.store.runners().have_jobs(&targets).await?) {
            *has_jobs.entry(*id).or_default() |= has;
        }
        for (id, has) in has_jobs {
            let Some(pool) = self.pools.get_mut(&id) else { continue };
            let permit = if has { self.hosting.0.runner_permits.take((context, id), now) } else { None };
            pool.waits_since = if has && permit.is_none() { pool.waits_since.or(Some(now)) } else { None };
            match permit {
                Some(permit) => pool.start(&self.hosting, starter, &self.store, permit).await,
                None if !has => self.hosting.0.runner_permits.give_up((context, id)),
                None => {}
            }
        }
        Ok(self.pools.values().any(|pool| pool.waits_since.is_some()))
    }
}
