use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::str::FromStr;

use reqwest::Url;

/// The hosts that an operator named for a pool, each with its ports.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hosts(Vec<Host>);

/// One host.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Host {
    name: Name,
    ports: Ports,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Name {
    /// Any name, and any public address.
    Any,
    /// This name.
    Is(String),
    /// Names that end with this, after at least one more label and a dot.
    Below(String),
    Address(IpAddr),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ports {
    /// 80 and 443.
    Web,
    Any,
    Is(u16),
}

/// The error for a text that names no host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} names no host: such are example.org (with the ports 80 and 443), example.org:8080, example.org:* (any port), *.example.org, 10.0.0.5 and [fd00::1]:80; * is any that is public"
)]
pub struct WrongHost(String);

impl Hosts {
    /// Parses hosts.
    pub fn new<'t>(texts: impl IntoIterator<Item = &'t str>) -> Result<Self, WrongHost> {
        texts.into_iter().map(str::parse).collect::<Result<_, _>>().map(Self)
    }

    /// Whether a connection to this name or address, as a URL has it, is allowed.
    pub(super) fn has(&self, host: &str, port: u16) -> bool {
        let host = plain(host);
        let address: Option<IpAddr> = host.parse().ok();
        self.0.iter().filter(|known| known.ports.has(port)).any(|known| match &known.name {
            Name::Any => address.is_none_or(is_of_others),
            Name::Is(name) => *name == host,
            Name::Below(suffix) => {
                let before = host.strip_suffix(suffix.as_str()).and_then(|before| before.strip_suffix('.'));
                address.is_none() && before.is_some_and(|before| !before.is_empty())
            }
            Name::Address(known) => address == Some(*known),
        })
    }

    /// Whether a connection to an address behind a name is allowed: it is public and not this machine's, or the
    /// operator named it.
    pub(super) fn has_address(&self, address: IpAddr, port: u16) -> bool {
        is_of_others(address) || self.0.iter().any(|known| known.name == Name::Address(address) && known.ports.has(port))
    }
}

impl Ports {
    const fn has(self, port: u16) -> bool {
        match self {
            Self::Web => port == 80 || port == 443,
            Self::Any => true,
            Self::Is(known) => known == port,
        }
    }
}

impl FromStr for Host {
    type Err = WrongHost;

    fn from_str(text: &str) -> Result<Self, WrongHost> {
        let wrong = || WrongHost(text.to_owned());
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Self { name: Name::Address(address), ports: Ports::Web });
        }
        let (name, ports) = match text.rsplit_once(':') {
            Some((name, "*")) => (name, Ports::Any),
            Some((name, port)) if !port.ends_with(']') => (name, Ports::Is(port.parse().ok().filter(|port| *port > 0).ok_or_else(wrong)?)),
            _ => (text, Ports::Web),
        };
        if name == "*" {
            return Ok(Self { name: Name::Any, ports });
        }
        let (below, name) = name.strip_prefix("*.").map_or((false, name), |name| (true, name));
        if name.is_empty() || name.contains(['*', '/', '@', '?', '#', ' ']) {
            return Err(wrong());
        }
        // Same form as in URLs of scripts: lower case, with characters outside of ASCII encoded.
        let url = Url::parse(&format!("http://{name}/")).map_err(|_| wrong())?;
        let host = plain(url.host_str().filter(|_| url.port().is_none()).ok_or_else(wrong)?).to_owned();
        let name = match (host.parse(), below) {
            (Ok(address), false) => Name::Address(address),
            (Ok(_), true) => return Err(wrong()),
            (Err(_), false) => Name::Is(host),
            (Err(_), true) => Name::Below(host),
        };
        Ok(Self { name, ports })
    }
}

/// Returns a host without the brackets of an address and without the dot at the end of a name.
pub(super) fn plain(host: &str) -> &str {
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host.strip_suffix('.').unwrap_or(host)
}

/// Whether an address is public and not one of this machine's: services on its own addresses may be private.
fn is_of_others(address: IpAddr) -> bool {
    is_public(address) && !is_own(address)
}

/// Whether this machine currently has an address: only its own can be bound. An address embedded for a translator
/// counts as the address itself.
fn is_own(address: IpAddr) -> bool {
    let own = |address: IpAddr| UdpSocket::bind((address, 0)).is_ok();
    let embedded = |at: usize, v6: Ipv6Addr| {
        let octets = v6.octets();
        own(Ipv4Addr::new(octets[at], octets[at + 1], octets[at + 2], octets[at + 3]).into())
    };
    own(address)
        || match address {
            IpAddr::V4(_) => false,
            IpAddr::V6(v6) => match v6.segments() {
                _ if v6.to_ipv4_mapped().is_some() => embedded(12, v6),
                [0x64, 0xff9b, ..] => embedded(12, v6),
                [0x2002, ..] => embedded(2, v6),
                _ => false,
            },
        }
}

