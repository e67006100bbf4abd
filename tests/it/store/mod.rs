//! The scripts, asked one by one.

mod counters;
mod halfway;
mod index;
mod keys;
mod library;
mod lists;
mod queues;
mod relations;
mod sharing;
mod silence;
mod spoilt;
mod state;
mod time;
