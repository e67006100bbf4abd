use std::collections::HashSet;
use std::time::{Duration, Instant};

use super::drive;
use hero_model::FlowId;
use hero_service::Service;
use hero_store::{Error, FlowAction, Score, Store};

/// Goes on with what was begun with all jobs of flows where whoever began it is gone, and has flows stopped whose first job failed.
pub struct Resumer {
    store: Store,
    /// Before which flow the next look for those begins that are listed and gone.
    walked_to: Option<Score>,
    walked_at: Instant,
    mended_at: Instant,
    /// Flows with which it could not go on, so that each is logged once.
    failing: HashSet<FlowId>,
}

/// How many flows are looked at in a round.
const BATCH: usize = 16;
/// How long a flow waits at most until its other jobs are stopped.
const PAUSE: Duration = Duration::from_millis(200);
/// After how long a flow is looked at again with which it could not go on: others do not wait behind it.
const AGAIN: Duration = Duration::from_secs(10);
/// How many flows that were logged are remembered.
const REMEMBERED: usize = 1000;
/// How often some of the flows that are listed are looked at, and how many.
const WALK: (Duration, usize) = (Duration::from_secs(10), 100);
/// How often it is looked whether the clock of Redis was set back, so that flows would wait for it.
const MEND: Duration = Duration::from_secs(2);

impl Resumer {
    /// A resumer for one context.
    pub fn new(store: Store) -> Self {
        Self { store, walked_to: None, walked_at: Instant::now(), mended_at: Instant::now(), failing: HashSet::new() }
    }

    /// Goes on with one flow. If that cannot be done, it has to wait, unless Redis does nothing else either.
    async fn go_on(&mut self, flow: FlowId) -> Result<(), super::Error> {
        let Err(error) = drive(&self.store, flow, FlowAction::On).await else {
            self.failing.remove(&flow);
            return Ok(());
        };
        self.store.flows().postpone(flow, AGAIN).await.map_err(super::failed)?;
        if self.failing.len() >= REMEMBERED {
            self.failing.clear();
        }
        if self.failing.insert(flow) {
            let context = self.store.context();
            tracing::warn!(%flow, %context, %error, "what was begun with the jobs of a flow does not go on, and is tried again every {AGAIN:?}");
        }
        Ok(())
    }

    /// Takes flows out of their list whose time is over.
    async fn walk(&mut self) -> Result<(), Error> {
        let before = self.walked_to.unwrap_or(Score::HIGHEST);
        let (_, gone, next) = self.store.flows().before(before, WALK.1).await?;
        for flow in gone {
            self.store.flows().advance(flow, FlowAction::On).await?;
        }
        self.walked_to = next;
        self.walked_at = Instant::now();
        Ok(())
    }
}

impl Service for Resumer {
    type Error = super::Error;

    const NAME: &'static str = "bringing flows on";

    async fn tick(&mut self) -> Result<Duration, super::Error> {
        let flows = self.store.flows().to_do(BATCH).await.map_err(super::failed)?;
        for flow in &flows {
            self.go_on(*flow).await?;
        }
        if self.mended_at.elapsed() >= MEND {
            self.store.flows().mend_to_do().await.map_err(super::failed)?;
            self.mended_at = Instant::now();
        }
        if self.walked_at.elapsed() >= WALK.0 {
            self.walk().await.map_err(super::failed)?;
        }
        Ok(if flows.len() == BATCH { Duration::ZERO } else { PAUSE })
    }
}
