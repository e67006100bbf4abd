use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use rustix::process::Pid;
use tokio_util::sync::CancellationToken;

use super::walk::{self, ENTRY};
use hero_engine::size;
use hero_process::held::Checks;
use hero_process::tree;

/// Time for which a measurement is valid. Other processes may write to the directory, too.
const FRESH: Duration = Duration::from_secs(10);
/// The maximum number of measurements for a write for which there seems to be no room.
const TRIES: usize = 3;
/// Time for the processes of commands to be looked at. They can delay that, and then what was found before counts.
const PATIENCE: Duration = Duration::from_secs(1);
/// Files are rounded up to this size.
const BLOCK: u64 = 4096;

/// The space that the files of a context use, and their quota.
///
/// Writes are counted, deletions are not: if there seems to be no room, everything is measured again.
#[derive(Debug)]
pub(super) struct Space {
    quota: AtomicU64,
    /// The directory of the jobs' homes, which count, too.
    homes: PathBuf,
    known: Mutex<Option<SizeReading>>,
    /// The bytes reserved so far.
    taken: AtomicU64,
    /// The subreapers of commands that work with the files. Removed files that their processes hold open still take
    /// room.
    subreapers: Mutex<Vec<Pid>>,
    /// Looks at these files, once there was a command.
    checks: Mutex<Option<Checks>>,
}

/// Makes removed files count that the processes below a subreaper hold open, until it is dropped.
#[derive(Debug)]
pub(super) struct Counted {
    space: Arc<Space>,
    subreaper: Pid,
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut subreapers = self.space.subreapers();
        let at = subreapers.iter().position(|subreaper| *subreaper == self.subreaper);
        at.map(|at| subreapers.swap_remove(at));
    }
}

#[derive(Debug, Clone, Copy)]
struct SizeReading {
    bytes: u64,
    at: Instant,
}

impl Space {
    pub(super) fn new(quota: u64, homes: PathBuf) -> Self {
        Self {
            quota: AtomicU64::new(quota),
            homes,
            known: Mutex::default(),
            taken: AtomicU64::new(0),
            subreapers: Mutex::default(),
            checks: Mutex::default(),
        }
    }

    /// Sets the quota, in bytes.
    pub(super) fn limit(&self, quota: u64) {
        self.quota.store(quota, Ordering::Relaxed);
    }

    /// Reserves room for an entry of this size, or returns an error if there is none.
    pub(super) fn take(&self, root: &Dir, bytes: u64, token: &CancellationToken) -> Result<(), String> {
        self.take_more(root, bytes.div_ceil(BLOCK) * BLOCK + ENTRY, token)
    }

    /// Reserves room for this number of additional bytes.
    pub(super) fn take_more(&self, root: &Dir, bytes: u64, token: &CancellationToken) -> Result<(), String> {
        if self.fits(bytes) {
            return Ok(());
        }
        for _ in 0..TRIES {
            // Others write meanwhile: this takes as long as the directory is large.
            let before = self.taken.load(Ordering::Relaxed);
            let measured = self.measure(root, token)?;
            let meanwhile = self.taken.load(Ordering::Relaxed).saturating_sub(before);
            self.know(Some(measured.saturating_add(meanwhile)));
            if self.fits(bytes) {
                return Ok(());
            }
            // What they wrote may have been measured, too.
            if meanwhile == 0 {
                break;
            }
        }
        Err(self.full())
    }

    /// Reserves room for this number of bytes if there is some, as far as is known.
    fn fits(&self, bytes: u64) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(now) = known.as_mut().filter(|known| known.at.elapsed() < FRESH) else { return false };
        let with = now.bytes.saturating_add(bytes);
        let fits = with <= self.quota.load(Ordering::Relaxed);
        if fits {
            now.bytes = with;
            self.taken.fetch_add(bytes, Ordering::Relaxed);
        }
        fits
    }

    fn know(&self, bytes: Option<u64>) {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = bytes.map(|bytes| SizeReading { bytes, at: Instant::now() });
    }

    /// Measures everything, and returns an error if it exceeds the quota.
    pub(super) fn check(&self, root: &Dir, token: &CancellationToken) -> Result<(), String> {
        let bytes = self.measure(root, token)?;
        self.know(Some(bytes));
        if bytes > self.quota.load(Ordering::Relaxed) { Err(self.full()) } else { Ok(()) }
    }

    /// Makes the next write measure again, because another process wrote.
    pub(super) fn forget(&self) {
        self.know(None);
    }

    /// Also counts removed files that the processes below this subreaper hold open.
    pub(super) fn count(self: &Arc<Self>, subreaper: Pid) -> Counted {
        self.subreapers().push(subreaper);
        Counted { space: self.clone(), subreaper }
    }

    /// Returns the bytes of all files, or of some as soon as these exceed the quota.
    fn measure(&self, root: &Dir, token: &CancellationToken) -> Result<u64, String> {
        let in_homes = match Dir::open_ambient_dir(&self.homes, ambient_authority()) {
            Ok(homes) => walk::measure(&homes, token)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(format!("what jobs have in their homes cannot be measured: {error}")),
        };
        let named = walk::measure(root, token)?.saturating_add(in_homes);
        let subreapers = self.subreapers().clone();
        if subreapers.is_empty() || named > self.quota.load(Ordering::Relaxed) {
            return Ok(named);
        }
        let processes: Vec<i32> = tree::list(&subreapers).iter().map(|pid| pid.as_raw_nonzero().get()).collect();
        Ok(named.saturating_add(self.removed(processes)?))
    }

    /// Returns the bytes of removed files that these processes have open or mapped.
    fn removed(&self, processes: Vec<i32>) -> Result<u64, String> {
        let mut checks = self.checks.lock().unwrap_or_else(PoisonError::into_inner);
        if checks.is_none() {
            *checks = Some(Checks::start().map_err(|error| format!("what commands hold open cannot be measured: {error}"))?);
        }
        Ok(checks.as_mut().map_or(0, |checks| checks.removed(processes, PATIENCE)))
    }

    fn subreapers(&self) -> MutexGuard<'_, Vec<Pid>> {
        self.subreapers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn full(&self) -> String {
        format!(
            "the files of this context have no room for that: they may have {} (files_quota); delete some",
            size(self.quota.load(Ordering::Relaxed))
        )
    }
}
