use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, Response, StatusCode, Url};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::hosts::{Hosts, plain};
use hero_engine::{Answer, LARGEST_TEXT, NetCall, size};
use hero_model::{Json, excerpt};

/// Timeout for a request, including its redirects.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// Timeout for connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum number of redirects.
const MOST_REDIRECTS: usize = 5;
/// The maximum length of a URL, in bytes.
const LONGEST_URL: usize = 8 << 10;
/// The maximum number of headers that a script may set.
const MOST_HEADERS: usize = 64;
/// The maximum number of concurrent name lookups. The system uses threads for them that cannot be ended.
const MAX_CONCURRENT_LOOKUPS: usize = 32;
/// Headers that scripts may not set: they name the host, or delimit the request.
const OURS: [&str; 7] = ["host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer"];

/// The network, limited to the hosts that an operator named.
#[derive(Debug, Clone)]
pub struct Net {
    hosts: Arc<Hosts>,
    tls: Arc<rustls::ClientConfig>,
    lookups: Arc<Semaphore>,
}

/// A request of a script.
struct Request {
    method: Method,
    url: Url,
    headers: HeaderMap,
    body: Option<String>,
}

impl Net {
    /// Uses these hosts. Servers are verified with the certificate authorities of the system, which are read now.
    pub fn new(hosts: Hosts) -> Result<Self, String> {
        let mut roots = rustls::RootCertStore::empty();
        // An unreadable certificate is not trusted.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let config = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
        let config = config.with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
        let tls = Arc::new(config.with_root_certificates(roots).with_no_client_auth());
        Ok(Self { hosts: Arc::new(hosts), tls, lookups: Arc::new(Semaphore::new(MAX_CONCURRENT_LOOKUPS)) })
    }

