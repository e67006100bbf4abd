use super::*;

fn read(url: &str) -> Result<Address, Error> {
    Address::new(url, None, Trust::Machine, HEARTBEAT_INTERVAL, CONNECT_TIMEOUT)
}

fn refused(url: &str) -> String {
    match read(url) {
        Err(Error::Address { reason, .. }) => reason,
        other => panic!("{url}: {:?}", other.map(|address| address.url)),
    }
}

#[test]
fn a_secret_before_an_at_sign_is_not_told() {
    for url in [
        "ws://me:secret@host:1/x",
        "WSS://secret@host",
        "me:secret@host:8700",
        "me:secret@host",
        "ws://me:se/cr@secret@host",
        "ws://:secret@host",
        "ws://secret/en@host",
        "ws://me:12/secret@host",
        "wss://me:8080#secret@host/",
        "secret://me@host",
        "ws://host:1/secret@host",
    ] {
        assert!(masked(url).starts_with("***@host"), "{}", masked(url));
        let error = read(url).err().unwrap();
        assert!(error.to_string().contains("HERO_TOKEN") && !format!("{error} {error:?}").contains("secret"), "{error:?}");
    }
    for url in ["unix:///home/me@work/hero.sock", "UNIX:///a@b", "ws://[::1]:8700", "host:1"] {
        assert_eq!(masked(url), url);
        assert!(read(url).is_ok(), "{url}");
    }
}

#[test]
fn the_host_of_requests_has_no_default_port() {
    for (url, host) in [
        ("ws://127.0.0.1:80", "127.0.0.1"),
        ("ws://h:8700/x", "h:8700"),
        ("wss://h:443", "h"),
        ("wss://[::1]:80", "[::1]:80"),
        ("unix:///a", "localhost"),
    ] {
        assert_eq!(read(url).unwrap().host(), host);
    }
}

#[test]
fn an_address_without_a_port_is_shown_with_the_one_that_is_meant() {
    for (url, shown) in [
        ("ws://h", "ws://h:80"),
        ("wss://h/x?y", "wss://h:443/x?y"),
        ("ws://[::1]/x", "ws://[::1]:80/x"),
        ("ws://[::1]:1", "ws://[::1]:1"),
        ("h:1", "ws://h:1"),
        ("unix:///a", "unix:///a"),
    ] {
        assert_eq!(read(url).unwrap().shown(), (shown.to_owned(), !shown.ends_with(":1") && !shown.starts_with("unix")));
    }
}

#[test]
fn what_is_wrong_with_an_address_is_said_before_anybody_is_asked() {
    for (url, reason) in [
        ("ws://h:99999", "1 to 65535"),
        ("ws://h:0", "1 to 65535"),
        ("ws://h:x", "no number"),
        ("ws://h:", "port is missing"),
        ("ws://:8700", "host is missing"),
        ("ws://", "host is missing"),
        ("ws://[::1", "not closed"),
        ("ws://[x]:1", "no IPv6 address"),
        ("ws://[::1]8700", "behind its brackets"),
        ("ws://::1:8700", "stands in brackets"),
        ("h:99999", "1 to 65535"),
        ("ws://fe80::1", "stands in brackets"),
        ("unix://", "path is missing"),
        ("ftp://h", "ftp:// is not"),
        ("h", "scheme is missing"),
        ("8731", "a host is missing, such as 127.0.0.1:8731"),
    ] {
        assert!(refused(url).contains(reason), "{url}: {}", refused(url));
    }
}

/// A listener that accepts nothing more, as its queue is full, and its address.
async fn silent() -> (tokio::net::TcpListener, Vec<TcpStream>, SocketAddr) {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let (address, mut queued) = (listener.local_addr().unwrap(), Vec::new());
    while let Ok(stream) = timeout(Duration::from_millis(300), TcpStream::connect(address)).await {
        queued.push(stream.unwrap());
    }
    (listener, queued, address)
}

#[tokio::test]
async fn silent_addresses_of_one_name_share_the_time_limit() {
    let (first, second, third) = tokio::join!(silent(), silent(), silent());
    let (limit, begun) = (Duration::from_secs(2), Instant::now());
    let dialled = dial_one("ws://h", &[first.2, second.2, third.2], begun + limit, limit).await;
    assert!(matches!(dialled, Err(Error::Silent { after, .. }) if after == limit), "{dialled:?}");
    assert!(begun.elapsed() < 2 * limit, "{:?}", begun.elapsed());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let there = [first.2, listener.local_addr().unwrap()];
    let dialled = dial_one("ws://h", &there, Instant::now() + limit, limit).await;
    assert_eq!(dialled.unwrap().peer_addr().unwrap(), there[1]);
}

#[tokio::test]
async fn with_tls_too_a_silent_address_leaves_the_next_its_share_of_the_time() {
    let (first, listener) = (silent().await, tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap());
    let there = [first.2, listener.local_addr().unwrap()];
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let _ = tokio::io::AsyncWriteExt::write_all(&mut socket, b"-ERR unknown command\r\n").await;
    });
    let limit = Duration::from_secs(2);
    let dialled = dial_one("wss://h", &there, Instant::now() + limit, limit);
    let opened = timeout(limit, Trust::Machine.connect("wss://h", "h", dialled)).await.unwrap();
    // The second address answers, though without TLS.
    assert!(matches!(&opened, Err(Error::Address { reason, .. }) if reason.contains("speaks no TLS")), "{:?}", opened.map(drop));
}

#[test]
fn an_address_means_the_same_in_each_client() {
    #[derive(serde::Deserialize)]
    struct Addresses {
        read: std::collections::BTreeMap<String, String>,
        wrong: Vec<String>,
    }
    let addresses: Addresses = serde_json::from_str(include_str!("../../../../clients/addresses.json")).unwrap();
    for (given, meant) in addresses.read {
        assert_eq!(read(&given).map(|address| address.url).unwrap(), meant);
    }
    addresses.wrong.iter().for_each(|wrong| drop(refused(wrong)));
    assert_eq!(read("UNIX:///A").map(|address| address.url).unwrap(), "unix:///A");
}
