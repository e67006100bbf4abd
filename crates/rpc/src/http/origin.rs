use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::uri::Authority;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};

use super::gzip::vary;
use crate::session::auth::Session;
use crate::session::server_address::ServerAddress;

/// The ports that URLs may leave out.
const USUAL: [u16; 2] = [80, 443];

/// Decides which web pages may use the server, and under which names clients may reach it.
///
/// Browsers send the `Origin` of a page, so pages that are not allowed are refused by it. Other programs send none and are allowed.
/// A page whose name was made to resolve to the server's address (DNS rebinding) is recognised by its `Host`.
#[derive(Debug, Clone, Default)]
pub(crate) struct OriginCheck {
    origins: Vec<String>,
    hosts: Vec<String>,
}

impl OriginCheck {
    /// Allows `origins` and `hosts` besides loopback; `*` allows all.
    pub(crate) fn new(origins: &[String], hosts: &[String]) -> Self {
        let lower = |names: &[String]| names.iter().map(|name| name.trim_end_matches('/').to_ascii_lowercase()).collect();
        Self { origins: lower(origins), hosts: lower(hosts) }
    }

    fn allows_origin(&self, origin: &str) -> bool {
        let origin = origin.to_ascii_lowercase();
        if self.origins.iter().any(|known| known == "*" || *known == origin) {
            return origin != "null"; // Sandboxed frames and local files send that, so it identifies no page.
        }
        let Ok(uri) = origin.parse::<Uri>() else { return false };
        matches!(uri.scheme_str(), Some("http" | "https")) && uri.authority().is_some_and(|authority| is_loopback(authority.host()))
    }

    /// Whether this `Host` is allowed. `local` is the address of this machine that the connection reached.
    fn allows_host(&self, host: &str, local: Option<IpAddr>) -> bool {
        let Ok(authority) = host.parse::<Authority>() else { return false };
        let name = authority.host().to_ascii_lowercase();
        is_loopback(&name)
            || literal(&name).is_some_and(|address| Some(address.to_canonical()) == local.map(|local| local.to_canonical()))
            || ["*", &name, &authority.as_str().to_ascii_lowercase()].into_iter().any(|host| self.names(host))
    }

    /// Whether this `Host` can only be the server itself: another program may listen on another port of this machine, and on any other
    /// machine `localhost` is that machine. `local` is the address that the connection reached; port 0 is the socket of the operator.
    fn knows_host(&self, host: &str, local: SocketAddr) -> bool {
        let Ok(authority) = host.parse::<Authority>() else { return false };
        let (name, address) = (authority.host().to_ascii_lowercase(), local.ip().to_canonical());
        let is_here = match authority.port_u16() {
            Some(port) => port == local.port(),
            None => USUAL.contains(&local.port()),
        };
        // A proxy listens there, if the operator names the server so.
        let is_usual = authority.port_u16().is_none_or(|port| USUAL.contains(&port));
        if self.names(&name) && (is_here || is_usual) || authority.port().is_some() && self.names(&authority.as_str().to_ascii_lowercase())
        {
            return true;
        }
        match literal(&name) {
            Some(literal) if literal.to_canonical() == address => is_here || local.port() == 0,
            _ => is_loopback(&name) && address.is_loopback() && (is_here || local.port() == 0),
        }
    }

    /// Whether the operator allowed this host by name.
    fn names(&self, host: &str) -> bool {
        self.hosts.iter().any(|known| known == host)
    }

    /// Returns the address of the server in a request.
    fn address(&self, request: &Request, session: &Session) -> Option<ServerAddress> {
        let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
        let is_own = host.is_some_and(|host| self.knows_host(host, session.local()));
        ServerAddress::of(request.headers()).map(|address| address.known(session.is_tls(), is_own))
    }

    fn check(&self, request: &Request) -> Result<Option<HeaderValue>, &'static str> {
        let local = request.extensions().get::<Arc<Session>>().map(|session| session.local().ip());
        let usual = if request.extensions().get::<Arc<Session>>().is_some_and(|session| session.is_tls()) { 443 } else { 80 };
        let named = request.uri().authority().map(Authority::as_str);
        let host = match single(request.headers(), &header::HOST)? {
            Some(host) => Some(host.to_str().map_err(|_| "This Host is not readable.\n")?),
            None => named,
        };
        if let (Some(host), Some(target)) = (host, request.uri().authority())
            && !is_same_authority(host, target, usual)
        {
            return Err("The address in the request line is another than its Host.\n");
        }
        if !host.is_none_or(|host| self.allows_host(host, local)) {
            return Err("This Host is not allowed; add its name to the allowed hosts of the server.\n");
        }
        let Some(origin) = single(request.headers(), &header::ORIGIN)? else { return Ok(None) };
        if !origin.to_str().is_ok_and(|origin| self.allows_origin(origin)) {
            return Err("This Origin is not allowed; add it to the allowed origins of the server.\n");
        }
        Ok(Some(origin.clone()))
    }
}

/// Whether a `Host` is the authority of a request line with a whole URL. A missing port means the usual one.
fn is_same_authority(host: &str, target: &Authority, usual: u16) -> bool {
    let port = |authority: &Authority| authority.port_u16().unwrap_or(usual);
    let same = |host: Authority| host.host().eq_ignore_ascii_case(target.host()) && port(&host) == port(target);
    host.parse::<Authority>().is_ok_and(same)
}

