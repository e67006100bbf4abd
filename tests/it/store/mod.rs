//! The scripts, asked one by one.

mod keys;
mod queues;
mod relations;
mod spoilt;
mod state;
