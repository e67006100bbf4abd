use std::collections::{BTreeMap, BTreeSet};

use tokio::time::Instant;

use crate::store::{Error, PRESENCE, Post, Recovered, Store};

/// Earlier incarnations of the actors of a pool, whose jobs are to run again.
///
/// A lease is believed as long as its server may live. That its presence is gone proves nothing: Redis may have been away. So
/// a server is given up when its process has ended on this machine, or when it has been silent for as long as a presence
/// lasts under the eyes of its successor; one that has lost its posts still says that it lives.
#[derive(Debug, Default)]
pub(super) struct Predecessors {
    dead: BTreeSet<String>,
    /// Servers that hold leases in the name of these actors and say nothing, each with the time since when.
    silent: BTreeMap<String, Instant>,
}

impl Predecessors {
    /// Notes one whose process has ended.
    pub(super) fn bury(&mut self, incarnation: String) {
        self.dead.insert(incarnation);
    }

    /// Has jobs of dead ones taken back. True: there is nothing left that is not this server's.
    pub(super) async fn recover(&mut self, store: &Store, posts: &[Post]) -> Result<bool, Error> {
        let recovered = store.recover(posts, &self.dead).await?;
        if recovered.ended > 0 {
            tracing::warn!(jobs = recovered.ended, "jobs of an earlier incarnation of these actors, which died, run again");
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
