use std::collections::HashSet;

use hero_model::JobId;

/// The lists in which jobs stand that wait for another one.
pub(super) const LISTS: [&str; 2] = ["dependents", "onComplete"];

/// In which of them a job stands that is related so.
pub(super) fn list_of(relation: &str) -> Option<usize> {
    match relation {
        "prerequisite" => Some(0),
        "predecessor" => Some(1),
        _ => None,
    }
}

/// What was seen of jobs outside of a group when a part of it was staged. It counts for the rest of it, too, where they have gone since.
#[derive(Default)]
pub(super) struct Seen<'g> {
    /// Those that need not be waited for, by the list in which jobs stand that do.
    pub(super) ended: HashSet<(usize, &'g JobId)>,
    /// Parents that were there.
    pub(super) parents: HashSet<&'g JobId>,
}

impl<'g> Seen<'g> {
    /// Whether such a relation needs no look any more.
    pub(super) fn has(&self, relation: &str, other: &'g JobId) -> bool {
        list_of(relation).map_or_else(|| self.parents.contains(other), |kind| self.ended.contains(&(kind, other)))
    }
}
