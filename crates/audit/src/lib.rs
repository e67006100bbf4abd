//! The audit log: who did what, and how it ended. One record a line, chained by a keyed hash, in files that only grow.
//!
//! [`Audit`] takes records from any thread and never waits for the disk: one thread writes them, in the order in which they came. [`verify()`] says whether a record was
//! removed, changed or put elsewhere, [`read`] shows what is there. What the chain proves is in `docs/audit.md`: nobody without the key can change what is
//! written so that it does not show. Who has the key can, unless the end of the chain was noted elsewhere.
#![deny(unsafe_code)]

mod chain;
mod entry;
mod error;
mod files;
mod handle;
mod head;
mod journal;
mod key;
mod last;
pub mod read;
mod record;
mod repeats;
mod settings;
mod state;
mod verify;
mod writer;

pub use entry::Entry;
pub use error::Error;
pub use handle::{Audit, Closed, Doing};
pub use key::{AuditKey, InvalidAuditKey};
pub use record::{Execution, Outcome, Record, Who};
pub use settings::Settings;
pub use verify::{Fault, Report, verify};
