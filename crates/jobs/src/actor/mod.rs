//! Pools of actors: they claim jobs, run them in engines, and record their ends.
//!
//! A [`Pool`] has the actors of one script type and group in this process. Its fetcher talks to Redis, one fetch at a
//! time; an actor talks to its engine process. This module does not know that a server exists.

mod actor_set;
mod error;
mod fetcher;
mod handle;
mod host;
mod job_log;
mod lease;
mod mask;
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
mod store_retry;
mod worker;

pub use error::Error;
pub use mask::Mask;
pub use pool::Pool;
pub use rights::script_right;
pub use script_checker::ScriptChecker;
pub use settings::{Instances, PoolSettings};
pub use status::PoolStatus;