    pub(super) async fn answer(&self, call: NetCall) -> Answer {
        let get = |url: &str, headers: &BTreeMap<String, String>| {
            Ok::<_, String>(Request { method: Method::GET, url: parsed(url)?, headers: given(headers)?, body: None })
        };
        let none = BTreeMap::new();
        match call {
            NetCall::TcpCheck { host, port } => Ok(self.is_open(&host, port, CONNECT_TIMEOUT).await?.into()),
            NetCall::HttpStatus { url } => {
                let status = self.send(get(&url, &none)?).await?.status();
                Ok(serde_json::Value::from(status.as_u16()).into())
            }
            NetCall::HttpCheck { url } => {
                let request = get(&url, &none)?;
                let answered = async {
                    // A host that is not allowed is an error.
                    self.addresses(&request.url).await?;
                    Ok(self.follow(request).await.is_ok_and(|response| response.status().as_u16() < 400))
                };
                timeout(REQUEST_TIMEOUT, answered).await.unwrap_or(Ok(false)).map(Json::from)
            }
            NetCall::HttpGet { url, headers } => Ok(self.text(get(&url, &headers)?).await?.as_str().into()),
            NetCall::HttpPost { url, body, headers } => {
                let mut request = Request { method: Method::POST, url: parsed(&url)?, headers: given(&headers)?, body: Some(body) };
                request.headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("text/plain; charset=utf-8"));
                Ok(self.text(request).await?.as_str().into())
            }
        }
    }

    /// Whether a server accepts connections within a time that includes the name lookup.
    async fn is_open(&self, host: &str, port: u16, within: Duration) -> Result<bool, String> {
        let shown = excerpt(host, 100);
        let bracketed = if host.parse::<std::net::Ipv6Addr>().is_ok() { format!("[{host}]") } else { host.to_owned() };
        let url = format!("http://{bracketed}:{port}/").parse::<Url>().ok();
        let named = url.filter(|url| url.path() == "/" && url.query().is_none() && url.fragment().is_none() && url.username().is_empty());
        let url = named.ok_or_else(|| format!("{shown:?} is not the name of a host"))?;
        let connected = async {
            for address in self.addresses(&url).await? {
                if TcpStream::connect(address).await.is_ok() {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        timeout(within, connected).await.unwrap_or(Ok(false))
    }

    /// Returns the text of a response.
    async fn text(&self, request: Request) -> Result<String, String> {
        let shown = excerpt(request.url.as_str(), 200).into_owned();
        let read = async {
            let mut response = self.follow(request).await?;
            let status = response.status();
            if status.as_u16() >= 400 {
                return Err(format!("{shown} answers {status}"));
            }
            let mut bytes = Vec::new();
            while let Some(piece) = response.chunk().await.map_err(|error| unreachable(&shown, error))? {
                if bytes.len() + piece.len() > LARGEST_TEXT {
                    return Err(format!("{shown} answers with more than {}", size(LARGEST_TEXT)));
                }
                bytes.extend_from_slice(&piece);
            }
            String::from_utf8(bytes).map_err(|_| format!("{shown} answers with something that is no text (UTF-8)"))
        };
        timeout(REQUEST_TIMEOUT, read).await.unwrap_or_else(|_| Err(late(&shown)))
    }

    /// Sends a request and returns the response without its text.
    async fn send(&self, request: Request) -> Result<Response, String> {
        let shown = excerpt(request.url.as_str(), 200).into_owned();
        timeout(REQUEST_TIMEOUT, self.follow(request)).await.unwrap_or_else(|_| Err(late(&shown)))
    }

    /// Sends a request and follows redirects. For each it checks whether the URL is allowed, and looks up its name
    /// again.
    async fn follow(&self, mut request: Request) -> Result<Response, String> {
        let from = excerpt(request.url.as_str(), 200).into_owned();
        for redirects in 0.. {
            let told = |why: String| if redirects == 0 { why } else { format!("{from} redirects: {why}") };
            let addresses = self.addresses(&request.url).await.map_err(told)?;
            let client = Client::builder()
                .no_proxy()
                .redirect(Policy::none())
                .referer(false)
                .connect_timeout(CONNECT_TIMEOUT)
                .user_agent(concat!("hero/", env!("CARGO_PKG_VERSION")))
                .tls_backend_preconfigured((*self.tls).clone())
                // So the client does not look the name up again.
                .resolve_to_addrs(request.url.host_str().unwrap_or_default(), &addresses)
                .build()
                .map_err(|error| format!("no request can be made: {error}"))?;
            let mut sent = client.request(request.method.clone(), request.url.clone()).headers(request.headers.clone());
            if let Some(body) = &request.body {
                sent = sent.body(body.clone());
            }
            let response = sent.send().await.map_err(|error| unreachable(&from, error))?;
            let Some(next) = redirected(&request.url, &response) else { return Ok(response) };
            if redirects == MOST_REDIRECTS {
                return Err(format!("{from} redirects more than {MOST_REDIRECTS} times"));
            }
            request = request.redirected(next?, response.status());
        }
        Err(late(&from))
    }

    /// Returns the addresses of a URL, if it is allowed.
    async fn addresses(&self, url: &Url) -> Result<Vec<SocketAddr>, String> {
        let (host, port) = url.host_str().zip(url.port_or_known_default()).ok_or("that URL names no host")?;
        let host = plain(host).to_owned();
        let shown = format!("{}:{port}", excerpt(&host, 100));
        if !self.hosts.has(&host, port) {
            return Err(format!("{shown} is not among the hosts that the operator named for this pool (hosts)"));
        }
        if let Ok(address) = host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(address, port)]);
        }
        let permit = self.lookups.clone().acquire_owned().await.map_err(|error| error.to_string())?;
        let looked = spawn_blocking(move || {
            let _permit = permit;
            (host.as_str(), port).to_socket_addrs().map(Iterator::collect::<Vec<_>>)
        });
        let found = looked.await.map_err(|error| error.to_string())?.map_err(|error| format!("{shown}: {error}"))?;
        let (allowed, others): (Vec<_>, Vec<_>) = found.into_iter().partition(|found| self.hosts.has_address(found.ip(), port));
        match (allowed.is_empty(), others.first()) {
            (false, _) => Ok(allowed),
            (true, Some(other)) => Err(format!(
                "{shown} leads to {}, which is a private address and not among the hosts that the operator named for this pool (hosts)",
                other.ip()
            )),
            (true, None) => Err(format!("{shown} leads nowhere")),
        }
    }
}

