use std::time::Duration;

use tokio::task::JoinHandle;

use super::Authority;
use hero_service::{Service, until_pulse};
use hero_store as store;

/// Interval at which a server checks whether another one has changed identities, tokens or rights: a token that ended is
/// refused within half a second.
const CHECK_INTERVAL: Duration = Duration::from_millis(400);

/// Pause before contexts that did not answer are asked again.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// Makes an authority follow the changes of other servers.
pub struct RightsWatch {
    authority: Authority,
    /// The task that asks again for contexts that did not answer. Ending tokens does not wait for it.
    asking: Option<JoinHandle<()>>,
}

impl RightsWatch {
    /// Creates a watch for this authority.
    pub const fn new(authority: Authority) -> Self {
        Self { authority, asking: None }
    }

    fn ask_again(&mut self) {
        if self.authority.missing().is_empty() || self.asking.as_ref().is_some_and(|asking| !asking.is_finished()) {
            return;
        }
        let authority = self.authority.clone();
        self.asking = Some(tokio::spawn(async move {
            tokio::time::sleep(RETRY_DELAY).await;
            authority.read_missing().await;
        }));
    }
}

impl Drop for RightsWatch {
    fn drop(&mut self) {
        if let Some(asking) = &self.asking {
            asking.abort();
        }
    }
}

impl Service for RightsWatch {
    type Error = store::Error;
    const NAME: &'static str = "following changes of rights";

    async fn tick(&mut self) -> Result<Duration, store::Error> {
        self.authority.follow().await?;
        self.ask_again();
        Ok(until_pulse(CHECK_INTERVAL))
    }
}
