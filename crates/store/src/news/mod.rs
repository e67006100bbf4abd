//! What happened, told to those who follow or wait.

pub(crate) mod alarm;
pub(crate) mod events;
pub(crate) mod inbox;
pub(crate) mod pool_handles;
pub(crate) mod subscriber;
pub(crate) mod wake_up;
