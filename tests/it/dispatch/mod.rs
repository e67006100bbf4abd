//! What becomes of jobs: relations, schedules, contexts, and a Redis without memory.

mod contexts;
mod pressure;
mod relations;
mod schedules;
