//! TLS on the ports: the certificate and its key, which can be reloaded while the server runs.

use std::fs::OpenOptions;
use std::io::{self, Read as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, RootCertStore, ServerConfig};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// The time limit of the handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// The first byte of each handshake.
const HANDSHAKE_RECORD: u8 = 22;
/// The answer to a client without TLS.
const PLAIN: &[u8] = b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\ncontent-length: 53\r\nconnection: close\r\n\r\n\
    This port speaks TLS: connect by https:// or wss://.\n";
/// The most bytes of such a client's request that are read, so that the client sees the answer.
const MAX_SKIPPED_BYTES: u64 = 64 * 1024;
/// The permission bit that lets others read a file. Its group may be one for the users of the key.
const OTHERS_READ: u32 = 0o004;
/// The time before its end from which on a certificate is warned of.
const EXPIRY_WARNING_TIME: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The certificate and key of the ports. Cheap to clone; all clones use the last reload.
#[derive(Debug, Clone)]
pub struct Tls(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    certificate: PathBuf,
    key: PathBuf,
    config: RwLock<Arc<ServerConfig>>,
}

/// The reason why TLS does not work.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("{} cannot be read: {cause}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        cause: io::Error,
    },
    /// There is no certificate in the file.
    #[error("{} has no certificate in PEM (-----BEGIN CERTIFICATE-----){}", path.display(), and(why))]
    NoCertificate {
        /// The file.
        path: PathBuf,
        /// The fault of its text, if there is one.
        why: Option<rustls::pki_types::pem::Error>,
    },
    /// There is no key in the file.
    #[error("{} has no private key in PEM (-----BEGIN PRIVATE KEY-----, not encrypted)", .0.display())]
    NoKey(PathBuf),
    /// The key does not match the certificate.
    #[error("the key in {} does not belong to the (first) certificate in {}", key.display(), certificate.display())]
    Mismatch {
        /// The file with the certificate.
        certificate: PathBuf,
        /// The file with the key.
        key: PathBuf,
    },
    /// The certificate or the key cannot be used.
    #[error("the certificate in {} cannot be used: {cause}", path.display())]
    Unusable {
        /// The file with the certificate.
        path: PathBuf,
        /// The fault.
        cause: rustls::Error,
    },
}

fn and(why: &Option<rustls::pki_types::pem::Error>) -> String {
    why.as_ref().map(|why| format!(": {why}")).unwrap_or_default()
}

impl Tls {
    /// Reads a certificate, followed by those that lead to its authority, and its key. Warns of one that has expired or is about to.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        let config = RwLock::new(read(certificate, key)?);
        Ok(Self(Arc::new(Inner { certificate: certificate.to_owned(), key: key.to_owned(), config })))
    }

    /// Reads the files again, for new connections. After an error everything stays as it was.
    pub fn reload(&self) -> Result<(), TlsError> {
        let config = read(&self.0.certificate, &self.0.key)?;
        *self.0.config.write().unwrap_or_else(PoisonError::into_inner) = config;
        Ok(())
    }

    /// Does the handshake with a client, within a time limit. `None`: the handshake failed, or the client speaks without TLS, which it is
    /// told.
    pub(crate) async fn accept(&self, mut socket: TcpStream) -> Option<TlsStream<TcpStream>> {
        let acceptor = TlsAcceptor::from(Arc::clone(&self.0.config.read().unwrap_or_else(PoisonError::into_inner)));
        let handshake = async {
            let mut first = [0];
            if socket.peek(&mut first).await? == 1 && first[0] != HANDSHAKE_RECORD {
                return refuse(&mut socket).await.map(|()| None);
            }
            acceptor.accept(socket).await.map(Some)
        };
        match tokio::time::timeout(HANDSHAKE_TIMEOUT, handshake).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => {
                tracing::debug!(%error, "a client did not agree on TLS");
                None
            }
            Err(_) => {
                tracing::debug!(after = ?HANDSHAKE_TIMEOUT, "a client did not agree on TLS in time");
                None
            }
        }
    }
}

