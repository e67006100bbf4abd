//! Pools of actors: they claim jobs, have them run by engines, and record how they ended.
//!
//! A [`Pool`] is the actors of one script type and group in this process. Its fetcher talks to Redis, one fetch at a time; an
//! actor talks to its engine process. Nothing here knows of a server.

mod actor_set;
mod error;
mod fetcher;
mod handle;
mod host;
mod job_log;
mod lease;
mod mask;
mod patience;
mod pool;
mod prefetch;
mod presence;
mod previous_servers;
mod progress;
mod queue_watcher;
mod reconcile;
mod rights;
mod script_checker;
mod settings;
mod spawn;
mod status;
mod stop_requests;
mod worker;

pub use error::Error;
pub use mask::Mask;
pub use pool::Pool;
pub use rights::script_right;
pub use script_checker::ScriptChecker;
pub use settings::{Instances, PoolSettings};
pub use status::PoolStatus;
