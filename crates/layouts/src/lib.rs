#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

pub mod conveyor;
pub mod rhailib;
