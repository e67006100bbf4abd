use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::context_pool::left_out;
use super::hosting::Hosting;
use crate::actor::PoolStatus;
use crate::audit::Audit;
use crate::dispatch::Dispatcher;
use crate::model::ContextId;
use crate::rpc::Readiness;
use crate::service::Service;

/// Interval at which readiness is checked for the log, even without requests.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// Checks whether this server is ready to work. Cheap to clone.
#[derive(Clone)]
pub(crate) struct ReadinessCheck {
    dispatcher: Dispatcher,
    audit: Audit,
    hosting: Hosting,
    /// The pools, each with a name that includes its context.
    pools: Arc<[(String, Arc<PoolStatus>)]>,
    /// When the last check began, and its result. Only one check runs at a time, however many callers ask.
    last: Arc<tokio::sync::Mutex<Option<(Instant, Readiness)>>>,
    /// The reasons that were logged since the server was last ready, without the numbers in them.
    told: Arc<Mutex<BTreeSet<String>>>,
}

impl ReadinessCheck {
    pub(crate) fn new(dispatcher: Dispatcher, audit: Audit, hosting: Hosting) -> Self {
        let pools = hosting.pools();
        let pools = pools.iter().map(|entry| {
            let name = format!("{}{}", entry.pool.settings.script_type, in_context(entry.context));
            (name, entry.pool.status.clone())
        });
        let pools = pools.collect();
        Self { dispatcher, audit, hosting, pools, last: Arc::default(), told: Arc::default() }
    }

    /// Returns whether the server is ready now. The check began after this call.
    pub(crate) async fn look(&self) -> Readiness {
        let asked = Instant::now();
        let mut last = self.last.lock().await;
        if let Some((began, readiness)) = &*last
            && *began >= asked
        {
            return readiness.clone();
        }
        let began = Instant::now();
        let mut reasons = Vec::new();
        // During a drain, pools leave one after another as intended.
        let is_draining = self.hosting.is_draining();
        if is_draining {
            reasons.push("this server drains: it takes no jobs, and ends when those that run here have ended".to_owned());
        }
        for (name, status) in self.pools.iter().filter(|_| !is_draining) {
            if status.live() == 0 {
                reasons.push(format!("no actor of the pool {name} has an engine"));
            } else if status.present() == 0 {
                reasons.push(format!(
                    "no actor of the pool {name} is present: Redis did not take its presence, or somebody else has its registration"
                ));
            }
        }
        reasons.extend(self.audit.failing());
        reasons.extend(self.dispatcher.readiness().await);
        let weak = left_out(self.pools.iter().map(|(_, status)| &**status)).join(", ");
        let weak = (!weak.is_empty()).then(|| format!("weak confinement: engines run without {weak}"));
        let logs = self.dispatcher.log_directory().failing();
        let logs = logs.map(|why| format!("log files of jobs cannot be written, and jobs go on without: {why}"));
        let notes = weak.into_iter().chain(logs).collect();
        let readiness = if reasons.is_empty() { Ok(notes) } else { Err(reasons) };
        *last = Some((began, readiness.clone()));
        self.tell(&readiness);
        readiness
    }

    /// Logs each reason once, and when the server is ready again.
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

/// Checks periodically, so that the log reports problems even without requests.
impl Service for ReadinessCheck {
    type Error = std::convert::Infallible;

    const NAME: &'static str = "checking whether this server is ready";

    async fn tick(&mut self) -> Result<Duration, Self::Error> {
        // The check logs its result itself.
        let _ = self.look().await;
        Ok(CHECK_INTERVAL)
    }
}

/// Names a context, except context 0.
fn in_context(context: ContextId) -> String {
    if context == ContextId::default() { String::new() } else { format!(" of context {context}") }
}
