//! Jobs that wait for jobs: groups, cycles, and what following relations may cost.

pub(crate) mod budget;
pub(crate) mod caller_rooms;
pub(crate) mod cycle;
pub(crate) mod following;
pub(crate) mod group;
pub(crate) mod related;
pub(crate) mod seen;
