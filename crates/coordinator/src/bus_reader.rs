//! Fetches what comes over a bus, has it stored, and tells the sender.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use super::bus::{Bus, BusError};
use super::inbound::Inbound;
use super::ways::Way;
use hero_service::Service;

/// How long to pause when something came a moment ago.
const SOON: Duration = Duration::from_millis(10);

/// Fetches from one bus.
pub(super) struct BusReader {
    pub(super) bus: Arc<dyn Bus>,
    pub(super) inbound: Arc<Inbound>,
    /// Where answers to what comes over it go to, if the bus does not say.
    pub(super) from: Option<String>,
    /// How long one look waits.
    pub(super) wait: Duration,
    /// The longest pause between two looks.
    pub(super) idle: Duration,
    pub(super) pause: Duration,
    /// Told when something came.
    pub(super) wake: Option<Arc<Notify>>,
    /// The way that is of use when something came.
    pub(super) way: Weak<Way>,
}

impl Service for BusReader {
    type Error = BusError;
    const NAME: &'static str = "fetching messages";

    async fn tick(&mut self) -> Result<Duration, BusError> {
        let received = self.bus.receive(self.wait).await?;
        self.pause = if received.is_empty() { (self.pause * 2).clamp(SOON, self.idle) } else { SOON };
        if let Some(way) = self.way.upgrade().filter(|_| !received.is_empty()) {
            way.answered(Instant::now());
        }
        let mut failed = None;
        for received in received {
            let from = received.from.as_ref().map(|key| format!("mycelium:{key}")).or_else(|| self.from.clone());
            let receipt = self.inbound.take(&received.id, received.envelope.as_deref(), from.as_deref()).await;
            if let Some(wake) = &self.wake {
                wake.notify_one();
            }
            // Nobody is harmed by an answer that gets lost: the envelope comes again, and is known then. The others are taken all the same, because they
            // may be on no bus any more.
            let slow = || BusError::Unreachable("an answer took too long".into());
            let answered = timeout(Duration::from_secs(10), self.bus.answer(&received, &receipt)).await.unwrap_or_else(|_| Err(slow()));
            failed = failed.or(answered.err());
        }
        failed.map_or(Ok(self.pause), Err)
    }
}
