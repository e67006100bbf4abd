//! TLS on the port: clients with and without TLS, and the reload of a new certificate.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use hero::client::{Client as HeroClient, Error, Options, Trust};
use hero::rpc::{Limits, Tls, TlsError};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::*;
use crate::support::{Authority, PATIENCE, until};

fn trusting(trust: Trust) -> Options {
    Options { trust, ..Options::default() }
}

/// A server with a certificate of an authority, in files that can be exchanged.
struct Encrypted {
    _house: House,
    files: tempfile::TempDir,
    authority: Authority,
    tls: Tls,
    server: Server,
}

impl Encrypted {
    async fn open(limits: Limits) -> Self {
        let (house, files, authority) = (House::empty().await, tempfile::tempdir().unwrap(), Authority::new());
        put(&authority, "server", files.path());
        let tls = Tls::read(&files.path().join("cert.pem"), &files.path().join("key.pem")).unwrap();
        let server = Server::encrypted(&house.dispatcher, limits, &tls).await;
        Self { _house: house, files, authority, tls, server }
    }

    fn trust(&self) -> Trust {
        Trust::File(self.authority.file("ca.pem"))
    }

    fn url(&self) -> String {
        format!("wss://localhost:{}", self.server.address.port())
    }

    async fn client(&self) -> HeroClient {
        HeroClient::connect_with(&self.url(), trusting(self.trust())).await.unwrap()
    }

    async fn stream(&self) -> std::io::Result<TlsStream<TcpStream>> {
        stream(self.server.address, &self.authority.file("ca.pem")).await
    }

    /// Returns the server's answer to a request over HTTPS.
    async fn https(&self, request: &str) -> String {
        let mut stream = self.stream().await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        tokio::time::timeout(PATIENCE, stream.read_to_string(&mut answer)).await.expect("an answer").unwrap();
        answer
    }

    /// The certificate that new connections are shown.
    async fn shown(&self) -> CertificateDer<'static> {
        self.stream().await.unwrap().get_ref().1.peer_certificates().unwrap()[0].clone().into_owned()
    }

    /// One that the authority has signed.
    fn signed(&self, name: &str) -> CertificateDer<'static> {
        CertificateDer::from_pem_file(self.authority.file(&format!("{name}.pem"))).unwrap()
    }
}

/// Writes a certificate and its key where a server reads them.
fn put(authority: &Authority, name: &str, directory: &Path) {
    for (from, to) in [("pem", "cert.pem"), ("key", "key.pem")] {
        std::fs::copy(authority.file(&format!("{name}.{from}")), directory.join(to)).unwrap();
    }
}

async fn stream(address: SocketAddr, ca: &Path) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(ca).unwrap()).unwrap();
    let builder = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let config = builder.with_safe_default_protocol_versions().unwrap().with_root_certificates(roots).with_no_client_auth();
    let tcp = TcpStream::connect(address).await?;
    TlsConnector::from(Arc::new(config)).connect(ServerName::try_from("localhost").unwrap(), tcp).await
}

