//! The conveyor dialect: jobs as protobuf messages (`proto/conveyor.proto`) in lists, with parents, children and heirs.
//!
//! [`add`] is the producer. [`Intake`] takes jobs out of such queues for our pools, [`Keeper`] closes them once they have ended.

mod add;
mod error;
mod intake;
mod keeper;
mod wire;

pub use add::{Context, Conveyor, add};
pub use error::{AddError, MarshalError, Step};
pub use intake::{Intake, IntakeSettings};
pub use keeper::Keeper;
pub use wire::{Job, Status, Time};
