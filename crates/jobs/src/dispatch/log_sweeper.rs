use std::time::Duration;

use crate::log_file::{self, LogDirectory, LogFileSet, Owner, Walk};
use hero_service::Service;
use hero_store::{Error, Store};

/// Removes the log files whose jobs are gone, and the oldest ones if all files together are too large.
///
/// It touches only files that hero's actors wrote, in the directories of this process. Each machine with actors has its
/// own sweeper.
pub struct LogSweeper {
    /// Returns the open contexts, each with its directory.
    open: Directories,
    /// The directories of this round.
    directories: Vec<(Store, LogDirectory)>,
    quota: u64,
    /// The index of the directory that is being walked.
    at: usize,
    walk: Option<Walk>,
    /// The files met in this round, each with the index of its directory. Files beyond the limit are not remembered,
    /// but counted.
    files: Vec<(usize, LogFileSet)>,
    bytes: u64,
}

/// Returns the open contexts, each with its directory.
pub(super) type Directories = Box<dyn Fn() -> Vec<(Store, LogDirectory)> + Send>;

/// Maximum number of entries that are read in one step, and of files that are removed.
const ENTRIES_PER_STEP: usize = 500;
/// The pause between two steps.
const STEP_PAUSE: Duration = Duration::from_millis(100);
/// The pause between two rounds.
const ROUND_PAUSE: Duration = Duration::from_secs(60);
/// Maximum number of files that are remembered for removal in a round.
const MAX_REMEMBERED_FILES: usize = 1 << 20;

impl LogSweeper {
    /// Creates a sweeper for these contexts. Their log files may have `quota` bytes together; 0 is no limit.
    pub fn new(directories: Vec<(Store, LogDirectory)>, quota: u64) -> Self {
        Self::of(Box::new(move || directories.clone()), quota)
    }

    /// Creates a sweeper for the contexts that are open when a round begins.
    pub(super) fn of(open: Directories, quota: u64) -> Self {
        for reason in ["job", "quota"] {
            metrics::counter!("hero_log_files_removed_total", "reason" => reason).increment(0);
        }
        let directories = open();
        Self { open, directories, quota, at: 0, walk: None, files: Vec::new(), bytes: 0 }
    }

    /// Reads the next entries of a directory. Returns true if there are no more.
    async fn look(&mut self, store: &Store, directory: &LogDirectory) -> Result<bool, Error> {
        let mut walk = self.walk.take().unwrap_or_else(|| directory.walk());
        let stepped = tokio::task::spawn_blocking(move || (walk.step(ENTRIES_PER_STEP), walk)).await;
        let Ok((owners, walk)) = stepped else { return Ok(true) };
        if owners.is_empty() {
            self.bytes += walk.files.iter().map(|file| file.bytes).sum::<u64>();
            let room = MAX_REMEMBERED_FILES.saturating_sub(self.files.len());
            self.files.extend(walk.files.into_iter().take(room).map(|file| (self.at, file)));
            return Ok(true);
        }
        self.walk = Some(walk);
        let gone = gone(store, owners).await?;
        let directory = directory.clone();
        let removing = move || removed(gone, |owner| directory.forget_owner(owner));
        let removed = tokio::task::spawn_blocking(removing).await.unwrap_or_default();
        metrics::counter!("hero_log_files_removed_total", "reason" => "job").increment(removed.len() as u64);
        if let Some(walk) = &mut self.walk {
            removed.iter().for_each(|owner| walk.removed(owner));
        }
        Ok(false)
    }

    /// Removes the oldest files until the rest is small enough, in steps. Returns true when it is.
    async fn shrink(&mut self) -> bool {
        let (mut oldest, mut left) = (Vec::new(), self.bytes);
        // The oldest files are at the end.
        while self.quota > 0 && left > self.quota && oldest.len() < ENTRIES_PER_STEP {
            let Some((at, file)) = self.files.pop() else { break };
            left -= file.bytes.min(left);
            oldest.extend(self.directories.get(at).map(|(_, directory)| (directory.clone(), file)));
        }
        self.bytes = left;
        if oldest.is_empty() {
            return true;
        }
        let removing = move || removed(oldest, |(directory, file)| directory.remove_kept(file).map(|bytes| bytes > 0)).len();
        let removed = tokio::task::spawn_blocking(removing).await.unwrap_or(0);
        metrics::counter!("hero_log_files_removed_total", "reason" => "quota").increment(removed as u64);
        tracing::warn!(files = removed, limit = self.quota, "the log files exceed log_quota: removed the oldest");
        false
    }
}

/// Returns the owners whose jobs are gone. Jobs of another Redis are unknown here, and count as present.
async fn gone(store: &Store, owners: Vec<Owner>) -> Result<Vec<Owner>, Error> {
    let identity = store.health().known_redis_id().await?;
    let ours: Vec<Owner> = owners.into_iter().filter(|owner| Some(&owner.identity) == identity.as_ref()).collect();
    let jobs: Vec<_> = ours.iter().map(|owner| owner.job.clone()).collect();
    let exist = store.jobs().exist(&jobs).await?;
    // Another Redis may have taken the place of the one that was asked before.
    if store.health().known_redis_id().await? != identity {
        return Ok(Vec::new());
    }
    Ok(ours.into_iter().zip(exist).filter(|(_, exists)| !exists).map(|(owner, _)| owner).collect())
}

/// Removes files, and returns those that were removed. A file that cannot be removed is tried again in the next round.
fn removed<T>(files: Vec<T>, remove: impl Fn(&T) -> Result<bool, log_file::Error>) -> Vec<T> {
    let mut went = Vec::new();
    for file in files {
        match remove(&file) {
            Ok(true) => went.push(file),
            Ok(false) => {}
            Err(error) => {
                tracing::warn!(%error, "a log file cannot be removed");
                // The other files would wait equally long.
                if matches!(error, log_file::Error::Busy { .. }) {
                    break;
                }
            }
        }
    }
    went
}

impl Service for LogSweeper {
    type Error = Error;

    const NAME: &'static str = "removing log files of jobs that are gone";

    async fn tick(&mut self) -> Result<Duration, Error> {
        if let Some((store, directory)) = self.directories.get(self.at).cloned() {
            if self.look(&store, &directory).await? {
                self.at += 1;
                self.files.sort_unstable_by(|(_, one), (_, other)| other.cmp(one));
            }
            return Ok(STEP_PAUSE);
        }
        if !self.shrink().await {
            return Ok(STEP_PAUSE);
        }
        metrics::gauge!("hero_log_files_bytes").set(self.bytes as f64);
        (self.at, self.bytes, self.directories) = (0, 0, (self.open)());
        self.files.clear();
        Ok(ROUND_PAUSE)
    }
}
