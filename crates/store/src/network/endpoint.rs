use std::path::{Path, PathBuf};
use std::time::Duration;

use redis::io::tcp::TcpSettings;
use redis::{Client, ClientTlsConfig, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, ProtocolVersion, TlsCertificates};

use super::hash_slots::Address;
use crate::error::Error;

/// The address of a Redis, with the credentials for it.
#[derive(Debug, Clone, Default)]
pub struct Endpoint {
    /// `redis://`, `rediss://` or `unix://`, optionally with user, password and database.
    pub url: String,
    /// The ACL user, if not in the URL.
    pub user: Option<String>,
    /// The password, if not in the URL.
    pub password: Option<String>,
    /// Certificates to trust instead of the system's (PEM).
    pub tls_ca: Option<PathBuf>,
    /// The client's certificate and key (PEM).
    pub tls_identity: Option<(PathBuf, PathBuf)>,
}

impl Endpoint {
    /// Returns the endpoint of a unix socket with any path.
    pub(crate) fn of_socket(path: &Path) -> Self {
        let encoded = path.as_os_str().as_encoded_bytes().iter().map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => char::from(*byte).to_string(),
            byte => format!("%{byte:02X}"),
        });
        Self { url: format!("unix://{}", encoded.collect::<String>()), ..Self::default() }
    }

    /// Returns the URL without its password, for people; for a socket its path.
    pub fn shown(&self) -> String {
        let info = self.url.as_str().into_connection_info().ok();
        if let Some(ConnectionAddr::Unix(path)) = info.as_ref().map(ConnectionInfo::addr) {
            return format!("unix://{}", path.display());
        }
        match (self.url.split_once("://"), self.url.rsplit_once('@')) {
            (Some((scheme, _)), Some((_, host))) => format!("{scheme}://{host}"),
            _ => self.url.clone(),
        }
    }

    /// The number of the database `db` places after the one in the URL.
    pub(crate) fn database(&self, db: u32) -> i64 {
        let named = self.url.as_str().into_connection_info().map_or(0, |info| info.redis_settings().db());
        named.saturating_add(i64::from(db))
    }

    /// The address in the URL. A socket counts as this machine.
    pub(crate) fn address(&self) -> Address {
        match self.url.as_str().into_connection_info().as_ref().map(ConnectionInfo::addr) {
            Ok(ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. }) => Address { host: host.clone(), port: *port },
            _ => Address { host: "127.0.0.1".into(), port: 0 },
        }
    }

    /// Returns a client for the database `db` places after the one in the URL.
    pub(crate) fn client(&self, db: u32) -> Result<Client, Error> {
        self.build(db, None)
    }

    /// Returns a client for another node of the cluster behind the URL, with the same user, password and certificates.
    pub(crate) fn client_at(&self, node: &Address) -> Result<Client, Error> {
        self.build(0, Some(node))
    }

    fn build(&self, db: u32, node: Option<&Address>) -> Result<Client, Error> {
        let unsuitable = |error: &dyn std::fmt::Display| Error::Unsuitable(format!("{}: {error}", self.shown()));
        let mut info = self.url.as_str().into_connection_info().map_err(|error| unsuitable(&error))?;
        if let Some(Address { host, port }) = node {
            let (host, port) = (host.clone(), *port);
            let address = match info.addr() {
                ConnectionAddr::TcpTls { insecure, tls_params, .. } => {
                    ConnectionAddr::TcpTls { host, port, insecure: *insecure, tls_params: tls_params.clone() }
                }
                _ => ConnectionAddr::Tcp(host, port),
            };
            info = info.set_addr(address);
        }
        let mut settings =
            info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3).set_lib_name("hero", env!("CARGO_PKG_VERSION"));
        if let Some(user) = &self.user {
            settings = settings.set_username(user);
        }
        if let Some(password) = &self.password {
            settings = settings.set_password(password);
        }
        let db = settings.db().saturating_add(i64::from(db));
        let info: ConnectionInfo = info.set_redis_settings(settings.set_db(db)).set_tcp_settings(tcp());
        if !matches!(info.addr(), ConnectionAddr::TcpTls { .. }) {
            return Ok(Client::open(info)?);
        }
        let read = |path: &PathBuf| std::fs::read(path).map_err(|error| Error::Unsuitable(format!("{}: {error}", path.display())));
        let client_tls = match &self.tls_identity {
            Some((cert, key)) => Some(ClientTlsConfig { client_cert: read(cert)?, client_key: read(key)? }),
            None => None,
        };
        let root_cert = self.tls_ca.as_ref().map(read).transpose()?;
        Client::build_with_tls(info, TlsCertificates { client_tls, root_cert }).map_err(|error| unsuitable(&error))
    }
}

/// Sends small frames without delay, and notices a dead peer within seconds.
fn tcp() -> TcpSettings {
    let keepalive = socket2::TcpKeepalive::new().with_time(Duration::from_secs(10)).with_interval(Duration::from_secs(5));
    let settings = TcpSettings::default().set_nodelay(true).set_keepalive(keepalive);
    #[cfg(target_os = "linux")]
    let settings = settings.set_user_timeout(Duration::from_secs(15));
    settings
}
