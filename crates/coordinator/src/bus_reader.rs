//! Fetches envelopes from a bus, stores their messages, and answers the senders.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use super::bus::{Bus, BusError};
use super::inbound::Inbound;
use super::remote_connections::RemoteConnection;
use hero_service::Service;

/// The pause after something came.
const BUSY_PAUSE: Duration = Duration::from_millis(10);

/// Fetches from one bus.
pub(super) struct BusReader {
    pub(super) bus: Arc<dyn Bus>,
    pub(super) inbound: Arc<Inbound>,
    /// The address for answers, if the bus does not give one.
    pub(super) from: Option<String>,
    /// Timeout of one fetch.
    pub(super) wait: Duration,
    /// Maximum pause between two fetches.
    pub(super) idle: Duration,
    pub(super) pause: Duration,
    /// Notified when something came.
    pub(super) wake: Option<Arc<Notify>>,
    /// The connection that counts as used when something came.
    pub(super) connection: Weak<RemoteConnection>,
}

impl Service for BusReader {
    type Error = BusError;
    const NAME: &'static str = "fetching messages";

    async fn tick(&mut self) -> Result<Duration, BusError> {
        let received = self.bus.receive(self.wait).await?;
        self.pause = if received.is_empty() { (self.pause * 2).clamp(BUSY_PAUSE, self.idle) } else { BUSY_PAUSE };
        if let Some(connection) = self.connection.upgrade().filter(|_| !received.is_empty()) {
            connection.answered(Instant::now());
        }
        let mut failed = None;
        for received in received {
            let from = received.from.as_ref().map(|key| format!("mycelium:{key}")).or_else(|| self.from.clone());
            let receipt = self.inbound.take(&received.id, received.envelope.as_deref(), from.as_deref()).await;
            if let Some(wake) = &self.wake {
                wake.notify_one();
            }
            // A lost answer does no harm: the envelope comes again, and is recognised. The other envelopes are
            // processed in any case, because they may no longer be on the bus.
            let slow = || BusError::Unreachable("an answer took too long".into());
            let answered = timeout(Duration::from_secs(10), self.bus.answer(&received, &receipt)).await.unwrap_or_else(|_| Err(slow()));
            failed = failed.or(answered.err());
        }
        failed.map_or(Ok(self.pause), Err)
    }
}
