use http::uri::Authority;
use http::{HeaderMap, HeaderValue, header};

/// The address under which a client reached the server: the `Host` that it sent, and whether a proxy in front speaks TLS
/// with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerAddress {
    host: HeaderValue,
    tls: bool,
    /// Whether the server knows the host as its own.
    is_own: bool,
}

impl ServerAddress {
    /// Returns the address in the head of a request, if there is one.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let tls = headers.get("x-forwarded-proto").is_some_and(|scheme| scheme.as_bytes().eq_ignore_ascii_case(b"https"));
        Some(Self { host: headers.get(header::HOST)?.clone(), tls, is_own: false })
    }

    /// Adds whether the server itself speaks TLS, and whether it knows that host as its own.
    pub(crate) fn known(self, tls: bool, is_own: bool) -> Self {
        Self { tls: tls || self.tls, is_own, ..self }
    }

    /// Returns the host, and the port if it is named, in lower case, if the server knows them as its own.
    pub(crate) fn own_host(&self) -> Option<String> {
        self.host().filter(|_| self.is_own).map(|host| host.to_ascii_lowercase())
    }

    fn host(&self) -> Option<String> {
        let authority: Authority = self.host.to_str().ok()?.parse().ok()?;
        // A user name before the host is left out.
        authority.as_str().rsplit('@').next().map(str::to_owned)
    }

    /// Returns the URLs of HTTP and of WebSockets.
    pub(crate) fn urls(&self) -> Option<[String; 2]> {
        let host = self.host()?;
        let secure = if self.tls { "s" } else { "" };
        Some(["http", "ws"].map(|scheme| format!("{scheme}{secure}://{host}/")))
    }
}
