//! What HTTP needs besides JSON-RPC: who may ask, the plain routes, and what jsonrpsee's types get wrong in bodies.

mod front;
mod guard;
mod inspect;
mod routes;

pub(super) use front::Front;
pub(super) use guard::Guard;
pub(super) use routes::{probes, router};
