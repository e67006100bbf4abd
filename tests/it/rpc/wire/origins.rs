use super::*;
use hero::rpc::ServeError;

const UPGRADE: &str =
    "upgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==";

/// The status of an upgrade and of a POST with these headers; the body of the POST shows its result.
async fn statuses(server: &Server, headers: &str) -> (u16, u16) {
    let upgrade = async {
        let mut tcp = server.tcp().await;
        tcp.write_all(format!("GET / HTTP/1.1\r\n{headers}\r\n{UPGRADE}\r\n\r\n").as_bytes()).await.unwrap();
        let mut answer = [0; 12];
        tcp.read_exact(&mut answer).await.unwrap();
        String::from_utf8_lossy(&answer[9..]).parse().unwrap()
    };
    let head = format!("POST / HTTP/1.1\r\n{headers}\r\ncontent-type: application/json");
    let (post, body) = server.http(&head, call(1, "get_data", json!([])).as_bytes()).await;
    assert_eq!(body.contains("hello"), post == 200, "{headers}: {body}");
    (upgrade.await, post)
}

#[tokio::test]
async fn strange_origins_are_refused_before_anything_happens() {
    let server = Server::with(|settings| settings.allowed_origins = vec!["https://app.example".into()]).await;
    for origin in ["", "\r\norigin: http://localhost:3000", "\r\norigin: http://127.0.0.1", "\r\norigin: https://app.example"] {
        assert_eq!(statuses(&server, &format!("host: localhost{origin}")).await, (101, 200), "{origin}");
    }
    for origin in ["null", "https://evil.example", "http://localhost.evil.example", "https://app.example:8443"] {
        assert_eq!(statuses(&server, &format!("host: localhost\r\norigin: {origin}")).await, (403, 403), "{origin}");
        assert_eq!(server.http(&format!("GET /metrics HTTP/1.1\r\nhost: localhost\r\norigin: {origin}"), b"").await.0, 403);
    }
}

#[tokio::test]
async fn strange_hosts_are_refused_before_anything_happens() {
    let server = Server::with(|settings| settings.allowed_hosts = vec!["hero.example".into()]).await;
    for host in ["localhost", "localhost:8700", "127.0.0.1", "[::1]:8700", "hero.example:8700"] {
        assert_eq!(statuses(&server, &format!("host: {host}")).await, (101, 200), "{host}");
    }
    for host in ["evil.example", "evil.example:8700", "192.0.2.1", "localhost.evil.example"] {
        assert_eq!(statuses(&server, &format!("host: {host}")).await, (403, 403), "{host}");
        assert_eq!(server.http(&format!("GET /openrpc.json HTTP/1.1\r\nhost: {host}"), b"").await.0, 403);
    }
}

#[tokio::test]
async fn a_request_line_that_names_another_address_than_its_host_is_refused() {
    let server = Server::with(|settings| settings.allowed_hosts = vec!["hero.example".into()]).await;
    for (target, host, expected) in [
        ("http://localhost:8700/healthz", "localhost:8700", 200),
        ("http://HERO.example/healthz", "hero.EXAMPLE:80", 200),
        ("http://[::1]:8700/healthz", "[::1]:8700", 200),
        ("http://evil.example/healthz", "localhost", 403),
        ("http://evil.example/healthz", "evil.example", 403),
        ("http://localhost/healthz", "evil.example", 403),
        ("http://localhost:8701/healthz", "localhost:8700", 403),
        ("http://hero.example/healthz", "localhost", 403),
    ] {
        assert_eq!(server.http(&format!("GET {target} HTTP/1.1\r\nhost: {host}"), b"").await.0, expected, "{target} {host}");
    }
}

