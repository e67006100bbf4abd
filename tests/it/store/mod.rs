//! The scripts, asked one by one.

mod keys;
mod state;
