use std::time::Duration;

use hero_service::Service;
use hero_store::{Error, Pace, Store};

/// Finds actors of other programs, and logs which script types have none.
pub struct Surveyor {
    store: Store,
    pace: Pace,
}

/// Maximum interval between two walks while no keys are added: an actor that another program announces is a new key.
const MAX_INTERVAL_AT_REST: Duration = Duration::from_secs(300);

impl Surveyor {
    /// Creates a surveyor for one context.
    pub fn new(store: Store) -> Self {
        Self { store, pace: Pace::up_to(MAX_INTERVAL_AT_REST) }
    }
}

impl Service for Surveyor {
    type Error = Error;

    const NAME: &'static str = "looking for actors of other programs";

    async fn tick(&mut self) -> Result<Duration, Error> {
        self.store.actors().survey_in_time(&mut self.pace).await?;
        Ok(Duration::ZERO)
    }
}