#[tokio::test]
async fn an_allowed_page_gets_the_headers_that_browsers_want() {
    let server = Server::start().await;
    let preflight = "OPTIONS / HTTP/1.1\r\nhost: localhost\r\norigin: http://localhost:3000\r\naccess-control-request-method: POST\r\n\
                     connection: close\r\n\r\n";
    let answer = server.raw(preflight.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 204"), "{answer}");
    assert!(answer.contains("access-control-allow-origin: http://localhost:3000"), "{answer}");
}

#[tokio::test]
async fn the_openrpc_playground_reads_the_document_where_it_is_allowed() {
    let playground = "https://playground.open-rpc.org";
    let server = Server::with(|settings| settings.allowed_origins = vec![playground.into()]).await;
    // The request that Chromium sends for a page on the Internet that wants to access this machine.
    let preflight = format!(
        "OPTIONS / HTTP/1.1\r\nhost: localhost:8700\r\norigin: {playground}\r\naccess-control-request-method: POST\r\n\
         access-control-request-headers: content-type\r\naccess-control-request-private-network: true\r\nconnection: close\r\n\r\n"
    );
    let answer = server.raw(preflight.as_bytes()).await;
    for header in [
        &format!("access-control-allow-origin: {playground}"),
        "access-control-allow-methods: GET, POST",
        "access-control-allow-headers: content-type, authorization, last-event-id",
        "access-control-allow-private-network: true",
    ] {
        assert!(answer.starts_with("HTTP/1.1 204") && answer.contains(header), "{header}: {answer}");
    }
    // The request that `fetchSchemaFromRpcDiscover` sends.
    let body = r#"{"id":0,"jsonrpc":"2.0","method":"rpc.discover","params":[]}"#;
    let request = format!(
        "POST / HTTP/1.1\r\nhost: localhost:8700\r\norigin: {playground}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n{body}",
        body.len()
    );
    let answer = server.raw(request.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains(&format!("access-control-allow-origin: {playground}")), "{answer}");
    assert!(answer.contains(r#""result":{"openrpc":"1.2.6""#), "{answer}");
    // Nobody else is told so.
    let other = preflight.replace(playground, "https://evil.example");
    let answer = server.raw(other.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 403") && !answer.contains("access-control"), "{answer}");
}

#[tokio::test]
async fn plain_routes_answer() {
    let server = Server::start().await;
    assert_eq!(server.get("/healthz").await, (200, "ok\n".into()));
    assert_eq!(server.get("/readyz").await, (503, "no actor of type v\nRedis is away\n".into()));
    assert_eq!(server.get("/metrics").await, (200, "hero_up 1\n".into()));
    assert_eq!(server.get("/").await.0, 405);
    assert_eq!(server.get("/nothing").await.0, 404);
    assert_eq!(server.http("POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: text/plain", b"{}").await.0, 415);
}

#[tokio::test]
async fn a_body_is_taken_as_json_or_json_rpc_alone() {
    let server = Server::start().await;
    let body = call(1, "subtract", json!([3, 2]));
    for (content_type, expected) in [
        ("application/json", 200),
        ("application/json; charset=utf-8", 200),
        ("application/json-rpc", 200),
        ("application/json-rpc;charset=utf-8", 200),
        ("application/jsonrequest", 415),
        ("application/json; charset=latin1", 415),
        ("text/plain", 415),
    ] {
        let head = format!("POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: {content_type}");
        assert_eq!(server.http(&head, body.as_bytes()).await.0, expected, "{content_type}");
    }
    let none = "POST / HTTP/1.1\r\nhost: localhost";
    assert_eq!(server.http(none, body.as_bytes()).await.0, 200, "programs that do not say what they send");
    let page = format!("{none}\r\norigin: http://localhost:3000");
    assert_eq!(server.http(&page, body.as_bytes()).await.0, 415, "pages have to say it");
}

#[tokio::test]
async fn a_failed_handshake_is_no_success() {
    let server = Server::start().await;
    let request = "GET / HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\nconnection: upgrade, close\r\n\r\n";
    let answer = server.raw(request.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
}

#[tokio::test]
async fn a_public_address_is_refused_unless_it_is_meant() {
    let probes = || Probes { readiness: Arc::new(|| Box::pin(async { Ok(Vec::new()) })), metrics: Arc::new(String::new) };
    let public = |insecure| ServerSettings { listen: vec![([0, 0, 0, 0], 0).into()], insecure, ..ServerSettings::default() };
    let shutdown = CancellationToken::new();
    let refused = serve_table(public(false), &table(), Bench::default(), probes(), shutdown.clone()).await;
    let error = refused.expect_err("refused");
    assert!(matches!(error, ServeError::Exposed(_)) && error.to_string().contains("--insecure"), "{error}");
    let serving = serve_table(public(true), &table(), Bench::default(), probes(), shutdown.clone()).await.unwrap();
    assert!(serving.local_addr().port() > 0);
    shutdown.cancel();
}

#[tokio::test]
async fn all_addresses_of_a_name_share_a_port_and_one_that_is_nobodys_is_passed_over() {
    let probes = || Probes { readiness: Arc::new(|| Box::pin(async { Ok(Vec::new()) })), metrics: Arc::new(String::new) };
    let on = |addresses: &[&str]| {
        let listen = addresses.iter().map(|address| address.parse().unwrap()).collect();
        ServerSettings { listen, insecure: true, ..ServerSettings::default() }
    };
    let shutdown = CancellationToken::new();
    // The last is for documents, and no machine's.
    let settings = on(&["127.0.0.1:0", "127.0.0.2:0", "192.0.2.1:0"]);
    let serving = serve_table(settings, &table(), Bench::default(), probes(), shutdown.clone()).await.unwrap();
    let port = serving.local_addr().port();
    assert_eq!(serving.local_addr(), ([127, 0, 0, 1], port).into());
    for address in ["127.0.0.1", "127.0.0.2"] {
        assert_eq!(crate::support::get(&format!("{address}:{port}"), "/healthz").await.0, 200, "{address}");
    }
    for taken in [format!("127.0.0.2:{port}"), "192.0.2.1:0".to_owned()] {
        let refused = serve_table(on(&[&taken]), &table(), Bench::default(), probes(), shutdown.clone()).await;
        assert!(matches!(refused, Err(ServeError::Bind { .. })), "{taken}");
    }
    let half = on(&["127.0.0.3:0", &format!("127.0.0.1:{port}")]);
    let refused = serve_table(half, &table(), Bench::default(), probes(), shutdown.clone()).await;
    assert!(refused.is_err(), "an address in use is no reason to listen on the others only");
    shutdown.cancel();
    tokio::time::timeout(crate::support::PATIENCE, serving.drained(crate::support::PATIENCE)).await.expect("every loop ends");
}

#[tokio::test]
async fn with_login_on_the_nameless_are_told_to_log_in() {
    let server = Server::with(|settings| settings.access = login()).await;
    let mut socket = server.websocket().await;
    assert_eq!(ask(&mut socket, call(1, "get_data", json!([]))).await["error"]["code"], 1005);
    assert!(ask(&mut socket, call(1, "rpc.discover", json!([]))).await["result"].is_object());
    let batch = ask(&mut socket, format!("[{}]", call(1, "get_data", json!([])))).await;
    assert_eq!(batch[0]["error"]["code"], 1005);
}
