#![doc = include_str!("../README.md")]
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
pub use verify::{Report, Violation, verify};
