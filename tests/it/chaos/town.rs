use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use rand::Rng as _;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;

use crate::support::{Kin, PATIENCE, Process};

/// What can be killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Victim {
    Engine,
    Server,
    Actors,
    Redis,
}

impl Victim {
    pub const ALL: [Self; 4] = [Self::Engine, Self::Server, Self::Actors, Self::Redis];
}

/// The addresses of the servers, whichever processes they are now.
pub type Addresses = Arc<Mutex<Vec<String>>>;

/// A server with a private Redis, a second server on it, and actors of their own.
pub struct Town {
    home: tempfile::TempDir,
    processes: Vec<Process>,
    addresses: Addresses,
    kills: BTreeMap<Victim, usize>,
    /// Every child that was seen.
    seen: BTreeSet<Kin>,
}

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
            kills: BTreeMap::new(),
            seen: BTreeSet::new(),
        };
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

    pub fn kills(&self) -> BTreeMap<Victim, usize> {
        self.kills.clone()
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
            let mut process = Process::start(&arguments);
            if process.becomes_ready().await {
                return process;
            }
            assert!(begun.elapsed() < PATIENCE, "{arguments:?} does not start: {}", process.log());
        }
    }

    /// kill -9; then a process that is nobody's child is started again.
    pub async fn kill(&mut self, victim: Victim, random: &mut StdRng) {
        self.remember();
        match victim {
            Victim::Engine => {
                let engines: Vec<Kin> = self.processes.iter().flat_map(Process::engines).collect();
                let Some(engine) = engines.choose(random) else { return };
                engine.kill();
            }
            Victim::Redis => match self.processes[FIRST].redis() {
                Some(redis) => redis.kill(),
                // It is being started again after the last kill; then its start is what we meet.
                None => return Box::pin(self.kill_when_there(random)).await,
            },
            Victim::Server => {
                let place = if random.random() { FIRST } else { SECOND };
                self.replace(place).await;
            }
            Victim::Actors => self.replace(ACTORS).await,
        }
        *self.kills.entry(victim).or_default() += 1;
    }

    async fn kill_when_there(&mut self, random: &mut StdRng) {
        crate::support::until("the private Redis", || async { self.processes[FIRST].redis().map(drop) }).await;
        self.kill(Victim::Redis, random).await;
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
