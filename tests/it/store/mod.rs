//! The scripts, asked one by one.

mod keys;
mod relations;
mod state;
