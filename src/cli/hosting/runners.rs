use std::collections::BTreeMap;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::Hosting;
use crate::cli::pools::ContextPools;
use crate::dispatch::InUse;
use crate::model::{Runner, RunnerId};
use crate::store::{Error, Store};

/// The pools of the local runners of an open context, which start and end with these.
pub(super) struct Runners {
    hosting: Hosting,
    store: Store,
    running: BTreeMap<RunnerId, Running>,
    revision: Option<u64>,
    /// Keeps the context open while one of their jobs runs.
    in_use: Option<InUse>,
}

/// What is there of a runner.
struct Running {
    runner: Runner,
    /// None: no pool of the settings is for its script type, or it did not start.
    pools: Option<ContextPools>,
    shutdown: CancellationToken,
}

/// How often it is looked whether runners have changed.
const LOOK: Duration = Duration::from_millis(500);
/// How many local runners of a context have pools in one process; those with the lowest numbers do.
const MOST: usize = 64;
/// How many runners are read at once.
const PAGE: usize = 500;

impl Runners {
    pub(super) fn new(hosting: Hosting, store: Store) -> Self {
        Self { hosting, store, running: BTreeMap::new(), revision: None, in_use: None }
    }

    /// Has pools start and end until `shutdown` or `closing`. Then all end: running scripts get the grace period.
    pub(super) async fn run(mut self, shutdown: CancellationToken, closing: CancellationToken) {
        let mut is_failing = false;
        while !shutdown.is_cancelled() && !closing.is_cancelled() {
            match self.look().await {
                Ok(()) => is_failing = false,
                Err(error) if !std::mem::replace(&mut is_failing, true) => {
                    tracing::warn!(context = %self.store.context(), %error, "cannot read runners, and tries again");
                }
                Err(_) => {}
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                () = shutdown.cancelled() => {}
                () = closing.cancelled() => {}
            }
        }
        let ending = std::mem::take(&mut self.running);
        for running in ending.values() {
            running.shutdown.cancel();
        }
        for running in ending.into_values() {
            ended(running).await;
        }
    }

    async fn look(&mut self) -> Result<(), Error> {
        self.hold_open();
        if self.hosting.0.starter.get().is_none() {
            return Ok(());
        }
        let revision = self.store.runner_revision().await?;
        if self.revision == Some(revision) {
            return Ok(());
        }
        let (mut wanted, mut after) = (BTreeMap::new(), 0);
        loop {
            let page = self.store.runners(after, PAGE).await?;
            let last = page.last().map(|runner| runner.runner_id.0);
            wanted.extend(page.into_iter().filter(|runner| runner.local).map(|runner| (runner.runner_id, runner)));
            match last {
                Some(last) if wanted.len() < MOST => after = last,
                _ => break,
            }
        }
        while wanted.len() > MOST {
            wanted.pop_last();
        }
        self.follow(wanted).await;
        self.revision = Some(revision);
        Ok(())
    }

    /// Ends the pools of runners that are not wanted any more, or are of another type now, and starts those that are new.
    async fn follow(&mut self, wanted: BTreeMap<RunnerId, Runner>) {
        let is_same =
            |running: &Running| wanted.get(&running.runner.runner_id).is_some_and(|now| now.script_type == running.runner.script_type);
        let gone: Vec<RunnerId> = self.running.iter().filter(|(_, running)| !is_same(running)).map(|(id, _)| *id).collect();
        for id in gone {
            if let Some(running) = self.running.remove(&id) {
                running.shutdown.cancel();
                tracing::info!(runner = %id, context = %self.store.context(), "the pool of a runner ends");
                self.hosting.0.tasks.spawn(ended(running));
            }
        }
        for (id, runner) in wanted {
            if self.running.contains_key(&id) {
                continue;
            }
            let shutdown = self.hosting.0.shutdown.child_token();
            let pools = self.start(&runner, &shutdown).await;
            self.running.insert(id, Running { runner, pools, shutdown });
        }
    }

    async fn start(&self, runner: &Runner, shutdown: &CancellationToken) -> Option<ContextPools> {
        let (id, context) = (runner.runner_id, self.store.context());
        let starter = self.hosting.0.starter.get()?;
        match starter.start_runner(&self.store, runner, &self.hosting.limits_of(context), shutdown).await {
            Ok(Some(pools)) => {
                tracing::info!(runner = %id, %context, script_type = %runner.script_type, "the pool of a runner has started");
                Some(pools)
            }
            Ok(None) => {
                let script_type = &runner.script_type;
                tracing::warn!(runner = %id, %context, %script_type, "this server has no pool for the script type of a runner, so its jobs wait for another");
                None
            }
            Err(error) => {
                tracing::warn!(runner = %id, %context, "the pool of a runner does not start: {error:#}");
                None
            }
        }
    }

    fn hold_open(&mut self) {
        let pools = self.running.values().filter_map(|running| running.pools.as_ref()).flat_map(|pools| &pools.pools);
        let jobs: usize = pools.map(|entry| entry.pool.status.jobs()).sum();
        self.in_use = if jobs > 0 { self.hosting.0.dispatcher.opened(self.store.context()).ok() } else { None };
    }
}

/// Waits until the pools of a runner have ended.
async fn ended(running: Running) {
    for entry in running.pools.iter().flat_map(|pools| &pools.pools) {
        entry.pool.ended().await;
    }
}
