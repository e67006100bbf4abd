//! Every way to connect to the operator's own Redis, and the error messages for each failure.

use std::ffi::OsStr;
use std::path::Path;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::run;
use crate::support::{Authority, Process, Redis};

/// `hero serve` on this Redis; the password comes in the environment, where others cannot read it.
fn on(data: &Path, url: &str, more: &[&OsStr], password: Option<&str>) -> Process {
    let mut arguments: Vec<&OsStr> =
        ["serve", "--listen", "127.0.0.1:0", "--pool", "osis=1", "--redis", url, "--data"].into_iter().map(OsStr::new).collect();
    arguments.push(data.as_os_str());
    arguments.extend(more);
    Process::start_with(&arguments, |command| {
        if let Some(password) = password {
            command.env("HERO_REDIS_PASSWORD", password);
        }
    })
}

/// Asserts that a job runs from end to end.
async fn works(server: Process) {
    let server = server.until_ready().await;
    assert_eq!(run(&server.client().await, "40 + 2").await.unwrap().output, "42");
    server.stop().await;
}

/// Asserts that it ends and prints all these words, and never the password.
async fn refused(mut server: Process, words: &[&str]) {
    let (code, log) = server.failure().await;
    assert_eq!(code, Some(1), "{log}");
    assert!(words.iter().all(|word| log.contains(word)), "{words:?}: {log}");
    assert!(!log.contains("hunter") && server.out().is_empty(), "{log}");
}

