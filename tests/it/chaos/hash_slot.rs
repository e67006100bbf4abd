use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use redis::RedisResult;

use crate::support::{Cluster, MASTERS, PATIENCE, ask};

/// The hash slot of a context, which moves slowly, whatever happens to its nodes.
pub struct HashSlot {
    ports: [u16; MASTERS],
    number: String,
    /// The node that has it. It changes when a move is over.
    home: AtomicUsize,
    /// The number of times a key could not move because the other node was full.
    refused: AtomicUsize,
}

/// Between two keys that move one by one, and before what failed is tried again.
const MOVE_INTERVAL: Duration = Duration::from_millis(50);

impl HashSlot {
    /// The slot of a key.
    pub async fn of(cluster: &Cluster, key: &str) -> Self {
        let number: u16 = cluster.node(0).run(&["CLUSTER", "KEYSLOT", key]).await;
        let ports = std::array::from_fn(|at| cluster.node(at).port());
        Self { ports, number: number.to_string(), home: cluster.owner(key).await.into(), refused: AtomicUsize::default() }
    }

    pub fn home(&self) -> usize {
        self.home.load(Ordering::Relaxed)
    }

    pub fn refused(&self) -> usize {
        self.refused.load(Ordering::Relaxed)
    }

    /// Moves it to a node, key by key for so long, then the rest. What fails is tried again until all is there.
    pub async fn carry(&self, to: usize, slowly: Duration) {
        let begun = Instant::now();
        loop {
            let at_once = if begun.elapsed() < slowly { "1" } else { "100" };
            match self.step(to, at_once).await {
                Ok(true) => return self.home.store(to, Ordering::Relaxed),
                Ok(false) if at_once != "1" => continue,
                Ok(false) => {}
                Err(error) if begun.elapsed() > PATIENCE => panic!("the slot never arrives: {error}"),
                Err(error) if error.to_string().contains("OOM") => drop(self.refused.fetch_add(1, Ordering::Relaxed)),
                // A node is away, or does not serve yet.
                Err(_) => {}
            }
            tokio::time::sleep(MOVE_INTERVAL).await;
        }
    }

    /// Begins, or goes on where the last step ended: the nodes may have been killed since. True: it has arrived.
    async fn step(&self, to: usize, at_once: &str) -> RedisResult<bool> {
        let (source, target) = (self.ports[self.home()], self.ports[to]);
        let target_id: String = ask(target, &["CLUSTER", "MYID"]).await?;
        let source_id: String = ask(source, &["CLUSTER", "MYID"]).await?;
        match self.set(target, &["IMPORTING", &source_id]).await {
            Err(error) if error.to_string().contains("already the owner") => {}
            answer => {
                answer?;
                self.set(source, &["MIGRATING", &target_id]).await?;
                let keys: Vec<String> = ask(source, &["CLUSTER", "GETKEYSINSLOT", &self.number, at_once]).await?;
                if !keys.is_empty() {
                    // A node that was killed may have sent a key and not deleted it. Nobody but us writes to the copy.
                    let target = target.to_string();
                    let words = ["MIGRATE", "127.0.0.1", &target, "", "0", "5000", "REPLACE", "KEYS"];
                    let words: Vec<&str> = words.into_iter().chain(keys.iter().map(String::as_str)).collect();
                    return ask::<String>(source, &words).await.map(|_| false);
                }
            }
        }
        self.set(target, &["NODE", &target_id]).await?;
        for port in self.ports.into_iter().filter(|port| *port != target) {
            self.set(port, &["NODE", &target_id]).await?;
        }
        Ok(true)
    }

    async fn set(&self, port: u16, words: &[&str]) -> RedisResult<()> {
        ask(port, &[&["CLUSTER", "SETSLOT", self.number.as_str()], words].concat()).await
    }
}
