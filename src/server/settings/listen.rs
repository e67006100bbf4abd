use std::net::{SocketAddr, ToSocketAddrs as _};
use std::str::FromStr;

/// The addresses to listen on: one address, or every address of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listen {
    /// At least one address. Those of IPv4 come first, because messages show the first one.
    pub addresses: Vec<SocketAddr>,
    /// The name, if one was given.
    pub name: Option<String>,
}

impl Listen {
    /// Returns the first address that other machines can reach.
    pub fn public(&self) -> Option<SocketAddr> {
        self.addresses.iter().copied().find(|address| !address.ip().to_canonical().is_loopback())
    }
}

/// Parses `127.0.0.1:8700`, `[::1]:8700` or `localhost:8700`; a name is resolved.
impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(address) = text.parse() {
            return Ok(Self { addresses: vec![address], name: None });
        }
        let bad = || "that is not an address and a port, such as 127.0.0.1:8700, [::1]:8700 or localhost:8700".to_owned();
        let (name, port) = text.rsplit_once(':').ok_or_else(bad)?;
        let port: u16 = port.parse().map_err(|_| bad())?;
        let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'));
        if !is_name(name) {
            return Err(bad());
        }
        let found = (name, port).to_socket_addrs().map_err(|error| format!("the name {name} cannot be looked up: {error}"))?;
        let mut addresses: Vec<SocketAddr> = Vec::new();
        for address in found {
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        addresses.sort_by_key(SocketAddr::is_ipv6);
        if addresses.is_empty() {
            return Err(format!("the name {name} has no address"));
        }
        Ok(Self { addresses, name: Some(name.to_ascii_lowercase()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_names_are_read() {
        let listen: Listen = "[::1]:80".parse().unwrap();
        assert_eq!((listen.addresses, listen.name), (vec!["[::1]:80".parse().unwrap()], None));
        let local: Listen = "LocalHost:8700".parse().unwrap();
        assert!(local.addresses.iter().all(|address| address.ip().is_loopback() && address.port() == 8700), "{local:?}");
        assert_eq!((local.public(), local.name.as_deref()), (None, Some("localhost")));
        assert_eq!("0.0.0.0:1".parse::<Listen>().unwrap().public(), Some(([0, 0, 0, 0], 1).into()));
        for bad in
            ["", "8700", ":8700", "*:8700", "localhost", "localhost:", "localhost:http", "localhost:70000", "http://localhost:1", "::1:80"]
        {
            assert!(bad.parse::<Listen>().is_err(), "{bad}");
        }
    }
}
