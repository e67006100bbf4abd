use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::error::Error;

/// The authorities that a client trusts to certify a `wss://` server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Trust {
    /// The authorities of this machine.
    #[default]
    Machine,
    /// Only the authorities in this file (PEM).
    File(PathBuf),
}

impl Trust {
    /// Returns the authorities in a file, or those of the machine without one.
    pub fn of(file: Option<&Path>) -> Self {
        file.map_or(Self::Machine, |file| Self::File(file.to_owned()))
    }

    fn roots(&self) -> Result<RootCertStore, Error> {
        let mut roots = RootCertStore::empty();
        match self {
            Self::Machine => {
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            }
            Self::File(path) => {
                let unusable = |reason: String| Error::Authority { file: path.clone(), reason };
                // Read as a whole, to distinguish a file that cannot be read from one without certificates.
                let text = std::fs::read(path).map_err(|error| unusable(format!("it cannot be read: {error}")))?;
                if text.is_empty() {
                    return Err(unusable("it is empty".to_owned()));
                }
                for certificate in CertificateDer::pem_slice_iter(&text) {
                    let certificate = certificate.map_err(|error| unusable(format!("it has no certificate in PEM: {error}")))?;
                    roots.add(certificate).map_err(|error| unusable(format!("a certificate in it is none: {error}")))?;
                }
                if roots.is_empty() {
                    return Err(unusable("it has no certificate in PEM (-----BEGIN CERTIFICATE-----)".to_owned()));
                }
            }
        }
        Ok(roots)
    }

    /// Encrypts what `dialled` connects, and verifies the server's certificate. Nobody is dialled with authorities that
    /// cannot be used.
    pub(super) async fn connect(
        &self,
        url: &str,
        host: &str,
        dialled: impl Future<Output = Result<TcpStream, Error>>,
    ) -> Result<TlsStream<TcpStream>, Error> {
        let untrusted = |reason: String| Error::Untrusted { url: url.to_owned(), reason };
        let name = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let name = ServerName::try_from(name).map_err(|error| Error::Address { url: url.to_owned(), reason: error.to_string() })?;
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12]);
        let builder = builder.map_err(|error| untrusted(error.to_string()))?;
        let mut config = builder.with_root_certificates(self.roots()?).with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        TlsConnector::from(Arc::new(config)).connect(name, dialled.await?).await.map_err(|error| match error.get_ref() {
            Some(inner) if matches!(inner.downcast_ref(), Some(rustls::Error::InvalidMessage(_))) => {
                Error::Address { url: url.to_owned(), reason: "what answers there speaks no TLS; use ws://".to_owned() }
            }
            Some(inner) if inner.is::<rustls::Error>() => untrusted(explained(inner.to_string())),
            _ => Error::Unreachable { url: url.to_owned(), reason: error.to_string() },
        })
    }
}

/// Explains a certificate error for the owner, where the library gives only a name.
fn explained(said: String) -> String {
    if said.contains("CaUsedAsEndEntity") {
        return "its certificate is that of an authority (CA:TRUE), as plain `openssl req -x509` makes it, and a server needs one of its own; \
                docs/access.md shows how to make one"
            .to_owned();
    }
    said
}
