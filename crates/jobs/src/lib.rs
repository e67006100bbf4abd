//! Jobs: what creates, starts, waits for and stops them ([`dispatch`]), the pools that run them ([`actor`]), and the files that their logs go to
//! ([`log_file`]).
//!
//! [`Dispatcher`] is the way in for whoever makes jobs, [`actor`]'s pools that for whoever runs them. Neither knows that a server exists.
#![deny(unsafe_code)]

pub mod actor;
pub mod dispatch;
#[doc(hidden)]
pub mod log_file;

pub use dispatch::Dispatcher;
