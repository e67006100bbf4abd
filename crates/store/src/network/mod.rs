//! Connections to Redis: where it is, their deadlines, Redis Cluster.

pub(crate) mod connection;
pub(crate) mod deadline;
pub(crate) mod endpoint;
pub(crate) mod hash_slots;
pub(crate) mod home;
pub(crate) mod plain_connection;
