use std::time::{Duration, Instant};

use super::drive;
use crate::service::Service;
use crate::store::{Error, FlowAction, Score, Store};

/// Goes on with what was begun with all jobs of flows where whoever began it is gone, and has flows stopped whose first job failed.
pub struct Keeper {
    store: Store,
    /// Before which flow the next look for those begins that are listed and gone.
    walked_to: Option<Score>,
    walked_at: Instant,
}

/// How many flows are looked at in a round.
const BATCH: usize = 16;
/// How long a flow waits at most until its other jobs are stopped.
const PAUSE: Duration = Duration::from_millis(200);
/// How often some of the flows that are listed are looked at, and how many.
const WALK: (Duration, usize) = (Duration::from_secs(10), 100);

impl Keeper {
    /// A keeper for one context.
    pub fn new(store: Store) -> Self {
        Self { store, walked_to: None, walked_at: Instant::now() }
    }

    /// Takes flows out of their list whose time is over.
    async fn walk(&mut self) -> Result<(), Error> {
        let before = self.walked_to.unwrap_or(Score::HIGHEST);
        let (_, gone, next) = self.store.flows_before(before, WALK.1).await?;
        for flow in gone {
            self.store.advance_flow(flow, FlowAction::On).await?;
        }
        self.walked_to = next;
        self.walked_at = Instant::now();
        Ok(())
    }
}

impl Service for Keeper {
    type Error = super::Error;

    const NAME: &'static str = "flow keeper";

    async fn tick(&mut self) -> Result<Duration, super::Error> {
        let flows = self.store.flows_to_do(BATCH).await.map_err(super::failed)?;
        for flow in &flows {
            drive(&self.store, *flow, FlowAction::On).await?;
        }
        if self.walked_at.elapsed() >= WALK.0 {
            self.walk().await.map_err(super::failed)?;
        }
        Ok(if flows.len() == BATCH { Duration::ZERO } else { PAUSE })
    }
}