/// Tells a client that it must speak TLS, and closes.
async fn refuse(socket: &mut TcpStream) -> io::Result<()> {
    socket.write_all(PLAIN).await?;
    socket.shutdown().await?;
    // If a connection is closed before everything is read, the system resets it, and the peer may not see the answer.
    tokio::io::copy(&mut socket.take(MAX_SKIPPED_BYTES), &mut tokio::io::sink()).await.map(drop)
}

fn read(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, TlsError> {
    let content = |path: &Path| content(path).map_err(|cause| TlsError::Unreadable { path: path.to_owned(), cause });
    let no_certificate = |why| TlsError::NoCertificate { path: certificate.to_owned(), why };
    let chain = content(certificate)?;
    let chain = CertificateDer::pem_slice_iter(&chain).collect::<Result<Vec<_>, _>>().map_err(|why| no_certificate(Some(why)))?;
    let first = chain.first().ok_or_else(|| no_certificate(None))?.clone();
    let private = PrivateKeyDer::from_pem_slice(&content(key)?).map_err(|_| TlsError::NoKey(key.to_owned()))?;
    let unusable = |cause| match cause {
        rustls::Error::InconsistentKeys(_) => TlsError::Mismatch { certificate: certificate.to_owned(), key: key.to_owned() },
        cause => TlsError::Unusable { path: certificate.to_owned(), cause },
    };
    let versions = [&rustls::version::TLS13, &rustls::version::TLS12];
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_protocol_versions(&versions).map_err(unusable)?;
    let mut config = builder.with_no_client_auth().with_single_cert(chain, private).map_err(unusable)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    warn_of_its_end(&first, certificate);
    warn_of_readers(key);
    Ok(Arc::new(config))
}

/// Reads a file. Anything else is refused: reading from a pipe would wait.
fn content(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = OpenOptions::new().read(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "is no regular file"));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map(|_| bytes)
}

/// Warns of a key that others may read. hero refuses such permissions on its own keys.
fn warn_of_readers(key: &Path) {
    let mode = key.metadata().map_or(0, |metadata| metadata.permissions().mode() & 0o777);
    if mode & OTHERS_READ != 0 {
        tracing::warn!("others may read {} (mode {mode:03o}), the key of the certificate; close it with: chmod o-r {0}", key.display());
    }
}

/// Warns of a certificate that clients will refuse because of its time.
fn warn_of_its_end(certificate: &CertificateDer<'_>, path: &Path) {
    match (fault_of_time(certificate, Duration::ZERO), fault_of_time(certificate, EXPIRY_WARNING_TIME)) {
        (Some(fault), _) => tracing::warn!(path = %path.display(), "clients will refuse the certificate: {fault}"),
        (None, Some(fault)) => tracing::warn!(path = %path.display(), "clients will refuse the certificate within a week: {fault}"),
        (None, None) => {}
    }
}

/// Returns the fault in the validity time of a certificate, as of a later time.
fn fault_of_time(certificate: &CertificateDer<'_>, later: Duration) -> Option<CertificateError> {
    let parsed = ParsedCertificate::try_from(certificate).ok()?;
    let time = UnixTime::since_unix_epoch(Duration::from_secs(UnixTime::now().as_secs()).saturating_add(later));
    // No authority is known here, but times are checked before that matters.
    let known = verify_server_cert_signed_by_trust_anchor(&parsed, &RootCertStore::empty(), &[], time, &[]);
    match known {
        Err(rustls::Error::InvalidCertificate(
            fault @ (CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. }),
        )) => Some(fault),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    use super::*;

    #[test]
    fn a_certificate_whose_time_is_over_is_found() {
        let fault = |from: i32, until: i32| {
            let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
            (params.not_before, params.not_after) = (date_time_ymd(from, 1, 1), date_time_ymd(until, 1, 1));
            let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
            fault_of_time(certificate.der(), Duration::ZERO)
        };
        assert!(matches!(fault(2000, 2001), Some(CertificateError::ExpiredContext { .. })));
        assert!(matches!(fault(4000, 4001), Some(CertificateError::NotValidYetContext { .. })));
        assert_eq!(fault(2000, 4000), None);
    }

    #[test]
    fn the_answer_to_who_speaks_without_tls_is_as_long_as_it_says() {
        let (head, body) = std::str::from_utf8(PLAIN).unwrap().split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}\r\n", body.len())), "{}", body.len());
    }
}