/// A port that was free a moment ago.
fn port() -> String {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn by_unix_socket() {
    let (redis, data) = (Redis::start().await, tempfile::tempdir().unwrap());
    works(on(data.path(), &redis.url(), &[], None)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn by_tcp_with_a_password() {
    let (port, data) = (port(), tempfile::tempdir().unwrap());
    let redis = Redis::with(&["--port", &port]).await;
    let _: () = redis.run(&["CONFIG", "SET", "requirepass", "hunter22"]).await;
    let url = format!("redis://127.0.0.1:{port}");
    works(on(data.path(), &url, &[], Some("hunter22"))).await;
    works(on(data.path(), &format!("redis://:hunter22@127.0.0.1:{port}"), &[], None)).await;
    let file = data.path().join("password");
    std::fs::write(&file, "hunter22\n").unwrap();
    works(on(data.path(), &url, &["--redis-password-file".as_ref(), file.as_ref()], None)).await;
    refused(on(data.path(), &url, &[], Some("hunter33")), &[&url, "WRONGPASS", "--redis-password-file", "HERO_REDIS_PASSWORD"]).await;
    refused(on(data.path(), &format!("redis://:hunter33@127.0.0.1:{port}"), &[], None), &[&url, "WRONGPASS"]).await;
    refused(on(data.path(), &url, &[], None), &[&url, "NOAUTH", "--redis-password-file FILE or HERO_REDIS_PASSWORD"]).await;
    let (own, inner) = (format!("1={url}"), Redis::start().await);
    let more: [&OsStr; 4] = ["--contexts".as_ref(), "0,1".as_ref(), "--context-endpoint".as_ref(), own.as_ref()];
    refused(on(data.path(), &inner.url(), &more, None), &[&url, "NOAUTH", "[[context_endpoints]]"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_in_an_address_is_not_among_the_arguments_of_the_process() {
    let (port, data) = (port(), tempfile::tempdir().unwrap());
    let redis = Redis::with(&["--port", &port]).await;
    let _: () = redis.run(&["CONFIG", "SET", "requirepass", "hunter22"]).await;
    let url = format!("redis://:hunter22@127.0.0.1:{port}");
    let shows = |pid: u32, file: &str| String::from_utf8_lossy(&std::fs::read(format!("/proc/{pid}/{file}")).unwrap()).into_owned();
    let other = format!("1={url}/7");
    let more: [&OsStr; 4] = ["--contexts".as_ref(), "0,1".as_ref(), "--context-endpoint".as_ref(), other.as_ref()];
    let server = on(data.path(), &url, &more, None).until_ready().await;
    let actor = Process::start(&["actor", "--pool", "sal=1", &format!("--redis={url}"), "--data", data.path().to_str().unwrap()])
        .until_ready()
        .await;
    for pid in [server.pid(), actor.pid()] {
        let arguments = shows(pid, "cmdline");
        assert!(arguments.contains("redis://:***@127.0.0.1") && !arguments.contains("hunter"), "{arguments}");
        assert!(!shows(pid, "environ").contains("hunter"));
        assert_eq!(shows(pid, "comm").trim(), "hero");
    }
    assert!(server.children().iter().chain(&actor.children()).all(|child| !child.command().contains("hunter")));
    assert_eq!(run(&server.client().await, "40 + 2").await.unwrap().output, "42");
    actor.stop().await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn by_tcp_as_an_acl_user() {
    let (port, data) = (port(), tempfile::tempdir().unwrap());
    let redis = Redis::with(&["--port", &port]).await;
    let user = |name, rules: &'static [&'static str]| {
        let words: Vec<&str> = ["ACL", "SETUSER", name, "on", ">hunter22", "~*", "&*"].iter().chain(rules).copied().collect();
        async { redis.run::<()>(&{ words }).await }
    };
    user("alice", &["+@all", "-@admin", "-@dangerous", "+info", "+keys"]).await;
    user("bob", &["+ping"]).await;
    user("carol", &["+@all", "-fcall"]).await;
    let url = format!("redis://127.0.0.1:{port}");
    let as_user = |name: &'static str| on(data.path(), &url, &["--redis-user".as_ref(), name.as_ref()], Some("hunter22"));
    works(as_user("alice")).await;
    refused(as_user("bob"), &[&url, "no permissions", "ACL SETUSER"]).await;
    refused(as_user("carol"), &["no permissions", "fcall"]).await;
    refused(as_user("dave"), &[&url, "WRONGPASS"]).await;
}

/// A Redis with a certificate of this authority.
async fn redis(authority: &Authority, port: &str, clients: &str) -> Redis {
    let arguments = authority.arguments(port, clients);
    Redis::with(&arguments.iter().map(String::as_str).collect::<Vec<_>>()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn by_tls_with_an_authority_of_ones_own() {
    let (port, data, ours, theirs) = (port(), tempfile::tempdir().unwrap(), Authority::new(), Authority::new());
    let server = redis(&ours, &port, "no").await;
    let _: () = server.run(&["CONFIG", "SET", "requirepass", "hunter22"]).await;
    let (url, ca) = (format!("rediss://127.0.0.1:{port}"), OsStr::new("--redis-tls-ca"));
    works(on(data.path(), &url, &[ca, ours.file("ca.pem").as_ref()], Some("hunter22"))).await;
    works(on(data.path(), &format!("rediss://localhost:{port}"), &[ca, ours.file("ca.pem").as_ref()], Some("hunter22"))).await;
    refused(on(data.path(), &url, &[ca, theirs.file("ca.pem").as_ref()], Some("hunter22")), &[&url, "certificate"]).await;
    refused(on(data.path(), &url, &[], Some("hunter22")), &[&url, "certificate"]).await;
    refused(on(data.path(), &url, &[ca, data.path().join("missing.pem").as_ref()], Some("hunter22")), &["missing.pem"]).await;
    refused(on(data.path(), &url, &[ca, ours.file("ca.pem").as_ref()], Some("hunter33")), &[&url, "WRONGPASS"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn by_tls_with_a_certificate_of_the_client() {
    let (port, data, ours, theirs) = (port(), tempfile::tempdir().unwrap(), Authority::new(), Authority::new());
    let _redis = redis(&ours, &port, "yes").await;
    let url = format!("rediss://127.0.0.1:{port}");
    let ca = ours.file("ca.pem");
    let with = |by: &Authority| {
        let (cert, key) = (by.file("client.pem"), by.file("client.key"));
        let more: [&OsStr; 6] =
            ["--redis-tls-ca".as_ref(), ca.as_ref(), "--redis-tls-cert".as_ref(), cert.as_ref(), "--redis-tls-key".as_ref(), key.as_ref()];
        on(data.path(), &url, &more, None)
    };
    works(with(&ours)).await;
    refused(with(&theirs), &[&url, "cannot use the Redis"]).await;
    refused(on(data.path(), &url, &["--redis-tls-ca".as_ref(), ca.as_ref()], None), &[&url, "cannot use the Redis"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_redis_is_refused_and_never_waited_for() {
    let data = tempfile::tempdir().unwrap();
    let listener = async |answer: &'static [u8]| {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("redis://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            let mut kept = Vec::new();
            while let Ok((mut socket, _)) = listener.accept().await {
                let _ = socket.read(&mut [0; 1024]).await;
                let _ = socket.write_all(answer).await;
                if answer.is_empty() {
                    kept.push(socket); // Says nothing and never hangs up.
                }
            }
        });
        url
    };
    let web = listener(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await;
    refused(on(data.path(), &web, &[], None), &[&web, "cannot use the Redis"]).await;
    let silent = listener(b"").await;
    refused(on(data.path(), &silent, &[], None), &[&silent, "no answer from Redis within 5s", "it is stopped or busy"]).await;
    let nobody = format!("redis://127.0.0.1:{}", port());
    refused(
        on(data.path(), &nobody, &[], None),
        &[&format!("the Redis at {nobody}: Connection refused"), "nothing listens there: start that Redis"],
    )
    .await;
    let missing = format!("unix://{}", data.path().join("missing.sock").display());
    refused(on(data.path(), &missing, &[], None), &[&missing, "No such file"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_before_7_0_is_refused_and_says_so() {
    let (port, data) = (port(), tempfile::tempdir().unwrap());
    let redis = Redis::with(&["--port", &port]).await;
    let said: String = redis.run(&["INFO", "server"]).await;
    let (_, rest) = said.split_once("redis_version:").unwrap();
    let version = rest.split(['\r', '.']).take(2).collect::<Vec<_>>().join(".");
    // A real one, whose version reads as older on the way; of the same length, so that no count is wrong.
    let (newer, older) = (format!("redis_version:{version}"), format!("redis_version:{:0<1$}", "6.2", version.len()));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let server = tokio::net::TcpStream::connect(format!("127.0.0.1:{port}")).await.unwrap();
            let ((mut from_client, mut to_client), (mut from_server, mut to_server)) = (client.into_split(), server.into_split());
            tokio::spawn(async move { tokio::io::copy(&mut from_client, &mut to_server).await });
            let (newer, older) = (newer.clone(), older.clone());
            tokio::spawn(async move {
                let mut answer = [0; 65536];
                while let Ok(length @ 1..) = from_server.read(&mut answer).await {
                    let text = String::from_utf8(answer[..length].to_vec()).unwrap().replace(&newer, &older);
                    to_client.write_all(text.as_bytes()).await?;
                }
                std::io::Result::Ok(())
            });
        }
    });
    refused(on(data.path(), &url, &[], None), &[&url, "6.2", "Redis 7.0 or newer"]).await;
}
