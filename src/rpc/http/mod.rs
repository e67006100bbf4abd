//! What HTTP needs besides JSON-RPC: who may ask, and the plain routes.

mod front;
mod origin;
mod routes;

pub(super) use front::Front;
pub(super) use origin::OriginCheck;
pub(super) use routes::{probes, router};