/// Whether an address is on the internet, and in no private or special network.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    let is_special = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || first == 0
        || address.octets() == [168, 63, 129, 16] // A provider's service for its machines.
        || first >= 224 // Multicast, reserved, broadcast.
        || (first == 100 && (64..128).contains(&second)) // Shared by customers of a provider.
        || (first == 192 && second == 0 && third == 0) // Protocol assignments.
        || (first == 192 && second == 88 && third == 99) // Relays to IPv6.
        || (first == 198 && (second == 18 || second == 19)); // Benchmarks.
    !is_special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    let embedded = |at: usize| {
        let octets = address.octets();
        is_public_v4(Ipv4Addr::new(octets[at], octets[at + 1], octets[at + 2], octets[at + 3]))
    };
    if let Some(mapped) = address.to_ipv4_mapped() {
        return is_public_v4(mapped);
    }
    match (first, second) {
        // IPv4 addresses embedded for translators. The rest of the prefix belongs to one network.
        (0x64, 0xff9b) => address.segments()[2..6] == [0; 4] && embedded(12),
        // 6to4.
        (0x2002, _) => embedded(2),
        // Teredo, other protocol assignments, and documentation.
        (0x2001, second) if second < 0x200 || second == 0xdb8 => false,
        (0x3fff, second) if second < 0x1000 => false,
        (0x2000..=0x3fff, _) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_named_is_had_and_only_at_its_ports() {
        let hosts = Hosts::new([
            "example.com",
            "API.example.org:8080",
            "*.wild.example",
            "any.example:*",
            "10.0.0.5:81",
            "[::1]:82",
            "bücher.example",
        ])
        .unwrap();
        for (host, port) in [
            ("example.com", 80),
            ("example.com", 443),
            ("example.com.", 443),
            ("api.example.org", 8080),
            ("a.wild.example", 443),
            ("a.b.wild.example", 80),
            ("any.example", 6379),
            ("10.0.0.5", 81),
            ("[::1]", 82),
            ("xn--bcher-kva.example", 443),
        ] {
            assert!(hosts.has(host, port), "{host}:{port}");
        }
        for (host, port) in [
            ("example.com", 8080),
            ("evil-example.com", 80),
            ("example.com.evil", 80),
            ("www.example.com", 80),
            ("api.example.org", 443),
            ("wild.example", 443),
            (".wild.example", 443),
            ("evilwild.example", 443),
            ("10.0.0.5", 80),
            ("10.0.0.6", 81),
            ("::1", 80),
            ("", 80),
        ] {
            assert!(!hosts.has(host, port), "{host}:{port}");
        }
        let any = Hosts::new(["*"]).unwrap();
        assert!(
            any.has("whatever.example", 443) && any.has("8.8.8.8", 80) && !any.has("127.0.0.1", 80) && !any.has("whatever.example", 22)
        );
    }

    #[test]
    fn what_names_no_host_says_what_does() {
        for text in [
            "",
            "*.",
            "a b",
            "http://example.com",
            "example.com/x",
            "example.com:0",
            "example.com:99999",
            "ex*mple.com",
            "*.10.0.0.1",
            "a@b",
            ":80",
            "*.*",
        ] {
            assert!(text.parse::<Host>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn addresses_of_this_machine_are_its_own_however_they_are_written() {
        for own in ["127.0.0.1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"] {
            assert!(is_own(own.parse().unwrap()), "{own}");
        }
        for other in ["8.8.8.8", "2606:4700::1111", "64:ff9b::808:808"] {
            assert!(!is_own(other.parse().unwrap()) && is_of_others(other.parse().unwrap()), "{other}");
        }
    }

    #[test]
    fn private_and_special_addresses_are_not_public() {
        for address in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.169.254",
            "172.16.0.1",
            "192.0.0.1",
            "192.168.1.1",
            "168.63.129.16",
            "198.18.0.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2001::1",
            "2001:db8::1",
            "3fff::1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "100::1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
        for address in ["8.8.8.8", "100.63.0.1", "100.128.0.1", "172.32.0.1", "2606:4700::1111", "64:ff9b::808:808", "::ffff:8.8.8.8"] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
        let named = Hosts::new(["127.0.0.1:81"]).unwrap();
        assert!(named.has_address("127.0.0.1".parse().unwrap(), 81) && !named.has_address("127.0.0.1".parse().unwrap(), 82));
        // In another notation the same address is only allowed if it is named in that notation.
        assert!(!named.has_address("::ffff:127.0.0.1".parse().unwrap(), 81));
    }
}
