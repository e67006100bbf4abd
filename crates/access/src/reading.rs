use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use hero_model::ContextId;
use hero_store::Databases;

/// What is kept between two looks at what has changed.
#[derive(Default)]
pub(super) struct Reading {
    /// The revisions of the contexts that were read.
    pub(super) seen: BTreeMap<ContextId, f64>,
    /// What reads the contexts that no store is kept for; made when it is first needed.
    pub(super) databases: Option<Option<Arc<Databases>>>,
    /// Whether another program has spoilt the list of the contexts.
    pub(super) list_is_spoilt: bool,
    /// When contexts were last read because changes of them were announced and not told.
    pub(super) looked_at_changing: Option<Instant>,
}
