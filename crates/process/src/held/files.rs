use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::disk::Files;
use super::hold::{Completeness, Hold};
use super::memory::too_much;
use super::open::Open;
use super::processes::Processes;
use super::{LATEST_LOOK, Removed, total};
use crate::tree::StopOrder;

pub(super) struct FilesRequest {
    pub(super) processes: Processes,
    /// Set if the processes are stopped meanwhile, because looks have missed some.
    pub(super) stops: Option<StopOrder>,
    pub(super) directory: Option<Arc<Path>>,
    pub(super) mapped: Arc<Removed>,
    pub(super) of_one: u64,
}

pub(super) struct FilesAnswer {
    pub(super) memory: u64,
    pub(super) removed: Removed,
    pub(super) too_many: TooMany,
    pub(super) hidden: Option<i32>,
    /// The look is whole if it saw all processes, and counted all files wherever they were moved. While all processes
    /// are stopped, moved files do not matter: an honest program may move files all the time, and must not be ended for
    /// it.
    pub(super) completeness: Completeness,
}

/// Whether there are too many files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TooMany {
    No,
    /// Too many only together with removed files that were mapped some time ago.
    WithMapped,
    Yes,
}

/// Counts files, until there are too many, or too much else is open. Reading what the processes have open can take
/// seconds, so this counts the directory again meanwhile.
pub(super) fn look_at_files(request: &FilesRequest, is_awaited: &dyn Fn() -> bool) -> FilesAnswer {
    let in_directory = || request.directory.as_deref().map_or_else(Files::none, |directory| Files::below(directory, is_awaited));
    let of_mapped = request.mapped.values().copied().fold(0, u64::saturating_add);
    let too_many = |files: &Files, open: &Open| match () {
        () if request.directory.is_none() => TooMany::No,
        () if files.are_too_many_with(open.removed_bytes) => TooMany::Yes,
        // To find those that are both takes longer.
        () if !files.are_too_many_with(open.removed_bytes.saturating_add(of_mapped)) => TooMany::No,
        () if files.are_too_many_with(total(&open.removed, &request.mapped)) => TooMany::WithMapped,
        () => TooMany::No,
    };
    let (mut files, mut counted_at) = (in_directory(), Instant::now());
    let mut hold = Hold::of(&request.processes, request.stops, is_awaited);
    let goes_on = |open: &Open| {
        hold.go_on_in_time();
        // That takes as long as the disk does, so not while they are stopped.
        if !hold.is_stopped() && counted_at.elapsed() > LATEST_LOOK {
            (files, counted_at) = (in_directory(), Instant::now());
        }
        is_awaited() && too_much(open.memory, request.of_one).is_none() && too_many(&files, open) == TooMany::No
    };
    let (open, is_whole) = Open::by(&request.processes, goes_on);
    let checks = hold.is_stopped() && !files.is_settled;
    if checks {
        files.check(&|| is_awaited() && !hold.is_too_long());
        // Nobody has moved or removed anything meanwhile.
        files.is_settled = !hold.is_too_long();
    }
    files.is_settled &= hold.end() || !checks;
    let is_exact = checks && files.is_settled;
    if request.stops.is_some() && !files.is_settled {
        files.check(is_awaited);
    }
    let is_settled = files.is_settled || hold.has_held();
    let mut found = too_many(&files, &open);
    if found != TooMany::No && !is_exact {
        // A file that lost its name meanwhile was counted twice.
        found = too_many(&in_directory(), &open);
    }
    // It ends at once when it has found too much.
    let is_whole = is_settled && (is_whole || found != TooMany::No || too_much(open.memory, request.of_one).is_some());
    let Open { memory, hidden, removed, .. } = open;
    FilesAnswer { memory, too_many: found, hidden, removed, completeness: hold.completeness(is_whole) }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::fs;
    use std::os::unix::fs::MetadataExt as _;
    use std::process::{Child, Command};

    use rustix::process::getpid;

    use super::*;

    /// A process that holds this file.
    fn holder(file: &fs::File) -> Child {
        Command::new("sleep").arg("600").stdin(file.try_clone().unwrap()).spawn().unwrap()
    }

    #[test]
    fn who_starts_while_the_directory_is_counted_is_looked_at() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("other"), "x").unwrap();
        let file = tempfile::tempfile().unwrap();
        rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, 1 << 20).unwrap();
        let id = file.metadata().map(|file| (file.ino(), file.dev())).unwrap();
        let first = RefCell::new(Some(holder(&file)));
        let second = RefCell::new(None);
        let is_awaited = || {
            if let Some(mut first) = first.take() {
                second.replace(Some(holder(&file)));
                first.kill().unwrap();
                first.wait().unwrap();
            }
            true
        };
        let processes = Processes::Below { root: getpid(), spared: Arc::default(), stops: Arc::default() };
        let directory = Some(directory.path().into());
        let request = FilesRequest { processes, stops: None, directory, mapped: Arc::default(), of_one: u64::MAX };
        let answer = look_at_files(&request, &is_awaited);
        assert!(answer.removed.get(&id).is_some_and(|bytes| *bytes >= 1 << 20), "{:?}", answer.removed);
        assert_eq!((answer.completeness, answer.too_many), (Completeness::Whole, TooMany::No));
        let mut second = second.take().unwrap();
        second.kill().unwrap();
        second.wait().unwrap();
    }
}
