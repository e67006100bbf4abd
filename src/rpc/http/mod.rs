//! HTTP: which origins and hosts are allowed, the endpoint for JSON-RPC, and the plain routes.

mod docs;
mod endpoint;
mod origin;
mod routes;

pub(super) use endpoint::Endpoint;
pub(super) use origin::OriginCheck;
pub(super) use routes::{probes, router};
