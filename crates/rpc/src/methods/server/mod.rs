//! The server itself.

mod drain;
mod info;
mod ping;

pub use drain::DrainServer;
pub use info::ServerInfo;
pub use ping::Ping;
