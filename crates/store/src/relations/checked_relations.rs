use std::collections::HashSet;

use hero_model::JobId;

/// The lists of a job in which waiting jobs stand.
pub(crate) const LISTS: [&str; 2] = ["dependents", "onComplete"];

/// Returns the index of the list for a relation, if jobs with this relation wait.
pub(crate) fn list_of(relation: &str) -> Option<usize> {
    match relation {
        "prerequisite" => Some(0),
        "predecessor" => Some(1),
        _ => None,
    }
}

/// The observed state of jobs outside of a group when a part of the group was staged. It also holds for the rest of the group, even if
/// those jobs have gone since.
#[derive(Default)]
pub(crate) struct CheckedRelations<'g> {
    /// Jobs that need not be awaited, with the index of the list in which jobs would wait for them.
    pub(crate) ended: HashSet<(usize, &'g JobId)>,
    /// Parents that existed.
    pub(crate) parents: HashSet<&'g JobId>,
}

impl<'g> CheckedRelations<'g> {
    /// Whether a relation needs no further check.
    pub(crate) fn has(&self, relation: &str, other: &'g JobId) -> bool {
        list_of(relation).map_or_else(|| self.parents.contains(other), |kind| self.ended.contains(&(kind, other)))
    }
}
