use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::context_pool::{ContextPool, left_out};
use crate::actor::PoolStatus;
use crate::dispatch::Dispatcher;
use crate::model::ContextId;
use crate::rpc::Readiness;
use crate::service::Service;

/// How often the log learns of it when nobody asks.
const PERIOD: Duration = Duration::from_secs(5);

/// Whether this server can do what it is there for. Cheap to clone.
#[derive(Clone)]
pub(super) struct Watch {
    dispatcher: Dispatcher,
    /// Each pool, by a name that tells its context.
    pools: Arc<[(String, Arc<PoolStatus>)]>,
    /// When the last look began, and what it saw. One look at a time, however many ask.
    last: Arc<tokio::sync::Mutex<Option<(Instant, Readiness)>>>,
    /// What the log was told of since all was well, without the numbers in it.
    told: Arc<Mutex<BTreeSet<String>>>,
}

impl Watch {
    pub(super) fn new(dispatcher: Dispatcher, pools: &[ContextPool]) -> Self {
        let pools = pools.iter().map(|entry| {
            let name = format!("{}{}", entry.pool.settings.script_type, in_context(entry.context));
            (name, entry.pool.status.clone())
        });
        Self { dispatcher, pools: pools.collect(), last: Arc::default(), told: Arc::default() }
    }

    /// How it is now: nobody is given news that is older than the question.
    pub(super) async fn look(&self) -> Readiness {
        let asked = Instant::now();
        let mut last = self.last.lock().await;
        if let Some((began, readiness)) = &*last
            && *began >= asked
        {
            return readiness.clone();
        }
        let began = Instant::now();
        let mut reasons = Vec::new();
        for (name, status) in self.pools.iter() {
            if status.live() == 0 {
                reasons.push(format!("no actor of the pool {name} has an engine"));
            } else if status.present() == 0 {
                reasons.push(format!(
                    "no actor of the pool {name} is present: Redis did not take its presence, or somebody else has its post"
                ));
            }
        }
        reasons.extend(self.dispatcher.readiness().await);
        let weak = left_out(self.pools.iter().map(|(_, status)| &**status)).join(", ");
        let notes = if weak.is_empty() { Vec::new() } else { vec![format!("weak confinement: engines run without {weak}")] };
        let readiness = if reasons.is_empty() { Ok(notes) } else { Err(reasons) };
        *last = Some((began, readiness.clone()));
        self.tell(&readiness);
        readiness
    }

    /// Tells the log of each reason once, and when all is well again.
    fn tell(&self, readiness: &Readiness) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let reasons = readiness.as_ref().err().map_or(&[][..], Vec::as_slice);
        let fresh = reasons.iter().filter(|reason| told.insert(reason.replace(|c: char| c.is_ascii_digit(), "")));
        if fresh.count() > 0 {
            tracing::warn!(reasons = reasons.join("; "), "not ready: /readyz says 503, and new jobs may be refused or not be run");
        }
        if reasons.is_empty() && !std::mem::take(&mut *told).is_empty() {
            tracing::info!("ready again");
        }
    }
}

/// Looks now and then, so that the log knows also if nobody asks.
impl Service for Watch {
    type Error = std::convert::Infallible;

    const NAME: &'static str = "readiness";

    async fn tick(&mut self) -> Result<Duration, Self::Error> {
        // The log has been told what there is to tell.
        let _ = self.look().await;
        Ok(PERIOD)
    }
}

/// Context 0 goes without saying.
fn in_context(context: ContextId) -> String {
    if context == ContextId::default() { String::new() } else { format!(" of context {context}") }
}
