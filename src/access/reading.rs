use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::ContextId;
use crate::store::Databases;

/// What is kept between two looks at what has changed.
#[derive(Default)]
pub(super) struct Reading {
    /// The revisions of the contexts that were read.
    pub(super) seen: BTreeMap<ContextId, f64>,
    /// What reads the contexts that no store is kept for; made when it is first needed.
    pub(super) databases: Option<Option<Arc<Databases>>>,
}
