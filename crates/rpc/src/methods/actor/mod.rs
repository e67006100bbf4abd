//! Actors.

mod list;

pub use list::ListActors;
