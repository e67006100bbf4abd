use std::collections::BTreeSet;

use crate::actor::{Pool, PoolStatus};
use crate::model::ContextId;
use crate::process::confine;

/// A pool of this process and the context that it serves. Each context has its own pools, actors and engines.
pub(crate) struct ContextPool {
    pub(crate) context: ContextId,
    pub(crate) pool: Pool,
}

/// Returns the steps of confinement that the engines of these pools lack, because the system does not offer them.
pub(crate) fn left_out<'a>(pools: impl IntoIterator<Item = &'a PoolStatus>) -> Vec<String> {
    let said: BTreeSet<String> = pools.into_iter().flat_map(PoolStatus::confinements).collect();
    let lacks: BTreeSet<&str> = said.iter().flat_map(|steps| confine::left_out(steps)).collect();
    lacks.into_iter().map(ToOwned::to_owned).collect()
}
