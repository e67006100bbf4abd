use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::mapped::Mapped;
use super::process::Process;
use super::processes::Processes;
use super::{BLOCK_BYTES, Id, MEMORY_FACTOR, Removed};
use crate::proc_file;

/// The maximum number of bytes read from lists of mappings. A program has about 100 mappings, one per line.
const LONGEST_LISTS: u64 = 32 << 20;
/// The maximum number of looks in a row in which the size of an object cannot be read: its mapping moves.
const MOST_UNREAD: u8 = 5;
/// The maximum number of objects in a look. To read the size of one waits for the process, too.
const MOST_OBJECTS: usize = 8192;

/// The memory of processes, with shared memory and mapped removed files. Reading it waits for processes that are
/// forking or changing their mappings.
///
/// With `CAP_CHECKPOINT_RESTORE` in the first user namespace, the system shows how much of an object exists. Otherwise
/// hero counts up to the end of the longest mapping that it ever saw of the object: a process may remove a mapping and
/// keep the object by a short one.
#[derive(Debug)]
pub(super) struct Memory {
    /// Shared memory and removed files that are mapped.
    objects: BTreeMap<Id, Object>,
    processes: Vec<Process>,
    /// Bytes of shared memory.
    shared: u64,
    /// The number of objects found in this look.
    found: usize,
    /// Whether this look has found all.
    is_whole: bool,
    /// If this look has divided the memory that processes share: the sum of their parts, and the memory of those that
    /// had ended by then.
    shares: Option<(u64, u64)>,
    /// True if the sizes of objects can be read.
    reads_sizes: bool,
}

#[derive(Debug, Clone, Copy)]
struct Object {
    /// The object itself. On some file systems its mappings have another device.
    id: Id,
    bytes: u64,
    /// True if it is memory and no file.
    is_memory: bool,
    /// True if this look has found it.
    found: bool,
    /// The number of looks in a row that could not read its size.
    unread: u8,
}

impl Memory {
    pub(super) fn new() -> Self {
        let own = fs::read_dir("/proc/self/map_files").ok().and_then(|mut mapped| mapped.next()?.ok());
        Self::reading_sizes(own.is_some_and(|own| fs::metadata(own.path()).is_ok()))
    }

    fn reading_sizes(reads_sizes: bool) -> Self {
        Self { objects: BTreeMap::new(), processes: Vec::new(), shared: 0, found: 0, is_whole: true, shares: None, reads_sizes }
    }

    /// Looks at these processes, until `goes_on` returns false, which this calls before each process and each object.
    /// If what the processes have alone is more than `most` together, this divides what they share at once.
    ///
    /// It first reads what each process has alone, which no process can delay. So processes still count that start
    /// another and end while it reads the mappings of one.
    pub(super) fn look(&mut self, processes: &Processes, most: u64, mut goes_on: impl FnMut(&Self) -> bool) {
        self.begin();
        let mut found = Vec::new();
        let seen = processes.each(|pid| {
            found.extend(Process::read(pid));
            true
        });
        found.retain(|process| seen.left.contains(&process.pid));
        self.processes = found;
        self.is_whole = seen.is_whole;
        let alone = self.processes.iter().map(Process::memory).fold(0, u64::saturating_add);
        self.shares = (alone > most).then(|| {
            self.divide(|| {
                // Only the look at mappings may end early.
                let _ = goes_on(self);
            })
        });
        let (mut patience, mut has_ended) = (LONGEST_LISTS, false);
        let seen = processes.each(|pid| {
            has_ended = has_ended || !goes_on(self);
            if !has_ended {
                self.add_mapped(pid, &mut patience, &mut goes_on);
            }
            !has_ended
        });
        self.is_whole &= seen.is_whole || has_ended;
        if !has_ended && goes_on(self) {
            self.objects.retain(|_, object| object.found);
        }
    }

    fn begin(&mut self) {
        self.processes.clear();
        (self.shared, self.found) = (0, 0);
        self.objects.values_mut().for_each(|object| object.found = false);
    }

    /// Returns the removed files that the last look found mapped, as far as they are known.
    pub(super) fn removed(&self) -> Removed {
        self.objects.values().filter(|object| !object.is_memory).map(|object| (object.id, object.bytes)).collect()
    }

    /// Returns the bytes of shared memory found so far.
    pub(super) fn shared(&self) -> u64 {
        self.shared
    }

