//! HTTP: which origins and hosts are allowed, the endpoints for JSON-RPC and for assistants, and the plain routes.

mod assistants;
mod docs;
mod endpoint;
mod fixed;
mod gzip;
mod origin;
mod routes;
mod streams;

pub(super) use assistants::AssistantEndpoint;
pub use assistants::{Assistants, Visit};
pub(super) use endpoint::Endpoint;
pub(super) use gzip::Gzip;
pub(super) use origin::OriginCheck;
pub(super) use routes::{probes, router};
