use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rand::Rng as _;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rustix::process::Signal;

use super::ground::Ground;
use super::load::Jobs;
use crate::support::{Kin, PATIENCE, Process, faketime, until};

/// The possible faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// kill -9.
    Engine,
    Server,
    Actors,
    Redis,
    /// Redis has no memory for a while.
    Brim,
    /// The clock of the second server and of the actors jumps.
    Clock,
    /// The second server, or the actors, sleep for longer than a lease.
    Sleep,
    /// All keys move to another node of a cluster, one by one, while other faults happen.
    HashSlot,
}

impl Fault {
    /// What happens to those who share a private Redis, each with how often.
    pub const PRIVATE: [(Self, usize); 7] = [
        (Self::Engine, 10),
        (Self::Server, 10),
        (Self::Actors, 10),
        (Self::Redis, 10),
        (Self::Brim, 5),
        (Self::Clock, 5),
        (Self::Sleep, 4),
    ];

    /// The same for a Redis Cluster.
    pub const CLUSTER: [(Self, usize); 8] = [
        (Self::Engine, 4),
        (Self::Server, 4),
        (Self::Actors, 4),
        (Self::Redis, 3),
        (Self::Brim, 2),
        (Self::Clock, 2),
        (Self::Sleep, 2),
        (Self::HashSlot, 6),
    ];

    /// The faults that may happen while keys move.
    const MEANWHILE: [Self; 7] = [Self::Engine, Self::Server, Self::Actors, Self::Redis, Self::Brim, Self::Clock, Self::Sleep];
}

/// The addresses of the servers, whichever processes they are now.
pub type Addresses = Arc<Mutex<Vec<String>>>;

/// A server, a second server on the same Redis, and actors of their own.
pub struct Town {
    ground: Ground,
    home: tempfile::TempDir,
    processes: Vec<Process>,
    addresses: Addresses,
    faults: BTreeMap<Fault, usize>,
    /// Every child that was seen.
    seen: BTreeSet<Kin>,
}

/// Longer than it takes to renew it twice.
const LEASE: Duration = Duration::from_secs(1);

/// The places in `processes`.
const FIRST: usize = 0;
const SECOND: usize = 1;
const ACTORS: usize = 2;

impl Town {
    /// The Redis is the private one of the first server.
    pub async fn on_a_private_redis() -> Self {
        let home = tempfile::tempdir().unwrap();
        Self::build(Ground::Private(home.path().join("first")), home).await
    }

    pub async fn on_a_cluster() -> Self {
        Self::build(Ground::cluster().await, tempfile::tempdir().unwrap()).await
    }

    async fn build(ground: Ground, home: tempfile::TempDir) -> Self {
        let mut town =
            Self { ground, home, processes: Vec::new(), addresses: Addresses::default(), faults: BTreeMap::new(), seen: BTreeSet::new() };
        std::fs::write(town.clock(), "+0").unwrap();
        for place in [FIRST, SECOND, ACTORS] {
            let process = town.start(place).await;
            town.processes.push(process);
        }
        town.addresses.lock().unwrap().extend(town.processes[..ACTORS].iter().map(Process::url));
        town
    }

    pub fn addresses(&self) -> Addresses {
        self.addresses.clone()
    }

    pub fn faults(&self) -> BTreeMap<Fault, usize> {
        self.faults.clone()
    }

    /// The clock offset of the second server and of the actors, which `faketime` reads.
    fn clock(&self) -> std::path::PathBuf {
        self.home.path().join("clock")
    }

    /// Starts what belongs to a place, again and again as a service manager does: without Redis it refuses.
    async fn start(&self, place: usize) -> Process {
        let path = |name: &str| self.home.path().join(name).to_str().unwrap().to_owned();
        let (command, pool, data) = [("serve", "osis=1", "first"), ("serve", "osis=1", "second"), ("actor", "osis=2", "actors")][place];
        let mut arguments = [command, "--pool", pool, "--data", &path(data), "--lease", "1s", "--grace", "5s"].map(str::to_owned).to_vec();
        arguments.extend(self.ground.arguments(place));
        if place != ACTORS {
            arguments.extend(["--listen", "127.0.0.1:0"].map(str::to_owned));
        }
        let begun = std::time::Instant::now();
        loop {
            let mut process = Process::start_with(&arguments, |command| {
                if place != FIRST {
                    // The private Redis of the first has a clock that goes right.
                    command.env("LD_PRELOAD", faketime()).env("FAKETIME_TIMESTAMP_FILE", self.clock());
                    command.env("FAKETIME_NO_CACHE", "1").env("FAKETIME_DONT_FAKE_MONOTONIC", "1").env("DONT_FAKE_MONOTONIC", "1");
                }
            });
            if process.becomes_ready().await {
                return process;
            }
            assert!(begun.elapsed() < PATIENCE, "{arguments:?} does not start: {}", process.log());
        }
    }

