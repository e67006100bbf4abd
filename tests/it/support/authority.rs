use std::path::PathBuf;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

/// A certificate authority and the certificates that it signed.
pub struct Authority {
    directory: tempfile::TempDir,
}

impl Authority {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        // A certificate that names itself as issuer would pass as self-signed.
        params.distinguished_name.push(DnType::CommonName, "an authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        std::fs::write(directory.path().join("ca.pem"), authority.pem()).unwrap();
        for name in ["server", "client", "renewed"] {
            let key = KeyPair::generate().unwrap();
            let certificate =
                CertificateParams::new(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap().signed_by(&key, &authority).unwrap();
            std::fs::write(directory.path().join(format!("{name}.pem")), certificate.pem()).unwrap();
            std::fs::write(directory.path().join(format!("{name}.key")), key.serialize_pem()).unwrap();
        }
        Self { directory }
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The arguments that a redis-server needs to use a certificate of this authority.
    pub fn arguments(&self, port: &str, clients: &str) -> Vec<String> {
        let file = |name: &str| self.file(name).to_str().unwrap().to_owned();
        let (cert, key, ca) = (file("server.pem"), file("server.key"), file("ca.pem"));
        let given = [("port", port), ("cert-file", &cert), ("key-file", &key), ("ca-cert-file", &ca), ("auth-clients", clients)];
        given.iter().flat_map(|(name, value)| [format!("--tls-{name}"), (*value).to_owned()]).collect()
    }
}
