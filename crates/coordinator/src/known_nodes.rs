use std::sync::Arc;

use super::Error;
use super::routes::Node;
use hero_model::{Address, AddressTarget, Name};

/// The nodes that messages and the jobs of runners can reach, by the settings of a server. Cheap to clone.
#[derive(Debug, Clone)]
pub struct KnownNodes {
    /// The nodes whose Redis is configured.
    nodes: Arc<[Name]>,
    has_mycelium: bool,
}

impl KnownNodes {
    /// Returns those of a server with these nodes in its settings, and with a Mycelium node or without.
    pub fn new(nodes: &[Node], has_mycelium: bool) -> Self {
        Self { nodes: nodes.iter().filter(|node| node.redis.is_some()).map(|node| node.name.clone()).collect(), has_mycelium }
    }

    /// Checks whether an address leads somewhere, as far as this server knows.
    pub(super) fn check(&self, address: &Address) -> Result<(), Error> {
        let message = match address.target() {
            AddressTarget::Node(name) if !self.nodes.contains(&name) => {
                let named = self.nodes.iter().map(Name::as_str).collect::<Vec<_>>().join(", ");
                let named = if named.is_empty() { "nobody" } else { &named };
                format!("node {name} is unknown here; the setting node_redis (NAME=URL) names {named}")
            }
            AddressTarget::MyceliumIp(_) | AddressTarget::MyceliumKey(_) if !self.has_mycelium => {
                "is that of a node of Mycelium, and this server has none (setting mycelium_url)".to_owned()
            }
            _ => return Ok(()),
        };
        Err(Error::Invalid { param: "address", message })
    }
}
