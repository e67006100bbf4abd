use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::process::Process;
use super::{BLOCK, Id, MEMORIES, Removed};
use crate::proc_file;

/// The maximum number of bytes read from lists of mappings. A program has about 100 mappings, one per line.
const LONGEST_LISTS: u64 = 32 << 20;

/// The memory of processes, shared memory, and removed files that they have mapped. Who reads this waits for processes
/// that change their mappings or fork at that time.
///
/// How much of an object exists can be read by root. Else the end of its longest mapping counts that was ever seen while
/// one of its mappings was there: a process may remove a mapping and keep the object by a short one.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// Shared memory and removed files that are mapped.
    objects: BTreeMap<Id, Object>,
    processes: Vec<Process>,
    /// Bytes of shared memory.
    shared: u64,
    /// The removed files that were found mapped last, as far as they are known.
    pub(super) removed: Removed,
}

#[derive(Debug, Clone, Copy)]
struct Object {
    bytes: u64,
    /// True if it is memory and no file.
    is_memory: bool,
    /// The look that found it last.
    found: bool,
}

impl Memory {
    /// Looks at these processes, until `goes_on` returns false. It is called before each process.
    pub(super) fn look(&mut self, processes: &[i32], mut goes_on: impl FnMut(&Self) -> bool) {
        self.processes.clear();
        self.shared = 0;
        self.objects.values_mut().for_each(|object| object.found = false);
        let mut patience = LONGEST_LISTS;
        let mut is_whole = true;
        for pid in processes {
            if !goes_on(self) {
                is_whole = false;
                break;
            }
            let Some(process) = Process::read(*pid) else { continue };
            if self.add_mapped(&process.place, &mut patience).is_err() {
                // Nobody may read the mappings of this program. The size of its mapped shared memory is known.
                self.shared = self.shared.saturating_add(process.sum(&["RssShmem:"]));
            }
            self.processes.push(process);
        }
        if is_whole {
            self.objects.retain(|_, object| object.found);
        }
        self.removed = self.objects.iter().filter(|(_, object)| !object.is_memory).map(|(id, object)| (*id, object.bytes)).collect();
    }

    /// Returns the maximum number of bytes that the processes may have together, [`MEMORIES`] times `memory`, if they
    /// have more, with `others` that they have elsewhere.
    ///
    /// Memory that holds files does not count. Shared memory, such as that of forks, is divided among the processes if
    /// the system reports that.
    pub(super) fn too_much(&self, memory: u64, others: u64) -> Option<u64> {
        let most = memory.saturating_mul(MEMORIES);
        let have_more = |of: fn(&Process) -> u64| {
            let own = self.processes.iter().map(of).fold(others, u64::saturating_add);
            own.saturating_add(self.shared) > most
        };
        // The second check is slower.
        (have_more(Process::memory) && have_more(Process::share)).then_some(most)
    }

    fn add_mapped(&mut self, place: &Path, patience: &mut u64) -> io::Result<()> {
        let lines = proc_file::read_at_most(place.join("maps"), *patience)?;
        *patience = patience.saturating_sub(lines.len() as u64);
        if *patience == 0 {
            // A process with this many mappings tries to avoid the check.
            self.shared = u64::MAX;
        }
        for mapped in lines.lines().filter_map(Mapped::read) {
            // The metadata is that of the object.
            let whole = fs::metadata(place.join("map_files").join(&mapped.range)).ok().map(|object| object.blocks() * BLOCK);
            self.add(&mapped, whole);
        }
        Ok(())
    }

    /// Adds an object of which `whole` bytes exist, if that is known.
    fn add(&mut self, mapped: &Mapped, whole: Option<u64>) {
        let object = self.objects.entry(mapped.id).or_insert(Object { bytes: 0, is_memory: mapped.is_memory, found: false });
        let before = if object.found { object.bytes } else { 0 };
        object.bytes = whole.unwrap_or(mapped.end.max(object.bytes));
        object.found = true;
        if object.is_memory {
            self.shared = self.shared.saturating_sub(before).saturating_add(object.bytes);
        }
    }
}

/// A shared mapping of a file or memory that has no name any more.
struct Mapped {
    /// Its addresses, as `map_files` writes them.
    range: String,
    id: Id,
    /// The offset in the mapped file at which the mapping ends.
    end: u64,
    /// True if it maps memory and no file.
    is_memory: bool,
}

