use std::collections::HashSet;
use std::time::{Duration, Instant};

use super::drive;
use hero_model::FlowId;
use hero_service::Service;
use hero_store::{DueKind, Error, FlowAction, Score, Store};

/// Continues operations on the jobs of flows whose callers are gone, and stops flows whose first job failed.
pub struct Resumer {
    store: Store,
    /// The position in the list of flows, where the next search for expired ones begins.
    walked_to: Option<Score>,
    walked_at: Instant,
    mended_at: Instant,
    /// Flows that it could not continue, so that each is logged once.
    failing: HashSet<FlowId>,
}

/// Maximum number of flows in a round.
const FLOWS_PER_ROUND: usize = 16;
/// Minimum pause before the next flow needs processing.
const MIN_PAUSE: Duration = Duration::from_millis(10);
/// Pause before a flow that could not be continued is tried again. Others do not wait for it.
const RETRY_DELAY: Duration = Duration::from_secs(10);
/// Maximum number of remembered flows that were logged.
const MAX_REMEMBERED_FLOWS: usize = 1000;
/// The interval at which some of the listed flows are checked, and their number.
const WALK_INTERVAL_AND_SIZE: (Duration, usize) = (Duration::from_secs(10), 100);
/// The interval of checks whether the clock of Redis was set back, so that flows would wait too long.
const CLOCK_CHECK_INTERVAL: Duration = Duration::from_secs(2);

impl Resumer {
    /// Creates a resumer for one context.
    pub fn new(store: Store) -> Self {
        Self { store, walked_to: None, walked_at: Instant::now(), mended_at: Instant::now(), failing: HashSet::new() }
    }

    /// Continues one flow. If that fails, postpones it, unless Redis fails altogether.
    async fn go_on(&mut self, flow: FlowId) -> Result<(), super::Error> {
        let Err(error) = drive(&self.store, flow, FlowAction::Continue).await else {
            self.failing.remove(&flow);
            return Ok(());
        };
        self.store.flows().postpone(flow, RETRY_DELAY).await?;
        if self.failing.len() >= MAX_REMEMBERED_FLOWS {
            self.failing.clear();
        }
        if self.failing.insert(flow) {
            let context = self.store.context();
            tracing::warn!(%flow, %context, %error, "an operation on a flow failed; retrying every {RETRY_DELAY:?}");
        }
        Ok(())
    }

    /// Removes expired flows from their list.
    async fn walk(&mut self) -> Result<(), Error> {
        let before = self.walked_to.unwrap_or(Score::HIGHEST);
        let (_, gone, next) = self.store.flows().before(before, WALK_INTERVAL_AND_SIZE.1).await?;
        for flow in gone {
            self.store.flows().advance(flow, FlowAction::Continue).await?;
        }
        self.walked_to = next;
        self.walked_at = Instant::now();
        Ok(())
    }
}

impl Service for Resumer {
    type Error = super::Error;

    const NAME: &'static str = "continuing flow operations";

    async fn tick(&mut self) -> Result<Duration, super::Error> {
        let (flows, next) = self.store.flows().to_do(FLOWS_PER_ROUND).await?;
        for flow in &flows {
            self.go_on(*flow).await?;
        }
        if self.mended_at.elapsed() >= CLOCK_CHECK_INTERVAL {
            self.store.flows().mend_to_do().await?;
            self.mended_at = Instant::now();
        }
        if self.walked_at.elapsed() >= WALK_INTERVAL_AND_SIZE.0 {
            self.walk().await?;
        }
        Ok(if flows.len() == FLOWS_PER_ROUND { Duration::ZERO } else { self.store.pause_until(next).max(MIN_PAUSE) })
    }

    async fn due_early(&mut self) {
        self.store.comes_due(DueKind::Flows).await;
    }
}
