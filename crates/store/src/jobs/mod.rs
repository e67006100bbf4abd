//! The hash of a job, and lists of jobs.

pub(crate) mod attempts;
pub(crate) mod claimed;
pub(crate) mod codec;
pub(crate) mod direct_start;
pub(crate) mod ended;
pub(crate) mod filter;
pub(crate) mod filter_cache;
pub(crate) mod job;
pub(crate) mod list;
pub(crate) mod log;
pub(crate) mod of_status;
pub(crate) mod outputs;
pub(crate) mod speculation;
pub(crate) mod speculative_run;