    /// Returns the memory of the processes, with shared memory. If it is more than `most`, this divides other memory
    /// that processes share, as forks do, among them, where the system reports it. That is slower, and impossible for
    /// processes that have ended by then: the look is not whole if they make a difference. It calls `before_each`
    /// before it reads each process.
    pub(super) fn sums(&self, most: u64, before_each: impl FnMut()) -> Sums {
        let sum = |of: fn(&Process) -> u64| self.processes.iter().map(of).fold(self.shared, u64::saturating_add);
        let alone = sum(Process::memory);
        let mut sums = Sums { together: alone, is_divided: false, shown: 0, is_whole: self.is_whole };
        if alone > most {
            let (shares, ended) = self.shares.unwrap_or_else(|| self.divide(before_each));
            let divided = self.shared.saturating_add(shares).min(alone);
            sums.is_whole &= divided > most || divided.saturating_add(ended) <= most;
            (sums.together, sums.is_divided) = (divided, true);
        }
        sums.shown = self.processes.iter().map(Process::shown).fold(0, u64::saturating_add);
        sums
    }

    /// Returns the memory of the processes, divided among those that share it, and that of those that have ended.
    fn divide(&self, mut before_each: impl FnMut()) -> (u64, u64) {
        let (mut shares, mut ended) = (0_u64, 0_u64);
        for process in &self.processes {
            before_each();
            match process.share() {
                Some(share) => shares = shares.saturating_add(share),
                None => ended = ended.saturating_add(process.memory()),
            }
        }
        (shares, ended)
    }

    /// Adds the mappings of this process. The children of one that has ended have its mappings.
    fn add_mapped(&mut self, pid: i32, patience: &mut u64, goes_on: &mut impl FnMut(&Self) -> bool) {
        let Some(process) = Process::read(pid) else { return };
        let Ok(lines) = proc_file::read_at_most(process.place.join("maps"), *patience) else {
            if process.is_there() {
                // Nobody may read the mappings of this program. The size of its mapped shared memory is known.
                self.shared = self.shared.saturating_add(process.sum(&["RssShmem:"]));
            }
            return;
        };
        *patience = patience.saturating_sub(lines.len() as u64);
        let user = process.user();
        for mapped in lines.lines().filter_map(Mapped::read) {
            if !goes_on(self) {
                break;
            }
            self.add(&mapped, user, || fs::metadata(process.place.join("map_files").join(&mapped.range)));
        }
        if *patience == 0 || self.found > MOST_OBJECTS {
            // A process with this many mappings tries to avoid the check.
            self.shared = u64::MAX;
        }
    }

    /// Adds an object of this user. `whole` reads its metadata, once in a look. A file of another user was replaced, as
    /// by an upgrade, and does not count.
    fn add(&mut self, mapped: &Mapped, user: Option<u32>, whole: impl FnOnce() -> io::Result<fs::Metadata>) {
        let known = self.objects.get(&mapped.id).copied();
        let found = known.filter(|object| object.found);
        if found.is_some() && self.reads_sizes {
            return;
        }
        self.found += usize::from(found.is_none());
        let before = known.map_or(0, |object| object.bytes);
        let id = known.map_or(mapped.id, |object| object.id);
        let (id, bytes, unread) = match self.reads_sizes.then(whole) {
            // Read once in a look.
            None if found.is_some_and(|object| object.bytes == 0) => (id, 0, 0),
            None if found.is_none() && !mapped.is_memory && user.is_some_and(|user| was_replaced(&mapped.path, user)) => (id, 0, 0),
            None => (id, mapped.end.max(before), 0),
            Some(Ok(file)) if !mapped.is_memory && user.is_some_and(|user| file.uid() != user) => (id, 0, 0),
            Some(Ok(object)) => ((object.ino(), object.dev()), object.blocks().saturating_mul(BLOCK_BYTES), 0),
            // If the mapping is gone meanwhile, the next look finds what is left.
            Some(Err(_)) => (id, before, known.map_or(0, |object| object.unread).saturating_add(1)),
        };
        if unread > MOST_UNREAD {
            self.shared = u64::MAX;
        }
        self.objects.insert(mapped.id, Object { id, bytes, is_memory: mapped.is_memory, found: true, unread });
        if mapped.is_memory {
            self.shared = self.shared.saturating_sub(found.map_or(0, |object| object.bytes)).saturating_add(bytes);
        }
    }
}

