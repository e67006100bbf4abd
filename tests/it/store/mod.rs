//! The scripts, asked one by one.

mod counters;
mod keys;
mod queues;
mod relations;
mod spoilt;
mod state;
