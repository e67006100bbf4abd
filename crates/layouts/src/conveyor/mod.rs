//! The conveyor layout: jobs as protobuf messages (`proto/conveyor.proto`) in lists, with parents, children and
//! continuations.
//!
//! [`add`] is the producer. Pools of hero consume such queues (`--pools`, key `conveyor_queues`).

mod add;
mod closer;
mod consumer;
mod error;
mod wire;

pub use add::{Context, Conveyor, add};
pub use error::{AddError, MarshalError, Step};
pub use wire::{Job, Status, Time};

#[doc(hidden)]
pub use closer::Closer;
#[doc(hidden)]
pub use consumer::{Consumer, ConsumerSettings};
pub use hero_store::ConveyorKeys;
