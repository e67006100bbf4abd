#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

pub mod actor;
pub mod dispatch;
#[doc(hidden)]
pub mod log_file;

pub use dispatch::Dispatcher;
