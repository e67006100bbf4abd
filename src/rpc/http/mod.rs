//! What HTTP needs besides JSON-RPC: who may ask, and the plain routes.

mod front;
mod guard;
mod routes;

pub(super) use front::Front;
pub(super) use guard::Guard;
pub(super) use routes::{probes, router};
