use std::borrow::Cow;
use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::id::text_id;
use super::{Name, SignerKey, excerpt};

/// The longest address, in bytes.
const MAX_ADDRESS_BYTES: usize = 256;

/// The address to which messages are sent: a Redis, a node of Mycelium, a node that the settings name, or a context of
/// this server.
///
/// It is kept as written, and readers see it, so it must not contain credentials. An address that needs them is named
/// in the settings.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address(Arc<str>);

/// The target of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddressTarget<'a> {
    /// Another context of this server.
    Here,
    /// A node of this name, whose address is in the settings.
    Node(Name),
    /// A Redis at this URL.
    Redis(&'a str),
    /// A node, named by its key, that fetches its messages from the Redis of this context.
    Box(SignerKey),
    /// A node of Mycelium, by its address in the overlay network.
    MyceliumIp(Ipv6Addr),
    /// A node of Mycelium, by its public key: 64 hexadecimal digits.
    MyceliumKey(&'a str),
}

/// The error for a text that is not an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAddress {
    /// It has none of the forms.
    #[error(
        "{0:?} is no address: here, node:NAME (as the settings have it), redis://HOST:PORT, rediss://…, unix:///PATH, box:KEY (a node that fetches), or the IPv6 address or public key of a Mycelium node"
    )]
    Form(String),
    /// It has a user or a password in it.
    #[error(
        "an address has no user or password in it, because readers see it; name the node in the settings (node_redis) and write node:NAME"
    )]
    Credentials,
}

impl Address {
    /// The address as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the target of the address.
    pub fn target(&self) -> AddressTarget<'_> {
        target(&self.0).unwrap_or(AddressTarget::Here)
    }
}

fn target(text: &str) -> Result<AddressTarget<'_>, InvalidAddress> {
    let form = || InvalidAddress::Form(excerpt(text, 64).into_owned());
    if text.len() > MAX_ADDRESS_BYTES || text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err(form());
    }
    if text == "here" {
        return Ok(AddressTarget::Here);
    }
    if let Some(name) = text.strip_prefix("node:") {
        return name.parse().map(AddressTarget::Node).map_err(|_| form());
    }
    if let Some(key) = text.strip_prefix("box:") {
        return key.parse().map(AddressTarget::Box).map_err(|_| form());
    }
    if let Some((scheme, rest)) = text.split_once("://") {
        let is_redis = matches!(scheme, "redis" | "rediss" | "unix" | "redis+unix");
        if !is_redis || rest.is_empty() {
            return Err(form());
        }
        if rest.contains('@') || rest.contains("pass=") || rest.contains("user=") {
            return Err(InvalidAddress::Credentials);
        }
        return Ok(AddressTarget::Redis(text));
    }
    let mycelium = text.strip_prefix("mycelium:").unwrap_or(text);
    if mycelium.len() == 64 && mycelium.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(AddressTarget::MyceliumKey(mycelium));
    }
    mycelium.parse().map(AddressTarget::MyceliumIp).map_err(|_| form())
}

impl FromStr for Address {
    type Err = InvalidAddress;

    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        target(text).map(|_| Self(text.into()))
    }
}

text_id!(Address, { "type": "string", "minLength": 1, "maxLength": MAX_ADDRESS_BYTES });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_leads_to_one_of_six_places() {
        let target = |text: &str| format!("{:?}", text.parse::<Address>().map(|address| format!("{:?}", address.target())));
        for (text, expected) in [
            ("here", "Here"),
            ("node:berlin", "Node(berlin)"),
            ("redis://10.0.0.7:6379/2", "Redis(\\\"redis://10.0.0.7:6379/2\\\")"),
            ("unix:///run/redis.sock", "Redis(\\\"unix:///run/redis.sock\\\")"),
            ("4a2:12::1", "MyceliumIp(4a2:12::1)"),
            ("mycelium:4a2:12::1", "MyceliumIp(4a2:12::1)"),
        ] {
            assert_eq!(target(text), format!("Ok(\"{expected}\")"), "{text}");
        }
        assert!(target(&"ab".repeat(32)).contains("MyceliumKey"));
        for bad in ["", "berlin", "node:", "http://x", "redis://", "10.0.0.7", "node:a b", &format!("redis://{}", "x".repeat(300))] {
            assert!(matches!(bad.parse::<Address>(), Err(InvalidAddress::Form(_))), "{bad}");
        }
        for secret in ["redis://:secret@host", "redis://user:secret@host:1", "unix:///x?pass=secret"] {
            let error = secret.parse::<Address>().unwrap_err();
            assert!(error == InvalidAddress::Credentials && !error.to_string().contains("secret"));
        }
    }
}
