use std::time::Duration;

use super::Authority;
use crate::service::Service;
use crate::store;

/// How often a server looks whether another one has changed identities, tokens or rights.
const EVERY: Duration = Duration::from_millis(200);

/// Has an authority follow what other servers change.
pub struct Watch(Authority);

impl Watch {
    /// A watch for this authority.
    pub const fn new(authority: Authority) -> Self {
        Self(authority)
    }
}

impl Service for Watch {
    type Error = store::Error;
    const NAME: &'static str = "access";

    async fn tick(&mut self) -> Result<Duration, store::Error> {
        self.0.follow().await?;
        Ok(EVERY)
    }
}