    /// Has something happen. What was killed, and is nobody's child, is started again.
    pub async fn suffer(&mut self, fault: Fault, jobs: &Jobs, random: &mut StdRng) {
        self.remember();
        match fault {
            Fault::Engine => {
                let engines: Vec<Kin> = self.processes.iter().flat_map(Process::engines).collect();
                let Some(engine) = engines.choose(random) else { return };
                engine.kill();
            }
            Fault::Redis => self.ground.kill_redis(&self.processes[FIRST], random).await,
            Fault::Server => {
                let place = if random.random() { FIRST } else { SECOND };
                self.replace(place).await;
            }
            Fault::Actors => self.replace(ACTORS).await,
            Fault::Brim => self.fill(jobs).await,
            Fault::Clock => std::fs::write(self.clock(), ["+0", "+3600", "-3600"].choose(random).unwrap()).unwrap(),
            Fault::Sleep => {
                let place = if random.random() { SECOND } else { ACTORS };
                self.processes[place].signal(Signal::STOP);
                tokio::time::sleep(LEASE + LEASE / 2).await;
                self.processes[place].signal(Signal::CONT);
            }
            Fault::HashSlot => {
                let (slot, to) = self.ground.departure(random).expect("the ground is a cluster");
                let slowly = Duration::from_millis(random.random_range(500..3000));
                let moving = tokio::spawn(async move { slot.carry(to, slowly).await });
                for _ in 0..random.random_range(0..3) {
                    let meanwhile = *Fault::MEANWHILE.choose(random).unwrap();
                    Box::pin(self.suffer(meanwhile, jobs, random)).await;
                }
                moving.await.unwrap();
            }
        }
        *self.faults.entry(fault).or_default() += 1;
    }

    /// Leaves Redis without memory until some clients were refused, or the keys that move: then nobody else is answered.
    async fn fill(&self, jobs: &Jobs) {
        let (clients, keys) = (jobs.refused(), self.ground.held_up());
        self.ground.limit("1").await;
        until("refusals", || async { (jobs.refused() >= clients + 20 || self.ground.held_up() > keys).then_some(()) }).await;
        self.ground.limit("0").await;
    }

    async fn replace(&mut self, place: usize) {
        self.processes[place].kill().await;
        let fresh = self.start(place).await;
        if place != ACTORS {
            self.addresses.lock().unwrap()[place] = fresh.url();
        }
        self.processes[place] = fresh;
    }

    fn remember(&mut self) {
        let children: Vec<Kin> = self.processes.iter().flat_map(Process::children).collect();
        self.seen.extend(children);
    }

    /// Every child there ever was, as far as it was seen.
    pub fn kin(&mut self) -> Vec<Kin> {
        self.remember();
        self.seen.iter().cloned().collect()
    }

    /// The prefix of all keys.
    pub fn prefix(&self) -> &'static str {
        self.ground.prefix()
    }

    /// The keys that are where they do not belong.
    pub async fn misplaced_keys(&self) -> Vec<String> {
        self.ground.misplaced_keys().await
    }

    /// One command to Redis, as soon as it answers. In its words `hero:` stands for the beginning of all keys.
    pub async fn redis<T: redis::FromRedisValue>(&self, words: &[&str]) -> T {
        let own = format!("{}hero:", self.prefix());
        let words: Vec<String> =
            words.iter().map(|word| word.strip_prefix("hero:").map_or((*word).into(), |rest| own.clone() + rest)).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        until(&format!("an answer to {words:?}"), || async { self.ground.ask(&words).await.ok() }).await
    }

    /// Ends everything in good order, Redis last.
    pub async fn close(mut self) {
        while let Some(process) = self.processes.pop() {
            process.stop().await;
        }
    }
}
