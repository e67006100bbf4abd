use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rand::Rng as _;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rustix::process::Signal;

use super::load::Jobs;
use crate::serve::try_command;
use crate::support::{Kin, PATIENCE, Process, faketime, until};

/// What can happen.
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
}

impl Fault {
    /// Each with how often it happens.
    pub const ALL: [(Self, usize); 7] = [
        (Self::Engine, 10),
        (Self::Server, 10),
        (Self::Actors, 10),
        (Self::Redis, 10),
        (Self::Brim, 5),
        (Self::Clock, 5),
        (Self::Sleep, 4),
    ];
}

/// The addresses of the servers, whichever processes they are now.
pub type Addresses = Arc<Mutex<Vec<String>>>;

/// A server with a private Redis, a second server on it, and actors of their own.
pub struct Town {
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
    pub async fn build() -> Self {
        let mut town = Self {
            home: tempfile::tempdir().unwrap(),
            processes: Vec::new(),
            addresses: Addresses::default(),
            faults: BTreeMap::new(),
            seen: BTreeSet::new(),
        };
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

    /// What the clocks of the second server and of the actors are off by: `faketime` reads it.
    fn clock(&self) -> std::path::PathBuf {
        self.home.path().join("clock")
    }

    /// Starts what belongs to a place, again and again as a service manager does: without Redis it refuses.
    async fn start(&self, place: usize) -> Process {
        let path = |name: &str| self.home.path().join(name).to_str().unwrap().to_owned();
        let (lease, grace) = (["--lease", "1s"].map(str::to_owned), ["--grace", "5s"].map(str::to_owned));
        let mut arguments: Vec<String> = match place {
            FIRST => ["serve", "--durability", "always", "--pool", "osis=1", "--data", &path("first")].map(str::to_owned).into(),
            SECOND => ["serve", "--pool", "osis=1", "--data", &path("second")].map(str::to_owned).into(),
            _ => ["actor", "--pool", "osis=2", "--data", &path("actors")].map(str::to_owned).into(),
        };
        if place != FIRST {
            let redis = format!("unix://{}", path("first/redis.sock"));
            arguments.extend(["--redis".to_owned(), redis, "--redis-password-file".to_owned(), path("first/redis.secret")]);
        }
        if place != ACTORS {
            arguments.extend(["--listen", "127.0.0.1:0"].map(str::to_owned));
        }
        arguments.extend(lease.into_iter().chain(grace));
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
            // It may be in the middle of its start after the last kill; then that is what we meet.
            Fault::Redis => until("the private Redis", || async { self.processes[FIRST].redis() }).await.kill(),
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
        }
        *self.faults.entry(fault).or_default() += 1;
    }

    /// Leaves Redis without memory until some clients were refused.
    async fn fill(&self, jobs: &Jobs) {
        let limit = async |bytes| {
            until("a command", || async {
                try_command::<String>(&self.home.path().join("first"), &["CONFIG", "SET", "maxmemory", bytes]).await.ok()
            })
            .await
        };
        let before = jobs.refused();
        limit("1").await;
        until("refusals", || async { (jobs.refused() >= before + 20).then_some(()) }).await;
        limit("0").await;
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

    /// One command to Redis.
    pub async fn redis<T: redis::FromRedisValue>(&self, words: &[&str]) -> T {
        crate::serve::command(&self.home.path().join("first"), words).await
    }

    /// Ends everything in good order, Redis last.
    pub async fn close(mut self) {
        while let Some(process) = self.processes.pop() {
            process.stop().await;
        }
    }
}
