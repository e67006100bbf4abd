use std::path::PathBuf;
use std::sync::Arc;

use rand::Rng as _;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use redis::{FromRedisValue, RedisResult};

use super::hash_slot::HashSlot;
use crate::cli::serve::try_command;
use crate::support::{Cluster, MASTERS, Process, until};

/// What everything stands on.
pub enum Ground {
    /// The private Redis of the first server, which has this data directory.
    Private(PathBuf),
    /// Three masters, and the hash slot of context 0.
    Cluster(Cluster, Arc<HashSlot>),
}

impl Ground {
    /// A cluster that keeps everything that it acknowledged.
    pub async fn cluster() -> Self {
        let cluster = Cluster::start(&["--appendonly", "yes", "--appendfsync", "always"]).await;
        let slot = HashSlot::of(&cluster, "{ctx:0}:hero:x").await;
        Self::Cluster(cluster, Arc::new(slot))
    }

    /// The prefix before `hero:` in every key.
    pub fn prefix(&self) -> &'static str {
        match self {
            Self::Private(_) => "",
            Self::Cluster(..) => "{ctx:0}:",
        }
    }

    /// How a process finds it. The first brings its private Redis itself. Each begins at another node.
    pub fn arguments(&self, place: usize) -> Vec<String> {
        match self {
            Self::Private(_) if place == 0 => ["--durability", "always"].map(str::to_owned).into(),
            Self::Private(data) => {
                let path = |name: &str| data.join(name).to_str().unwrap().to_owned();
                let redis = format!("unix://{}", path("redis.sock"));
                ["--redis".to_owned(), redis, "--redis-password-file".to_owned(), path("redis.secret")].into()
            }
            Self::Cluster(cluster, _) => ["--redis".to_owned(), cluster.node(place % MASTERS).url()].into(),
        }
    }

    /// One command to where the keys are.
    pub async fn ask<T: FromRedisValue>(&self, words: &[&str]) -> RedisResult<T> {
        match self {
            Self::Private(data) => try_command(data, words).await,
            Self::Cluster(cluster, slot) => cluster.node(slot.home()).try_run(words).await,
        }
    }

    /// kill -9. Who is nobody's child is started again.
    pub async fn kill_redis(&mut self, first: &Process, random: &mut StdRng) {
        match self {
            // It may be in the middle of its start after the last kill; then that is what we meet.
            Self::Private(_) => until("the private Redis", || async { first.redis() }).await.kill(),
            // Most often the one with the keys.
            Self::Cluster(cluster, slot) => {
                let at = *[slot.home(), slot.home(), random.random_range(0..MASTERS)].choose(random).unwrap();
                cluster.restart(at).await;
            }
        }
    }

    /// Sets how many bytes there are, everywhere.
    pub async fn limit(&self, bytes: &str) {
        let words = ["CONFIG", "SET", "maxmemory", bytes];
        match self {
            Self::Private(_) => until("a command", || async { self.ask::<()>(&words).await.ok() }).await,
            Self::Cluster(cluster, _) => {
                for node in cluster.living() {
                    node.ok(&words).await;
                }
            }
        }
    }

    /// The number of moves that were delayed because a node was full.
    pub fn held_up(&self) -> usize {
        match self {
            Self::Private(_) => 0,
            Self::Cluster(_, slot) => slot.refused(),
        }
    }

    /// The slot, and another node that it can move to.
    pub fn departure(&self, random: &mut StdRng) -> Option<(Arc<HashSlot>, usize)> {
        match self {
            Self::Private(_) => None,
            Self::Cluster(_, slot) => Some((slot.clone(), (slot.home() + random.random_range(1..MASTERS)) % MASTERS)),
        }
    }

    /// The keys that are where they do not belong.
    pub async fn misplaced_keys(&self) -> Vec<String> {
        let Self::Cluster(cluster, slot) = self else { return Vec::new() };
        let mut misplaced_keys = Vec::new();
        for at in (0..MASTERS).filter(|at| *at != slot.home()) {
            misplaced_keys.extend(cluster.node(at).keys().await);
        }
        misplaced_keys
    }
}
