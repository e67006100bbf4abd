//! The actors that live, and what dead ones leave.

pub(crate) mod presence;
pub(crate) mod survey;
