use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::disk::Files;
use super::memory::too_much;
use super::open::Open;
use super::{LATEST_LOOK, Removed, total};

pub(super) struct FilesRequest {
    pub(super) processes: Arc<[i32]>,
    pub(super) directory: Option<Arc<Path>>,
    pub(super) mapped: Arc<Removed>,
    pub(super) of_one: u64,
}

pub(super) struct FilesAnswer {
    pub(super) memory: u64,
    pub(super) removed: Removed,
    pub(super) too_many: TooMany,
    pub(super) hidden: Option<i32>,
}

/// Whether there are too many files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TooMany {
    No,
    /// With the removed files that were mapped some time ago.
    WithMapped,
    Yes,
}

/// Counts files, until there are too many, or too much else is open. What the processes have open can take seconds, so
/// the directory is counted again meanwhile.
pub(super) fn look_at_files(request: &FilesRequest, is_awaited: &dyn Fn() -> bool) -> FilesAnswer {
    let in_directory = || request.directory.as_deref().map(|directory| Files::below(directory, is_awaited)).unwrap_or_default();
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
    let goes_on = |open: &Open| {
        if counted_at.elapsed() > LATEST_LOOK {
            (files, counted_at) = (in_directory(), Instant::now());
        }
        is_awaited() && too_much(open.memory, request.of_one).is_none() && too_many(&files, open) == TooMany::No
    };
    let open = Open::by(&request.processes, goes_on);
    let mut found = too_many(&files, &open);
    if found != TooMany::No {
        // A file that lost its name meanwhile was counted twice.
        found = too_many(&in_directory(), &open);
    }
    FilesAnswer { memory: open.memory, too_many: found, hidden: open.hidden, removed: open.removed }
}
