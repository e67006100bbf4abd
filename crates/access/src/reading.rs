use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use hero_model::ContextId;
use hero_store::Databases;

/// The state kept between two checks for changes.
#[derive(Default)]
pub(super) struct Reading {
    /// The revisions of the contexts read so far.
    pub(super) seen: BTreeMap<ContextId, f64>,
    /// The connections for contexts without a kept store; opened when first needed.
    pub(super) databases: Option<Option<Arc<Databases>>>,
    /// Whether another program has spoilt the list of the contexts.
    pub(super) list_is_spoilt: bool,
    /// The time at which contexts with announced but uncompleted changes were last read.
    pub(super) looked_at_changing: Option<Instant>,
}
