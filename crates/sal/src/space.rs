use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use rustix::process::Pid;
use tokio_util::sync::CancellationToken;

use super::walk::{self, ENTRY_OVERHEAD_BYTES};
use hero_engine::size;
use hero_process::held::Checks;

/// Time for which a measurement is valid. Other processes may write to the directory, too.
const MEASUREMENT_LIFETIME: Duration = Duration::from_secs(10);
/// Time for the processes of commands to be looked at. They can delay that, and then what was found before counts.
const LOOK_TIMEOUT: Duration = Duration::from_secs(1);
/// Files are rounded up to this size.
const BLOCK_BYTES: u64 = 4096;

/// The space that the files of a context use, and their quota.
///
/// Writes are counted, deletions are not: if there seems to be no room, everything is measured again.
#[derive(Debug)]
pub(super) struct Space {
    quota: AtomicU64,
    /// The directory of the jobs' homes, which count, too.
    homes: PathBuf,
    known: Mutex<Option<SizeReading>>,
    /// The subreapers of commands that work with the files. Removed files that their processes hold open still take
    /// room.
    subreapers: Mutex<Vec<Pid>>,
    /// Looks at these files, once there was a command, with the subreapers whose processes it looks at.
    checks: Mutex<Option<(Checks, Vec<Pid>)>>,
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
        Self { quota: AtomicU64::new(quota), homes, known: Mutex::default(), subreapers: Mutex::default(), checks: Mutex::default() }
    }

    /// Sets the quota, in bytes.
    pub(super) fn limit(&self, quota: u64) {
        self.quota.store(quota, Ordering::Relaxed);
    }

    /// Reserves room for an entry of this size, or returns an error if there is none.
    pub(super) fn take(&self, root: &Dir, bytes: u64, token: &CancellationToken) -> Result<(), String> {
        self.take_more(root, bytes.div_ceil(BLOCK_BYTES) * BLOCK_BYTES + ENTRY_OVERHEAD_BYTES, token)
    }

    /// Reserves room for this number of additional bytes.
    pub(super) fn take_more(&self, root: &Dir, bytes: u64, token: &CancellationToken) -> Result<(), String> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |known: &SizeReading| known.bytes.saturating_add(bytes) <= self.quota.load(Ordering::Relaxed);
        let mut now = match *known {
            Some(fresh) if fresh.at.elapsed() < MEASUREMENT_LIFETIME && fits(&fresh) => fresh,
            _ => SizeReading { bytes: self.measure(root, token)?, at: Instant::now() },
        };
        let has_room = fits(&now);
        if has_room {
            now.bytes = now.bytes.saturating_add(bytes);
        }
        *known = Some(now);
        if has_room { Ok(()) } else { Err(self.full()) }
    }

    /// Measures everything, and returns an error if it exceeds the quota.
    pub(super) fn check(&self, root: &Dir, token: &CancellationToken) -> Result<(), String> {
        let bytes = self.measure(root, token)?;
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(SizeReading { bytes, at: Instant::now() });
        if bytes > self.quota.load(Ordering::Relaxed) { Err(self.full()) } else { Ok(()) }
    }

    /// Makes the next write measure again, because another process wrote.
    pub(super) fn forget(&self) {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Also counts removed files that the processes below this subreaper hold open.
    pub(super) fn count(self: &Arc<Self>, subreaper: Pid) -> Counted {
        self.subreapers().push(subreaper);
        Counted { space: self.clone(), subreaper }
    }

    /// Returns the bytes of all files, or of those with a name as soon as these exceed the quota.
    fn measure(&self, root: &Dir, token: &CancellationToken) -> Result<u64, String> {
        let quota = self.quota.load(Ordering::Relaxed);
        let named = self.named(root, token)?;
        let subreapers = self.subreapers().clone();
        if subreapers.is_empty() || named > quota {
            return Ok(named);
        }
        let removed = self.removed(subreapers)?;
        let all = named.saturating_add(removed);
        if removed == 0 || all <= quota {
            return Ok(all);
        }
        // A file that lost its name meanwhile was counted twice.
        Ok(self.named(root, token)?.saturating_add(removed))
    }

    /// Returns the bytes of the files that have a name.
    fn named(&self, root: &Dir, token: &CancellationToken) -> Result<u64, String> {
        let in_homes = match Dir::open_ambient_dir(&self.homes, ambient_authority()) {
            Ok(homes) => walk::measure(&homes, token)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(format!("what jobs have in their homes cannot be measured: {error}")),
        };
        Ok(walk::measure(root, token)?.saturating_add(in_homes))
    }

    /// Returns the bytes of removed files that the processes below these have open or mapped.
    fn removed(&self, subreapers: Vec<Pid>) -> Result<u64, String> {
        let mut checks = self.checks.lock().unwrap_or_else(PoisonError::into_inner);
        let (checks, of) = match checks.as_mut() {
            Some(checks) => checks,
            None => {
                let started = Checks::start().map_err(|error| format!("what commands hold open cannot be measured: {error}"))?;
                checks.insert((started, Vec::new()))
            }
        };
        if are_others(of, &subreapers) {
            checks.begin(u64::MAX, None);
        }
        *of = subreapers;
        Ok(checks.removed(of, LOOK_TIMEOUT))
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

/// Whether none of the commands runs any more whose files were looked at before. What was found of one that still runs
/// counts on: another may be started only to have it forgotten.
fn are_others(before: &[Pid], now: &[Pid]) -> bool {
    !before.iter().any(|subreaper| now.contains(subreaper))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_command_does_not_make_what_one_holds_forgotten() {
        let pid = |number| Pid::from_raw(number).unwrap();
        assert!(are_others(&[], &[pid(1)]));
        assert!(are_others(&[pid(1)], &[pid(2)]));
        assert!(!are_others(&[pid(1)], &[pid(1), pid(2)]));
        assert!(!are_others(&[pid(1), pid(2)], &[pid(2), pid(3)]));
    }
}