impl Mapped {
    /// Reads a line such as `7f0d-7f0e rw-s 00000000 00:01 1031 /dev/zero (deleted)`.
    fn read(line: &str) -> Option<Self> {
        // A process may name its shared memory.
        let is_named = line.ends_with(']') && line.contains(" [anon_shmem:");
        let path = if is_named { line } else { line.strip_suffix(" (deleted)")? };
        let mut fields = path.split_ascii_whitespace();
        let (from, to) = fields.next()?.split_once('-')?;
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        let (from, to) = (number(from)?, number(to)?);
        fields.next().filter(|rights| rights.ends_with('s'))?;
        let offset = number(fields.next()?)?;
        let (major, minor) = fields.next()?.split_once(':')?;
        let device = rustix::fs::makedev(number(major)?.try_into().ok()?, number(minor)?.try_into().ok()?);
        let is_memory = is_named || path.ends_with(" /dev/zero") || path.contains(" /memfd:") || path.contains(" /SYSV");
        let end = offset.saturating_add(to.checked_sub(from)?);
        Some(Self { range: format!("{from:x}-{to:x}"), id: (device, fields.next()?.parse().ok()?), end, is_memory })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shared_without_a_name_is_found_among_mappings() {
        let read = |line: &str| Mapped::read(line).map(|mapped| (mapped.range, mapped.id.1, mapped.end, mapped.is_memory));
        let found = |id, end, is_memory| Some(("7f00000000-7f00010000".to_owned(), id, end, is_memory));
        let zero = "7f00000000-7f00010000 rw-s 00001000 00:01 1031                       /dev/zero (deleted)";
        assert_eq!(read(zero), found(1031, 0x11000, true));
        assert_eq!(read("7f00000000-7f00010000 r--s 00000000 fe:00 77 /tmp/a b (deleted)"), found(77, 0x10000, false));
        assert_eq!(read("7f00000000-7f00010000 rw-s 00000000 00:01 1031 [anon_shmem:a (b)]"), found(1031, 0x10000, true));
        let low = Mapped::read("00010000-00020000 rw-s 00000000 00:01 1031 /dev/zero (deleted)").unwrap();
        assert_eq!(low.range, "10000-20000");
        for other in [
            "7f00000000-7f00010000 rw-p 00000000 fe:00 77 /tmp/a (deleted)",
            "7f00000000-7f00010000 rw-s 00000000 fe:00 77 /tmp/a",
            "7f00000000-7f00010000 rw-p 00000000 00:00 0",
            " (deleted)",
        ] {
            assert!(read(other).is_none(), "{other}");
        }
    }

    #[test]
    fn an_object_counts_with_its_longest_mapping_as_long_as_one_is_there() {
        let mapped = |end| Mapped { range: String::new(), id: (1, 1), end, is_memory: true };
        let mut memory = Memory::default();
        memory.add(&mapped(5000), None);
        memory.add(&mapped(1000), None);
        assert_eq!(memory.shared, 5000);
        let next = |memory: &mut Memory| {
            memory.shared = 0;
            memory.objects.values_mut().for_each(|object| object.found = false);
        };
        next(&mut memory);
        memory.add(&mapped(1000), None);
        assert_eq!((memory.shared, memory.too_much(1024, 0)), (5000, Some(4096)));
        // Root sees what exists of it.
        next(&mut memory);
        memory.add(&mapped(1000), Some(3000));
        memory.add(&mapped(9000), Some(3000));
        assert_eq!((memory.shared, memory.too_much(1024, 0), memory.too_much(1024, 2000)), (3000, None, Some(4096)));
        // Without a mapping it is gone, and its number may be that of another.
        memory.look(&[], |_| true);
        memory.add(&mapped(1000), None);
        assert_eq!(memory.shared, 1000);
    }

    #[test]
    fn processes_have_too_much_memory_together() {
        let own = std::process::id().cast_signed();
        let mut memory = Memory::default();
        memory.look(&[own], |_| true);
        assert_eq!((memory.too_much(1024, 0), memory.too_much(u64::MAX, 0)), (Some(4096), None));
        memory.look(&[own], |_| false);
        assert_eq!((memory.too_much(0, 0), memory.too_much(0, 1)), (None, Some(0)));
    }
}