const PING: &str = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 41\r\nconnection: close\r\n\r\n\
                    {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"} ";

#[tokio::test(flavor = "multi_thread")]
async fn calls_come_over_https_and_wss_and_the_server_says_so() {
    let encrypted = Encrypted::open(Limits::default()).await;
    let answer = encrypted.https(PING).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("pong"), "{answer}");
    let client = encrypted.client().await;
    let made: Value = client.call_named("create_job", json!(["1"])).await.unwrap();
    assert!(made.is_string());
    let info: Value = client.call_named("server_info", json!({})).await.unwrap();
    assert_eq!(info["listen"], json!([format!("wss://{}", encrypted.server.address)]));
    let document = encrypted.https("GET /openrpc.json HTTP/1.1\r\nhost: localhost:1\r\nconnection: close\r\n\r\n").await;
    assert!(document.contains("\"https://localhost:1/\"") && document.contains("\"wss://localhost:1/\""));
    // Who may be asked for what is as without TLS.
    let evil = encrypted.https("GET /healthz HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n").await;
    assert!(evil.starts_with("HTTP/1.1 403"), "{evil}");
    let page = encrypted.https(&PING.replace("host:", "origin: https://evil.example\r\nhost:")).await;
    assert!(page.starts_with("HTTP/1.1 403"), "{page}");
    // The usual port of https may be left out.
    let whole = "GET https://localhost/healthz HTTP/1.1\r\nhost: localhost:443\r\nconnection: close\r\n\r\n";
    assert!(encrypted.https(whole).await.starts_with("HTTP/1.1 200"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_not_who_it_says_is_not_talked_to() {
    let encrypted = Encrypted::open(Limits::default()).await;
    let strange = Authority::new();
    let port = encrypted.server.address.port();
    for (trust, url) in [
        (Trust::Machine, encrypted.url()),
        (Trust::File(strange.file("ca.pem")), encrypted.url()),
        // Not a name in the certificate.
        (encrypted.trust(), format!("wss://[::ffff:127.0.0.1]:{port}")),
    ] {
        let refused = HeroClient::connect_with(&url, trusting(trust.clone())).await.err();
        assert!(matches!(refused, Some(Error::Untrusted { .. })), "{trust:?} {url}: {refused:?}");
    }
    for file in [strange.file("server.key"), "/nonexistent.pem".into()] {
        let refused = HeroClient::connect_with(&encrypted.url(), trusting(Trust::File(file.clone()))).await.err();
        assert!(matches!(&refused, Some(Error::Authority { file: named, .. }) if *named == file), "{file:?}: {refused:?}");
    }
    let plain = HeroClient::connect(&format!("ws://localhost:{port}"), None).await.err();
    assert!(matches!(plain, Some(Error::Refused { status: 400, .. })), "{plain:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_certificate_is_for_new_connections_and_a_bad_one_for_none() {
    let encrypted = Encrypted::open(Limits::default()).await;
    let (client, file) = (encrypted.client().await, |name: &str| encrypted.files.path().join(name));
    assert_eq!(encrypted.shown().await, encrypted.signed("server"));
    put(&encrypted.authority, "renewed", encrypted.files.path());
    assert_eq!(encrypted.shown().await, encrypted.signed("server"), "nobody has asked for it yet");
    encrypted.tls.reload().unwrap();
    assert_eq!(encrypted.shown().await, encrypted.signed("renewed"));
    // What is open goes on.
    assert_eq!(client.call_named::<Value>("ping", json!({})).await.unwrap(), "pong");
    // Half of a new pair, as while it is written.
    std::fs::copy(encrypted.authority.file("server.pem"), file("cert.pem")).unwrap();
    assert!(matches!(encrypted.tls.reload(), Err(TlsError::Mismatch { .. })));
    std::fs::write(file("cert.pem"), "").unwrap();
    assert!(encrypted.tls.reload().is_err());
    assert_eq!(encrypted.shown().await, encrypted.signed("renewed"));
    assert_eq!(client.call_named::<Value>("ping", json!({})).await.unwrap(), "pong");
}

#[test]
fn what_is_no_certificate_is_told_by_its_file_and_what_is_wrong() {
    let (authority, other, home) = (Authority::new(), Authority::new(), tempfile::tempdir().unwrap());
    let file = |name: &str| authority.file(name);
    let spoilt = home.path().join("spoilt.pem");
    std::fs::write(&spoilt, "-----BEGIN CERTIFICATE-----\nMIIB!\n-----END CERTIFICATE-----\n").unwrap();
    let no_der = home.path().join("no-der.pem");
    std::fs::write(&no_der, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").unwrap();
    let pipe = home.path().join("pipe.pem");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for (certificate, key, told) in [
        (pipe.clone(), file("server.key"), "pipe.pem cannot be read: is no regular file"),
        (file("server.pem"), pipe, "pipe.pem cannot be read: is no regular file"),
        (home.path().join("missing.pem"), file("server.key"), "missing.pem cannot be read"),
        (file("server.pem"), home.path().join("missing.key"), "missing.key cannot be read"),
        (file("server.key"), file("server.pem"), "server.key has no certificate in PEM"),
        (file("server.pem"), file("server.pem"), "server.pem has no private key in PEM"),
        (file("server.pem"), other.file("server.key"), "does not belong to the (first) certificate in"),
        (spoilt, file("server.key"), "spoilt.pem has no certificate in PEM"),
        (no_der, file("server.key"), "no-der.pem cannot be used"),
    ] {
        let error = Tls::read(&certificate, &key).unwrap_err().to_string();
        assert!(error.contains(told), "{told}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_speaks_without_tls_is_told_so_and_closed() {
    let encrypted = Encrypted::open(Limits::default()).await;
    for request in [PING.to_owned(), format!("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n{}", "x".repeat(10_000)), "\n".to_owned()] {
        let mut tcp = TcpStream::connect(encrypted.server.address).await.unwrap();
        tcp.write_all(request.as_bytes()).await.unwrap();
        tcp.shutdown().await.unwrap();
        let mut answer = String::new();
        tokio::time::timeout(PATIENCE, tcp.read_to_string(&mut answer)).await.expect("the end").unwrap();
        assert!(answer.starts_with("HTTP/1.1 400") && answer.ends_with("connect by https:// or wss://.\n"), "{answer}");
    }
    // And who speaks something that only begins as a handshake.
    let mut tcp = TcpStream::connect(encrypted.server.address).await.unwrap();
    tcp.write_all(&[22, 3, 1, 0, 4, 1, 0, 0, 0]).await.unwrap();
    let mut alert = Vec::new();
    tokio::time::timeout(PATIENCE, tcp.read_to_end(&mut alert)).await.expect("the end").unwrap();
    assert_eq!(alert.first(), Some(&21), "an alert");
}

#[tokio::test(flavor = "multi_thread")]
async fn handshakes_that_never_end_stop_nobody_and_are_ended() {
    let encrypted = Encrypted::open(Limits::default()).await;
    let mut silent = Vec::new();
    for number in 0..100 {
        let mut tcp = TcpStream::connect(encrypted.server.address).await.unwrap();
        if number % 2 == 0 {
            // The beginning of a long hello.
            tcp.write_all(&[22, 3, 1, 2, 0, 1]).await.unwrap();
        }
        silent.push(tcp);
    }
    assert!(encrypted.https(PING).await.contains("pong"));
    assert_eq!(encrypted.client().await.call_named::<Value>("ping", json!({})).await.unwrap(), "pong");
    for tcp in &mut silent {
        let read = tokio::time::timeout(PATIENCE, tcp.read(&mut [0])).await.expect("its time is over");
        assert!(matches!(read, Ok(0) | Err(_)), "{read:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn probes_are_answered_over_tls_when_no_connection_is_left() {
    let encrypted = Encrypted::open(Limits { connections: 2, ..Limits::default() }).await;
    let client = encrypted.client().await;
    let health = "GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    assert!(encrypted.https(health).await.starts_with("HTTP/1.1 200"));
    assert!(encrypted.https(PING).await.starts_with("HTTP/1.1 429"));
    assert_eq!(client.call_named::<Value>("ping", json!({})).await.unwrap(), "pong");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_reads_nothing_is_closed_over_tls_as_well() {
    let limits = Limits { write_timeout: std::time::Duration::from_millis(300).into(), ..Limits::default() };
    let encrypted = Encrypted::open(limits).await;
    let mut stream = encrypted.stream().await.unwrap();
    let closed = async {
        // The document, again and again, which is never read.
        while stream.write_all(b"GET /openrpc.json HTTP/1.1\r\nhost: localhost\r\n\r\n").await.is_ok() && stream.flush().await.is_ok() {}
    };
    tokio::time::timeout(PATIENCE, closed).await.expect("the connection is closed");
    assert!(encrypted.https(PING).await.contains("pong"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signature_is_for_the_name_of_the_server_by_tls_as_well() {
    let (house, authority, key) = (House::empty().await, Authority::new(), hero::model::PrivateKey::random());
    let tls = Tls::read(&authority.file("server.pem"), &authority.file("server.key")).unwrap();
    let server = Server::encrypted(&house.dispatcher, Limits::default(), &tls).await;
    let url = format!("wss://LOCALHOST:{}/", server.address.port());
    let client = HeroClient::connect_with(&url, trusting(Trust::File(authority.file("ca.pem")))).await.unwrap();
    client.create_identity(Some(&key.public_key()), &[]).await.unwrap();
    until("a login", || async { client.log_in(&key).await.ok() }).await;
}

#[tokio::test]
async fn a_server_that_shows_the_certificate_of_an_authority_is_told_as_that() {
    let (house, files) = (House::empty().await, tempfile::tempdir().unwrap());
    let mut params = rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let key = rcgen::KeyPair::generate().unwrap();
    let (certificate_file, key_file) = (files.path().join("cert.pem"), files.path().join("key.pem"));
    std::fs::write(&certificate_file, params.self_signed(&key).unwrap().pem()).unwrap();
    std::fs::write(&key_file, key.serialize_pem()).unwrap();
    let tls = Tls::read(&certificate_file, &key_file).unwrap();
    let server = Server::encrypted(&house.dispatcher, Limits::default(), &tls).await;
    let url = format!("wss://localhost:{}", server.address.port());
    let error = HeroClient::connect_with(&url, trusting(Trust::File(certificate_file))).await.err().unwrap();
    assert!(matches!(error, Error::Untrusted { .. }) && error.to_string().contains("is that of an authority (CA:TRUE)"), "{error}");
}
