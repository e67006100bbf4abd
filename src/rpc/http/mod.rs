//! HTTP: which origins and hosts are allowed, the endpoint for JSON-RPC, and the plain routes.

mod docs;
mod endpoint;
mod gzip;
mod origin;
mod routes;
mod streams;

pub(super) use endpoint::Endpoint;
pub(super) use gzip::Gzip;
pub(super) use origin::OriginCheck;
pub(super) use routes::{probes, router};
