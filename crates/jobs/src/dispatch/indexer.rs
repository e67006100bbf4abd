use std::collections::HashSet;
use std::hash::{BuildHasher as _, Hash, RandomState};
use std::time::{Duration, Instant};

use hero_model::{ContextId, IdentityId};
use hero_service::Service;
use hero_store::{Error, Pace, Score, Store, Unlisted};

/// Finds the jobs and identities that foreign programs wrote, by repeated walks through all keys.
pub struct Indexer {
    store: Store,
    cursor: u64,
    began: Instant,
    pace: Pace,
    /// The number of keys at the last check.
    keys: u64,
    /// Whether the number of keys has changed since the indexer last forgot what it met.
    changed: bool,
    forgot: Instant,
    hasher: RandomState,
    /// Hashes of the jobs, and of the identities with their keys, that were met in this round and the one before. These
    /// are skipped.
    met: HashSet<u64>,
    met_before: HashSet<u64>,
    /// Identities whose refusal was logged.
    refused: HashSet<IdentityId>,
    /// The position of the check for deleted identities; `None` between two checks.
    looked_at: Option<Score>,
}

/// The pause between two steps, each of which reads about a thousand keys.
const STEP_PAUSE: Duration = Duration::from_millis(100);
/// Minimum pause between two rounds while keys are added (or three times the duration of the last round), and the
/// interval at which the number of keys is checked.
const MIN_ROUND_PAUSE: Duration = Duration::from_secs(2);
/// Maximum number of hashes, at 8 bytes each. Further jobs and identities are read in every round.
const MAX_REMEMBERED_HASHES: usize = 1 << 20;
/// After this time, or this number of rounds if that is longer, every key is read once more, because a foreign program
/// may reuse an id.
const FORGET_AFTER: Duration = Duration::from_secs(60);
const FORGET_ROUNDS: u32 = 120;
/// The same if the number of keys has not changed: then an id was reused only if its key was deleted and written
/// between two checks.
const FORGET_AT_REST: Duration = Duration::from_secs(600);

/// Maximum number of identities whose refusal is logged.
const MOST_TOLD: usize = 64;

impl Indexer {
    /// Creates an indexer for one context.
    pub fn new(store: Store) -> Self {
        let (hasher, began) = (RandomState::new(), Instant::now());
        Self {
            store,
            cursor: 0,
            began,
            pace: Pace::new(),
            keys: 0,
            changed: false,
            forgot: began,
            hasher,
            met: HashSet::new(),
            met_before: HashSet::new(),
            refused: HashSet::new(),
            looked_at: None,
        }
    }

    fn remember<T: Hash>(&mut self, met: &[T]) {
        for one in met {
            if self.met.len() < MAX_REMEMBERED_HASHES {
                self.met.insert(self.hasher.hash_one(one));
            }
        }
    }

    /// Lists the given identities that other programs wrote, so that they can log in by their current public keys.
    /// Lists no new ones while the memory of Redis is full.
    async fn admit(&mut self, identities: &[IdentityId]) -> Result<(), Error> {
        let mut written = self.store.access().written_identities(identities).await?;
        let refused = match self.store.access().admit_identities(&self.new_of(&written)).await {
            Ok(refused) => refused,
            Err(error) if error.out_of_memory() => return Ok(()),
            Err(error) => return Err(error),
        };
        for (identity, why) in refused {
            if why == Unlisted::Owned {
                // The owner may give it up without a change of the number of keys, so it is read again.
                written.retain(|(id, _)| *id != identity);
            } else if self.refused.len() < MOST_TOLD && self.refused.insert(identity) {
                tracing::warn!(%identity, "an identity is refused: actor:{identity} was written by another program, and {why}");
            }
        }
        self.remember(&written);
        Ok(())
    }

    /// Deletes the identities whose hashes other programs have deleted, so that nobody else can use their tokens. Each
    /// step checks a part of them, until all were checked.
    async fn delete_gone(&mut self) -> Result<(), Error> {
        let Some(from) = self.looked_at else { return Ok(()) };
        let (deleted, next) = self.store.access().delete_gone_identities(from).await?;
        self.looked_at = next;
        for identity in deleted {
            tracing::warn!(%identity, "actor:{identity} was deleted by another program: its tokens and logins end, and its number is not given again");
        }
        Ok(())
    }

    /// Starts a round if one is due. Only context 0 has identities, and a deleted one reduces the number of keys.
    async fn begins(&mut self) -> Result<bool, Error> {
        let (keys, now) = (self.store.health().number_of_keys().await?, Instant::now());
        let is_due = self.pace.is_due(keys, now);
        if (is_due || keys != self.keys) && self.store.context() == ContextId(0) {
            self.looked_at.get_or_insert(Score::from(0));
        }
        self.changed |= keys != self.keys;
        self.keys = keys;
        if is_due {
            self.began = now;
            self.pace.begin(keys);
        }
        Ok(is_due)
    }

    /// Returns the pause until the next check while no round runs.
    fn pause(&self) -> Duration {
        if self.looked_at.is_some() { STEP_PAUSE } else { MIN_ROUND_PAUSE }
    }

    /// Returns the items that were not met recently.
    fn new_of<T: Hash + Clone>(&self, met: &[T]) -> Vec<T> {
        let is_new = |one: &&T| {
            let hash = self.hasher.hash_one(one);
            !self.met.contains(&hash) && !self.met_before.contains(&hash)
        };
        met.iter().filter(is_new).cloned().collect()
    }
}

impl Service for Indexer {
    type Error = Error;

    const NAME: &'static str = "listing jobs of other programs";

    async fn tick(&mut self) -> Result<Duration, Error> {
        if self.cursor == 0 && !self.begins().await? {
            self.delete_gone().await?;
            return Ok(self.pause());
        }
        let walked = self.store.maintenance().walk_jobs(self.cursor).await?;
        let (next, jobs) = (walked.next, &walked.jobs);
        let discovered = self.store.maintenance().discover(&self.new_of(jobs)).await?;
        if discovered > 0 {
            metrics::counter!("hero_jobs_noticed_total", self.store.labels([])).increment(discovered as u64);
        }
        // This comes after the jobs, because ends that are settled may make room in Redis.
        self.store.maintenance().note_walked(&walked).await?;
        self.admit(&walked.identities).await?;
        self.delete_gone().await?;
        self.remember(jobs);
        self.cursor = next;
        if next != 0 {
            return Ok(STEP_PAUSE);
        }
        let (now, took) = (Instant::now(), self.began.elapsed());
        self.met_before = std::mem::take(&mut self.met);
        let forget = if self.changed { FORGET_AFTER } else { FORGET_AT_REST };
        if self.forgot.elapsed() >= forget.max(took * FORGET_ROUNDS) {
            self.met_before.clear();
            (self.forgot, self.changed) = (now, false);
        }
        self.pace.end(MIN_ROUND_PAUSE.max(took * 3), now);
        Ok(self.pause())
    }
}
