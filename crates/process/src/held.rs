//! What processes hold together and no limit of a single process bounds: their number, memory, and files on the disk.

mod checks;
mod disk;
mod files;
mod hold;
mod look;
mod mapped;
mod memory;
mod open;
mod process;
mod processes;

use std::collections::BTreeMap;
use std::time::Duration;

pub use checks::{Checks, Exceeded};
pub use disk::{MAX_DIRECTORY_DEPTH, MOST_BYTES, MOST_FILES};
pub use process::of_status;

/// The maximum number of processes that may run together for a job.
pub const MOST_PROCESSES: usize = 256;
/// The maximum number of descriptors that these processes may have together: more could not be looked at while they are
/// stopped. What several inherit counts for each.
pub const MOST_DESCRIPTORS: u64 = 16 << 10;
/// The maximum memory of these processes together, as a multiple of the limit of one process.
pub const MEMORY_FACTOR: u64 = 4;
/// The unit in which the system counts the size of a file on the disk.
const BLOCK_BYTES: u64 = 512;

/// Says what a job did that hero ends for [`Exceeded::Hidden`].
pub const HIDES: &str = "kept hero from counting what its processes hold: it ran a program that its user may not read (make that readable: chmod a+r), or its processes end as soon as they have started others, send each other SIGCONT, or stay in long system calls (do the same with fewer processes that live longer)";

/// The time after which processes are counted for the first time. It is short because most processes are. Later checks
/// are less frequent, depending on the time that they take.
pub const FIRST_LOOK: Duration = Duration::from_millis(5);
/// The usual time between two checks.
pub const LATER_LOOK: Duration = Duration::from_millis(250);
/// The maximum time between two checks.
pub const LATEST_LOOK: Duration = Duration::from_secs(1);
/// The pause after a check, as a multiple of the time that it took.
const CHECK_PAUSE_FACTOR: u32 = 4;

/// A file or shared memory, by inode and device.
type Id = (u64, u64);
/// The bytes that files without a name take on the disk.
type Removed = BTreeMap<Id, u64>;

/// Returns the pause after a check that took this long: at least `least` and at most `most`.
pub fn pause_after(look: Duration, least: Duration, most: Duration) -> Duration {
    (look * CHECK_PAUSE_FACTOR).clamp(least, most)
}

/// Returns the bytes of these files, each once. Some file systems (btrfs, overlayfs) have another device for a mapping
/// than for a descriptor of the same file, so of files with the same inode only the larger one counts.
fn total(open: &Removed, mapped: &Removed) -> u64 {
    let more = |(id, bytes): (&Id, &u64)| {
        if open.contains_key(id) {
            return 0;
        }
        let with_its_inode = open.range((id.0, 0)..=(id.0, u64::MAX)).map(|(_, bytes)| *bytes).max();
        bytes.saturating_sub(with_its_inode.unwrap_or(0))
    };
    open.values().copied().chain(mapped.iter().map(more)).fold(0, u64::saturating_add)
}
