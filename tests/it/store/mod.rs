//! The scripts, asked one by one.

mod counters;
mod halfway;
mod index;
mod keys;
mod queues;
mod relations;
mod spoilt;
mod state;
mod time;
