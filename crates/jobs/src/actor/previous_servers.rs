use std::collections::{BTreeMap, BTreeSet};

use tokio::time::Instant;

use hero_store::{Error, PRESENCE, Recovered, Registration, Store};

/// The dead servers that ran the actors of a pool before. Their jobs run again.
///
/// A lease counts as long as its server may be alive. A missing presence of the server proves nothing, because Redis
/// may have been unreachable. So a server counts as dead when its process has ended on this machine, or when this
/// process has not heard of it for as long as a presence lasts. A live server that has lost its registrations still
/// sends its heartbeat.
#[derive(Debug, Default)]
pub(super) struct PreviousServers {
    dead: BTreeSet<String>,
    /// Silent servers that hold leases in the name of these actors, each with the time since when.
    silent: BTreeMap<String, Instant>,
}

impl PreviousServers {
    /// Adds a server, by its incarnation, whose process has ended.
    pub(super) fn add_dead(&mut self, incarnation: String) {
        self.dead.insert(incarnation);
    }

    /// Ends the leases of dead servers, so that their jobs run again. Returns true if no other server holds leases of
    /// these actors any more.
    pub(super) async fn recover(&mut self, store: &Store, registrations: &[Registration]) -> Result<bool, Error> {
        let recovered = store.queues().recover(registrations, &self.dead).await?;
        if recovered.ended > 0 {
            tracing::warn!(jobs = recovered.ended, "requeued the jobs of an earlier process of these actors, which died");
        }
        self.silent.retain(|server, _| recovered.silent.contains(server));
        for server in &recovered.silent {
            let since = *self.silent.entry(server.clone()).or_insert_with(Instant::now);
            if since.elapsed() >= PRESENCE {
                self.dead.insert(server.clone());
            }
        }
        Ok(recovered == Recovered::default())
    }
}