/// The bytes of memory of processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Sums {
    /// Their total.
    pub(super) together: u64,
    /// Whether the total divides memory that they share without a mapping of shared memory, as forks do.
    pub(super) is_divided: bool,
    /// The sum of what the status of each shows, as if they shared nothing.
    pub(super) shown: u64,
    /// Whether the look missed none.
    pub(super) is_whole: bool,
}

/// Returns the maximum number of bytes that processes may have together, if they have more.
pub(super) fn too_much(bytes: u64, of_one: u64) -> Option<u64> {
    let most = of_one.saturating_mul(MEMORY_FACTOR);
    (bytes > most).then_some(most)
}

/// Whether a removed file was in a directory where this user removes none, as a library that an upgrade replaced. A
/// directory that is reached by a link is no proof: the user may have made the link later.
fn was_replaced(path: &str, user: u32) -> bool {
    let Some(directory) = Path::new(path).parent() else { return false };
    let is_of_others = |found: fs::Metadata| found.uid() != user && found.mode() & 0o022 == 0;
    fs::canonicalize(directory).is_ok_and(|real| real == directory) && fs::metadata(directory).is_ok_and(is_of_others)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn what_is_shared_without_a_name_is_found_among_mappings() {
        let read = |line: &str| Mapped::read(line).map(|mapped| (mapped.range, mapped.id.0, mapped.end, mapped.is_memory));
        let found = |id, end, is_memory| Some(("7f00000000-7f00010000".to_owned(), id, end, is_memory));
        let zero = "7f00000000-7f00010000 rw-s 00001000 00:01 1031                       /dev/zero (deleted)";
        assert_eq!(read(zero), found(1031, 0x11000, true));
        assert_eq!(read("7f00000000-7f00010000 r--s 00000000 fe:00 77 /tmp/a b (deleted)"), found(77, 0x10000, false));
        assert_eq!(read("7f00000000-7f00010000 rw-s 00000000 00:01 1031 [anon_shmem:a (b)]"), found(1031, 0x10000, true));
        assert_eq!(read("7f00000000-7f00010000 r--p 00000000 fe:00 77 /tmp/a (deleted)"), found(77, 0x10000, false));
        // A job gives its files any name.
        for name in ["/w/memfd:a (deleted)", "/w/a [anon_shmem:b] (deleted)", "/w/ /memfd:a (deleted)"] {
            assert_eq!(read(&format!("7f00000000-7f00010000 rw-s 00000000 fe:00 77 {name}")), found(77, 0x10000, false), "{name}");
        }
        let low = Mapped::read("00010000-00020000 rw-s 00000000 00:01 1031 /dev/zero (deleted)").unwrap();
        assert_eq!(low.range, "10000-20000");
        for other in ["7f00000000-7f00010000 rw-s 00000000 fe:00 77 /tmp/a", "7f00000000-7f00010000 rw-p 00000000 00:00 0", " (deleted)"] {
            assert!(read(other).is_none(), "{other}");
        }
    }

    #[test]
    fn an_object_counts_with_its_longest_mapping_as_long_as_one_is_there() {
        let mapped = |end| Mapped { range: String::new(), id: (1, 1), path: String::new(), end, is_memory: true };
        let refused = || Err(io::Error::from(io::ErrorKind::PermissionDenied));
        let mut memory = Memory::reading_sizes(false);
        memory.add(&mapped(5000), None, refused);
        memory.add(&mapped(1000), None, refused);
        assert_eq!(memory.shared(), 5000);
        memory.begin();
        memory.add(&mapped(1000), None, refused);
        memory.add(&mapped(6000), None, refused);
        memory.add(&mapped(2000), None, refused);
        assert_eq!(memory.shared(), 6000);
        // Without a mapping it is gone, and its number may be that of another.
        memory.look(&Processes::These([].into()), u64::MAX, |_| true);
        memory.add(&mapped(1000), None, refused);
        assert_eq!(memory.shared(), 1000);
    }

    #[test]
    fn where_sizes_can_be_read_an_object_counts_with_what_exists_of_it() {
        let mapped = |end| Mapped { range: String::new(), id: (1, 1), path: String::new(), end, is_memory: true };
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![1; 1 << 20]).unwrap();
        let gone = || Err(io::Error::from(io::ErrorKind::NotFound));
        let mut memory = Memory::reading_sizes(true);
        memory.add(&mapped(4 << 30), None, || fs::metadata(file.path()));
        memory.add(&mapped(4 << 30), None, gone);
        let size = memory.shared();
        assert!((1 << 20..2 << 20).contains(&size), "{size}");
        for _ in 0..MOST_UNREAD {
            memory.begin();
            memory.add(&mapped(4 << 30), None, gone);
            assert_eq!(memory.shared(), size);
        }
        // Its mapping moves on purpose.
        memory.begin();
        memory.add(&mapped(4 << 30), None, gone);
        assert_eq!(memory.shared(), u64::MAX);
    }

    #[test]
    fn a_file_of_somebody_else_that_was_replaced_is_not_the_jobs() {
        let mapped = Mapped { range: String::new(), id: (1, 1), path: String::new(), end: 4096, is_memory: false };
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![1; 1 << 20]).unwrap();
        let own = rustix::process::geteuid().as_raw();
        for (user, counts) in [(own, true), (own + 1, false)] {
            let mut memory = Memory::reading_sizes(true);
            memory.add(&mapped, Some(user), || fs::metadata(file.path()));
            assert_eq!(memory.removed().values().any(|bytes| *bytes > 0), counts);
        }
    }

    #[test]
    fn where_sizes_cannot_be_read_the_directory_tells_who_replaced_a_file() {
        let (own, nobody_here) = (rustix::process::geteuid().as_raw(), u32::MAX - 7);
        let directory = tempfile::tempdir().unwrap();
        let link = directory.path().join("link");
        std::os::unix::fs::symlink("/usr/lib", &link).unwrap();
        let file = |path: &Path| path.join("libx.so").to_string_lossy().into_owned();
        let (here, by_link) = (file(directory.path()), file(&link));
        for (path, user, counts) in [
            ("/usr/lib/libx.so", nobody_here, false),
            (&*here, own, true),
            (&*by_link, nobody_here, true),
            ("/no/such/directory/libx.so", nobody_here, true),
            ("/tmp/libx.so", nobody_here, true),
            ("libx.so", nobody_here, true),
        ] {
            let mapped = Mapped { range: String::new(), id: (1, 1), path: path.to_owned(), end: 4096, is_memory: false };
            let mut memory = Memory::reading_sizes(false);
            memory.add(&mapped, Some(user), || unreachable!("it is not read"));
            memory.add(&mapped, Some(user), || unreachable!("it is not read"));
            assert_eq!(memory.removed()[&(1, 1)] > 0, counts, "{path}");
        }
    }

    #[test]
    fn the_memory_of_processes_is_added_up() {
        let own = Processes::These([std::process::id().cast_signed()].into());
        let mut memory = Memory::new();
        memory.look(&own, u64::MAX, |_| true);
        let sums = memory.sums(u64::MAX, || ());
        assert!(sums.together > 4096 && sums.shown > 4096 && sums.is_whole, "{sums:?}");
        assert!(memory.sums(0, || ()).together <= sums.together);
        memory.look(&own, u64::MAX, |_| false);
        assert_eq!(memory.shared(), 0);
        assert_eq!((too_much(4097, 1024), too_much(4096, 1024), too_much(u64::MAX, u64::MAX)), (Some(4096), None, None));
    }

    #[test]
    fn who_ends_while_the_mappings_of_another_are_read_counts() {
        let mut sleeper = Some(Command::new("sleep").arg("600").spawn().unwrap());
        let number = sleeper.as_ref().map(std::process::Child::id).unwrap();
        let both = Processes::These([std::process::id(), number].map(u32::cast_signed).into());
        let of_sleeper = Process::read(number.cast_signed()).unwrap();
        let mut memory = Memory::new();
        memory.look(&both, u64::MAX, |_| {
            if let Some(mut sleeper) = sleeper.take() {
                sleeper.kill().unwrap();
                sleeper.wait().unwrap();
            }
            true
        });
        assert!(memory.processes.iter().any(|process| process.pid == of_sleeper.pid && process.memory() > 0), "{memory:?}");
        memory.processes.retain(|process| process.pid == of_sleeper.pid);
        memory.shared = 0;
        assert!(memory.sums(u64::MAX, || ()).is_whole && memory.sums(u64::MAX, || ()).together > 0);
        // How much of it was shared nobody knows any more.
        let sums = memory.sums(0, || ());
        assert!(sums.is_divided && sums.together == 0 && !sums.is_whole, "{sums:?}");
        assert_eq!(of_sleeper.share(), None);
    }
}