impl Request {
    /// Returns the request after a redirect. Headers that a script set for one host are not sent to another.
    fn redirected(self, url: Url, status: StatusCode) -> Self {
        let is_same = self.url.origin() == url.origin();
        let keeps = matches!(status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT) || self.method == Method::GET;
        let kind = self.headers.get(CONTENT_TYPE).cloned().filter(|_| keeps);
        let mut headers = if is_same { self.headers } else { HeaderMap::new() };
        headers.remove(CONTENT_TYPE);
        headers.extend(kind.map(|kind| (CONTENT_TYPE, kind)));
        let (method, body) = if keeps { (self.method, self.body) } else { (Method::GET, None) };
        Self { method, url, headers, body }
    }
}

/// Returns the target of a redirect, if the response is one.
fn redirected(from: &Url, response: &Response) -> Option<Result<Url, String>> {
    let is_redirect = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let place = response.headers().get(LOCATION).filter(|_| is_redirect)?;
    let url = place.to_str().ok().and_then(|place| from.join(place).ok()).map(|url| url.to_string());
    Some(url.ok_or_else(|| format!("{from} redirects to something that is no URL")).and_then(|url| parsed(&url)))
}

fn parsed(url: &str) -> Result<Url, String> {
    let shown = excerpt(url, 100);
    let known = Url::parse(url).ok().filter(|known| matches!(known.scheme(), "http" | "https") && url.len() <= LONGEST_URL);
    known.ok_or_else(|| format!("{shown:?} is not a URL that begins with http:// or https://"))
}

fn given(headers: &BTreeMap<String, String>) -> Result<HeaderMap, String> {
    if headers.len() > MOST_HEADERS {
        return Err(format!("{MOST_HEADERS} headers are the most"));
    }
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let shown = excerpt(name, 100);
        if OURS.contains(&name.to_lowercase().as_str()) {
            return Err(format!("the header {shown} is not for scripts to give: it follows from the request"));
        }
        let name = HeaderName::try_from(name).map_err(|_| format!("{shown:?} is not the name of a header"))?;
        let value = HeaderValue::try_from(value).map_err(|_| format!("the header {shown} cannot have that value"))?;
        map.insert(name, value);
    }
    Ok(map)
}

fn late(url: &str) -> String {
    format!("{url} did not answer within {} seconds", REQUEST_TIMEOUT.as_secs())
}

/// Returns why there is no response: the innermost error.
fn unreachable(url: &str, error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut why: &dyn std::error::Error = &error;
    while let Some(source) = why.source() {
        why = source;
    }
    format!("{url}: {why}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_name_that_nobody_looks_up_in_time_is_no_connection() {
        const LONG_TIMEOUT: Duration = Duration::from_secs(60);
        let net = Net::new(Hosts::new(["example.org"]).unwrap()).unwrap();
        // Lookups of other callers, whose servers do not answer, hold all permits.
        let _taken = net.lookups.clone().acquire_many_owned(u32::try_from(MAX_CONCURRENT_LOOKUPS).unwrap()).await.unwrap();
        let answered = timeout(LONG_TIMEOUT, net.is_open("example.org", 80, Duration::from_millis(10))).await;
        assert_eq!(answered, Ok(Ok(false)));
        let refused = timeout(LONG_TIMEOUT, net.is_open("example.com", 80, LONG_TIMEOUT)).await.unwrap();
        assert!(refused.is_err_and(|why| why.contains("not among the hosts")));
    }
}
