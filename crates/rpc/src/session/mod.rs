//! Who calls, what he may do, and the record of it.

pub(crate) mod access;
pub(crate) mod act;
pub(crate) mod auth;
pub(crate) mod guard;
pub(crate) mod logins;
pub(crate) mod server_address;