/// Returns the value of a header that must not occur twice.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a HeaderValue>, &'static str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (value, None) => Ok(value),
        (_, Some(_)) => Err("Host and Origin may be given once.\n"),
    }
}

fn literal(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || literal(host).is_some_and(|address| address.to_canonical().is_loopback())
}

/// Answers 403 before anything is upgraded or called, and adds the CORS headers for allowed pages.
pub(super) async fn check_origin(State(allowed): State<Arc<OriginCheck>>, request: Request, next: Next) -> Response {
    let origin = match allowed.check(&request) {
        Ok(origin) => origin,
        Err(reason) => return (StatusCode::FORBIDDEN, reason).into_response(),
    };
    if let Some(session) = request.extensions().get::<Arc<Session>>() {
        session.set_server_address(allowed.address(&request, session));
    }
    let Some(origin) = origin else {
        let mut response = next.run(request).await;
        vary(response.headers_mut(), "origin");
        return response;
    };
    let is_preflight = request.method() == Method::OPTIONS && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let mut response = if is_preflight { preflight(request.headers()) } else { next.run(request).await };
    response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    vary(response.headers_mut(), "origin");
    response.headers_mut().append(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("mcp-session-id"));
    response
}

/// Some browsers send this for a page on the Internet that requests this machine or network.
const ASKS_FOR_PRIVATE_NETWORK: HeaderName = HeaderName::from_static("access-control-request-private-network");
const PRIVATE_NETWORK: HeaderName = HeaderName::from_static("access-control-allow-private-network");

fn preflight(asked: &HeaderMap) -> Response {
    let headers = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST"),
        (
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            "content-type, authorization, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id",
        ),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
    ];
    let mut response = (StatusCode::NO_CONTENT, headers).into_response();
    if asked.contains_key(ASKS_FOR_PRIVATE_NETWORK) {
        response.headers_mut().insert(PRIVATE_NETWORK, HeaderValue::from_static("true"));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_pages_and_listed_ones_pass() {
        let check = OriginCheck::new(&["https://app.example".into()], &[]);
        for good in [
            "http://localhost",
            "http://localhost:3000",
            "https://127.0.0.1:8",
            "http://[::1]:9",
            "https://app.example",
            "HTTPS://APP.example",
        ] {
            assert!(check.allows_origin(good), "{good}");
        }
        for bad in
            ["null", "https://evil.example", "http://localhost.evil.example", "file://", "", "https://app.example:444", "ftp://localhost"]
        {
            assert!(!check.allows_origin(bad), "{bad}");
        }
        assert!(OriginCheck::new(&["*".into()], &[]).allows_origin("https://evil.example"));
        assert!(!OriginCheck::new(&["*".into()], &[]).allows_origin("null"));
    }

    #[test]
    fn a_rebound_name_does_not_pass() {
        let check = OriginCheck::new(&[], &["hero.example".into()]);
        let local = Some(IpAddr::from([192, 0, 2, 7]));
        for good in ["localhost:8700", "127.0.0.1:8700", "[::1]:1", "127.8.8.8", "192.0.2.7:8700", "hero.example:1", "HERO.example"] {
            assert!(check.allows_host(good, local), "{good}");
        }
        for bad in ["evil.example", "evil.example:8700", "192.0.2.8", "localhost.evil.example", "", "a b"] {
            assert!(!check.allows_host(bad, local), "{bad}");
        }
    }

    #[test]
    fn where_all_names_are_allowed_only_named_ones_are_known() {
        let check = OriginCheck::new(&[], &["*".into(), "hero.example".into()]);
        let local = SocketAddr::from(([127, 0, 0, 1], 8700));
        assert!(check.allows_host("evil.example", None) && !check.knows_host("evil.example", local) && !check.allows_host("a b", None));
        assert!(check.knows_host("hero.example:8700", local) && check.knows_host("localhost:8700", local));
    }

    #[test]
    fn a_host_is_the_servers_own_where_nobody_else_can_be_reached_by_it() {
        let check = OriginCheck::new(&[], &["hero.example".into(), "hero.example:9443".into()]);
        let (here, outside) = (SocketAddr::from(([127, 0, 0, 1], 8700)), SocketAddr::from(([192, 0, 2, 7], 8700)));
        for (local, own, others) in [
            (
                here,
                &["localhost:8700", "127.0.0.1:8700", "[::1]:8700", "LOCALHOST:8700"][..],
                &["localhost", "localhost:9999", "127.0.0.1"][..],
            ),
            (outside, &["192.0.2.7:8700"], &["localhost:8700", "127.0.0.1:8700", "192.0.2.7:9999", "192.0.2.7", "192.0.2.8:8700"]),
        ] {
            let listed = ["hero.example:8700", "hero.example", "HERO.example:443", "hero.example:9443"];
            assert!(own.iter().chain(&listed).all(|host| check.knows_host(host, local)), "{own:?}");
            for other in others.iter().chain(&["hero.example:9999", "evil.example:8700", "", "a b"]) {
                assert!(!check.knows_host(other, local), "{other} at {local}");
            }
        }
        assert!(check.knows_host("localhost", SocketAddr::from(([127, 0, 0, 1], 0))), "the socket of the operator");
        assert!(check.knows_host("localhost", SocketAddr::from(([127, 0, 0, 1], 443))));
    }
}
