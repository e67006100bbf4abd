//! Jobs that wait for jobs: groups, cycles, and what following relations may cost.

pub(crate) mod budget;
pub(crate) mod caller_semaphores;
pub(crate) mod checked_relations;
pub(crate) mod cycle;
pub(crate) mod following;
pub(crate) mod related;
pub(crate) mod staged_group;
