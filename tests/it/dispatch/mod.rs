//! The life of jobs: relations, schedules, contexts, and a Redis without memory; and of objects.

mod contexts;
mod objects;
mod pressure;
mod relations;
mod schedules;
mod walks;
