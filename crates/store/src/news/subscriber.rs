use std::time::Duration;

use futures_util::StreamExt;
use redis::aio::PubSub;
use tokio::time::{interval, timeout};

use crate::keys::Keys;
use crate::network::deadline::{DEADLINE, in_time};
use crate::{Error, Store};
use hero_model::{JobId, ScriptType};
use hero_service::Service;

/// The interval at which the connection is checked. It is quiet most of the time, and so is a broken one.
const PING_INTERVAL: Duration = Duration::from_secs(10);

/// Listens to the hints of other servers: jobs that ended, jobs to stop, new work, what is due soon.
///
/// The sweeps find everything that gets lost while the connection is down.
pub struct Subscriber {
    store: Store,
    script_types: Vec<ScriptType>,
    /// The connection that was opened and is not used yet.
    made: Option<PubSub>,
}

impl Subscriber {
    /// Returns a subscriber for a server with pools of these types.
    pub fn new(store: Store, script_types: Vec<ScriptType>) -> Self {
        Self { store, script_types, made: None }
    }

    fn hear(&self, channel: &str, payload: &str) {
        if channel == self.store.keys().alarm() {
            return self.store.0.alarms.hear(payload, self.store.clock().now());
        }
        let of_type = self.script_types.iter().find(|script_type| self.store.keys().wake_up(script_type) == channel);
        if let Some(script_type) = of_type {
            // This server has already woken the pools of its own process.
            if payload != self.store.server().as_str() {
                self.store.wake_ups().wake(script_type);
            }
            return;
        }
        let mut words = payload.split(' ');
        let (word, context) = (words.next(), words.next());
        if context != Some(&self.store.context().to_string()) {
            return;
        }
        let jobs = words.filter_map(|id| id.parse::<JobId>().ok());
        match word {
            Some("ended") => jobs.for_each(|job| self.store.jobs().tell_by_reading(job)),
            Some("stop") => jobs.for_each(|job| self.store.inbox().stop(job)),
            _ => {}
        }
    }
}

impl Service for Subscriber {
    type Error = Error;

    const NAME: &'static str = "listening for new jobs and results";

    /// Connects, and in the next round listens until that connection ends. So the service counts as working again once it listens.
    async fn tick(&mut self) -> Result<Duration, Error> {
        if let Some(pubsub) = self.made.take() {
            self.listen(pubsub).await;
            return Ok(Duration::from_millis(50));
        }
        let subscribing = async {
            let mut pubsub = self.store.0.commands.pubsub().await?;
            pubsub.subscribe(format!("{}{}", Keys::inbox_prefix(), self.store.server())).await?;
            pubsub.subscribe(self.store.keys().alarm()).await?;
            for script_type in &self.script_types {
                pubsub.subscribe(self.store.keys().wake_up(script_type)).await?;
            }
            Ok::<_, Error>(pubsub)
        };
        self.made = Some(in_time(subscribing).await?);
        Ok(Duration::ZERO)
    }
}

impl Subscriber {
    async fn listen(&self, pubsub: PubSub) {
        let ((mut asking, mut messages), mut pings) = (pubsub.split(), interval(PING_INTERVAL));
        loop {
            tokio::select! {
                message = messages.next() => {
                    let Some(message) = message else { break };
                    if let Ok(payload) = message.get_payload::<String>() {
                        self.hear(message.get_channel_name(), &payload);
                    }
                }
                _ = pings.tick() => {
                    if !matches!(timeout(DEADLINE, asking.ping::<redis::Value>()).await, Ok(Ok(_))) {
                        tracing::warn!("the connection on which other servers are heard is silent; it is made again");
                        break;
                    }
                }
            }
        }
    }
}
