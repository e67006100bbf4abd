//! One transition is one `.lua` and its only caller beside it.
//!
//! What a script uses of `keys.lua`, `dialects.lua`, `shared.lua`, `relations.lua`, `admit.lua`, `foreign.lua` and `conveyor.lua` stands before it; ARGV 1 to 8 are the same for all.

mod adopt;
mod by_status;
mod calm;
mod close_conveyor;
mod control;
mod create;
mod delete;
mod displaced;
mod evict;
mod find;
mod forget;
mod held;
mod hold;
mod import_conveyor;
mod leave;
mod lines;
mod look_conveyor;
mod note;
mod notice;
mod pass;
mod present;
mod promote;
mod promote_conveyor;
mod prune;
mod reap;
mod recover;
mod release;
mod renew;
mod retry;
mod schedule;
mod start;
mod stop;
mod summary;
mod sweep_conveyor;
mod turn;
mod unschedule;
mod wait;

pub(super) use by_status::{OfStatus, Since};
pub use close_conveyor::{Close, Closed};
pub(super) use create::create_batch;
pub use create::{Created, NewJob, NotFired};
pub use delete::Deleted;
pub use evict::Evicted;
pub use import_conveyor::{Import, Imported};
pub use lines::LogLines;
pub use look_conveyor::ConveyorEnd;
pub use notice::Walked;
pub use pass::Firing;
pub use promote::Promoted;
pub use promote_conveyor::Due;
pub use prune::Pruning;
pub use recover::Recovered;
pub use retry::Retried;
pub use schedule::Scheduling;
pub use start::Started;
pub(super) use start::start_batch;
pub use stop::Stopping;
pub use turn::{Claimed, Ended, Outcome, Slot, Turn, Turned};
pub(super) use wait::READERS;

use super::error::Error;

/// Stands for the length of a queue whose key is no list, because somebody else wrote there.
pub const NO_LIST: u64 = u64::MAX;

/// What a script answered that its caller does not know.
fn unexpected(script: &'static str, reply: &impl std::fmt::Debug) -> Error {
    Error::Reply { script, reply: format!("{reply:?}") }
}
