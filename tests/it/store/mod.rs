//! The functions, asked one by one.

mod cluster;
mod counters;
mod halfway;
mod index;
mod keys;
mod library;
mod lists;
mod memory;
mod notes;
mod queues;
mod relations;
mod sharing;
mod silence;
mod spoilt;
mod state;
mod time;
