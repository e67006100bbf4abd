//! Messages between contexts and nodes.

mod acknowledge;
mod delete;
mod get;
mod list;
mod ping_node;
mod send;

pub use acknowledge::AcknowledgeMessage;
pub use delete::DeleteMessage;
pub use get::GetMessage;
pub use list::ListMessages;
pub use ping_node::PingNode;
pub use send::SendMessage;

use crate::error::Code;

/// The errors of methods that read messages.
const ERRORS: &[Code] = &[Code::TooLarge, Code::StoreUnavailable, Code::NotFound];
