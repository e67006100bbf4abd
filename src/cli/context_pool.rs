use std::collections::BTreeSet;

use crate::actor::{Pool, PoolStatus};
use crate::model::ContextId;
use crate::process::confine;

/// A pool of this process, and the context that it serves. Each context has pools, actors and engines of its own.
pub(super) struct ContextPool {
    pub(super) context: ContextId,
    pub(super) pool: Pool,
}

/// The steps of confinement that the engines of these pools do without, because the system does not offer them.
pub(super) fn left_out<'a>(pools: impl IntoIterator<Item = &'a PoolStatus>) -> Vec<String> {
    let said: BTreeSet<String> = pools.into_iter().flat_map(PoolStatus::confinements).collect();
    let lacks: BTreeSet<String> = said.iter().flat_map(|steps| confine::left_out(steps)).map(ToOwned::to_owned).collect();
    // Of these names only this one does not say what to do about it.
    let told = |name: String| if name == "setuid" { format!("{name} (hero runs as root)") } else { name };
    lacks.into_iter().map(told).collect()
}
