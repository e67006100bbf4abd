//! Grants for scripts, by pool and by context, on a server as an operator starts it.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use hero::client::Client;
use hero::model::{ContextId, JobSpec};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, Stream};

use super::super::Hero;
use crate::support::{Authority, PATIENCE, Process, Redis, Web};

/// The result of a sal script in a context, or its error.
async fn told(client: &Client, context: u32, script: &str) -> String {
    let spec =
        JobSpec { script_type: "sal".parse().unwrap(), context_id: ContextId(context), script: script.to_owned(), ..JobSpec::default() };
    client.run_and_wait(&spec, PATIENCE).await.map_or_else(|error| error.to_string(), |result| result.output)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_context_has_what_its_pool_and_itself_are_granted_and_files_of_its_own() {
    let (home, web, redis) = (tempfile::tempdir().unwrap(), Web::start().await, Redis::start().await);
    let config = home.path().join("hero.toml");
    let pools = format!(
        "[contexts.0]\nprocess_memory = \"32MB\"\n[contexts.1]\ncapabilities = [\"fs\", \"net\"]\n[contexts.2]\ncapabilities = []\n[[pools]]\ntype = \"sal\"\ncapabilities = [\"fs\", \"net\", \"redis\", \"process\"]\n\
         hosts = [\"{}\"]\nredis = \"{}?db={{context}}\"\n",
        web.address,
        redis.url()
    );
    std::fs::write(&config, pools).unwrap();
    let data = home.path().join("data");
    let server = Process::serve(&data, &["--config", config.to_str().unwrap()]).await;
    let client = server.client().await;
    let get = format!("http_get({:?})", web.url("/greeting"));
    for context in [0, 1] {
        assert_eq!(
            told(&client, context, &format!("file_write(\"mine\", \"{context}\"); find_files(\".\", \"*\").join(\",\")")).await,
            "./mine"
        );
        assert_eq!(told(&client, context, &get).await, "hello");
    }
    for context in [0, 1] {
        assert_eq!(told(&client, context, "file_read(\"mine\")").await, context.to_string());
        let files = data.join("files").join(context.to_string());
        assert_eq!(std::fs::read_to_string(files.join("mine")).unwrap(), context.to_string());
    }
    let other = "run_command(\"cat ../1/mine\")";
    assert!(told(&client, 0, other).await.contains("the command ended with code 1"));
    assert_eq!(told(&client, 0, "run_silent(\"ulimit -d\").stdout").await, "32768\n");
    assert_eq!(told(&client, 0, "redis_set(\"a\", \"b\")").await, "true");
    assert!(told(&client, 1, "redis_get(\"a\")").await.contains("pools and contexts with the grant redis"));
    assert!(told(&client, 1, other).await.contains("pools and contexts with the grant process"));
    assert!(told(&client, 2, "exist(\"mine\")").await.contains("pools and contexts with the grant fs"));
    assert!(told(&client, 2, &get).await.contains("pools and contexts with the grant net"));
    let granted = async |context| client.list_actors(ContextId(context)).await.unwrap()[0].presence.capabilities.clone();
    assert_eq!(
        (granted(0).await, granted(1).await, granted(2).await),
        (vec!["fs".into(), "net".into(), "redis".into(), "process".into()], vec!["fs".into(), "net".into()], Vec::<String>::new())
    );
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sal_pools_have_files_and_nothing_else_unless_they_are_granted_it() {
    let home = tempfile::tempdir().unwrap();
    let server = Process::serve(&home.path().join("data"), &["--pool", "sal=1"]).await;
    let client = server.client().await;
    assert_eq!(told(&client, 0, "file_write(\"a\", \"x\"); file_size(\"a\")").await, "1");
    for (script, grant) in [("run(\"ls\")", "process"), ("tcp_check(\"localhost\", 80)", "net"), ("redis_ping()", "redis")] {
        assert!(told(&client, 0, script).await.contains(&format!("pools and contexts with the grant {grant}")), "{script}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_does_not_start_with_its_own_redis_for_scripts() {
    let (home, redis) = (tempfile::tempdir().unwrap(), Redis::start().await);
    let config = home.path().join("hero.toml");
    let data = home.path().join("data");
    for (own, named) in
        [(format!("redis = {:?}\n", redis.url()), redis.url()), (String::new(), format!("unix://{}", data.join("redis.sock").display()))]
    {
        std::fs::write(&config, format!("{own}[[pools]]\ntype = \"sal\"\ncapabilities = [\"redis\"]\nredis = {named:?}\n")).unwrap();
        let mut server = Process::serving(&data, &["--config", config.to_str().unwrap()]);
        if own.is_empty() {
            // Nobody knows the password of a private one. So nothing is known of it, and no script gets an answer.
            let server = server.until_ready().await;
            assert!(told(&server.client().await, 0, "redis_ping()").await.contains("cannot be used"));
            server.stop().await;
        } else {
            let (code, said) = server.failure().await;
            assert_eq!(code, Some(2), "{said}");
            assert!(said.contains("pool sal:default: redis") && said.contains("in which hero keeps its jobs"), "{said}");
        }
    }
}

#[test]
fn a_grant_that_names_nothing_is_refused_with_what_to_do() {
    let hero = Hero::new();
    for (config, told) in [
        ("[[pools]]\ntype = \"sal\"\ncapabilities = [\"\"]", "\"\" is not a grant (one of fs, process, net, redis)"),
        ("[[pools]]\ntype = \"sal\"\ncapabilities = [\"proces\"]", "did you mean process?"),
        ("[[pools]]\ntype = \"sal\"\ncapabilities = [\"net\"]", "net is granted, but names no host"),
        ("[[pools]]\ntype = \"sal\"\nhosts = [\"example.org\"]", "hosts are named, but net is not granted"),
        ("[[pools]]\ntype = \"sal\"\ncapabilities = [\"net\"]\nhosts = [\"http://example.org\"]", "names no host: such are example.org"),
        ("[[pools]]\ntype = \"sal\"\ncapabilities = [\"redis\"]", "redis is granted, but names no Redis"),
        ("[[pools]]\ntype = \"sal\"\nredis = \"redis://h\"", "a Redis is named, but redis is not granted"),
        ("[[pools]]\ntype = \"sal\"\ncapabilities = [\"redis\"]\nredis = \"h:6379\"", "a Redis address begins with"),
        ("[[pools]]\ntype = \"python\"\ncapabilities = [\"fs\"]", "capabilities are for scripts of type osis and sal"),
        ("[contexts.0]\ncapabilities = [\"root\"]", "\"root\" is not a grant"),
        ("[contexts.0]\nfiles_quota = 0", "0 would let nothing through"),
        ("files_quota = 0", "0 would let nothing through"),
    ] {
        let file = hero.file("hero.toml", &format!("{config}\n"));
        let ended = hero.run(&["serve", "--config", &file]);
        assert!(ended.code == 2 && ended.err.contains(told), "{config}: {}", ended.err);
    }
    let config = "[[pools]]\ntype = \"sal\"\ncapabilities = [\"redis\"]\nredis = \"redis://:hunter22@h\"\n";
    let ended = hero.run(&["serve", "--print-config", "--config", &hero.file("hero.toml", config)]);
    assert!(ended.code == 0 && ended.out.contains("redis://:***@h") && !ended.out.contains("hunter22"), "{}{}", ended.out, ended.err);
}

#[test]
fn a_context_that_grants_what_no_pool_of_it_has_is_warned_of() {
    let hero = Hero::new();
    let pools = "[[pools]]\ntype = \"sal\"\ncontexts = [0]\n[[pools]]\ntype = \"osis\"\ncontexts = [0, 1]\n";
    let of = |context: u32, name: &str| {
        format!(
            "context {context}: capabilities: {name} has no effect, because no pool of the context is granted it; add it to capabilities of a pool"
        )
    };
    for (contexts, told) in [
        ("[contexts.0]\ncapabilities = [\"fs\", \"net\"]\n[contexts.1]", vec![of(0, "net")]),
        ("[contexts.0]\n[contexts.1]\ncapabilities = [\"fs\", \"redis\"]", vec![of(1, "fs"), of(1, "redis")]),
        // None could have it here. They may be on another machine.
        ("[contexts.0]\ncapabilities = [\"fs\"]\n[contexts.1]\n[contexts.2]\ncapabilities = [\"fs\"]", vec![]),
        ("[contexts.0]\ncapabilities = []\n[contexts.1]\ncapabilities = []", vec![]),
    ] {
        let ended = hero.run(&["serve", "--print-config", "--config", &hero.file("hero.toml", &format!("{pools}{contexts}\n"))]);
        let warned: Vec<&str> = ended.err.lines().collect();
        assert!(ended.code == 0 && warned.len() == told.len(), "{contexts}: {}", ended.err);
        assert!(warned.iter().zip(&told).all(|(warned, told)| warned.ends_with(told)), "{contexts}: {}", ended.err);
    }
}

/// Answers HTTP over TLS, with the certificate of an authority.
fn secure_web(authority: &Authority) -> SocketAddr {
    let certificate = CertificateDer::from_pem_file(authority.file("server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(authority.file("server.key")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let config = Arc::new(config.with_single_cert(vec![certificate], key).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let (mut socket, mut connection) = (socket.unwrap(), ServerConnection::new(config.clone()).unwrap());
            let mut stream = Stream::new(&mut connection, &mut socket);
            // Who does not trust it goes away.
            if stream.read(&mut [0; 4096]).is_ok_and(|read| read > 0) {
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\nconnection: close\r\n\r\nsecret").unwrap();
                stream.conn.send_close_notify();
                let _ = stream.flush();
            }
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_a_certificate_is_known_by_the_authorities_of_the_system() {
    let (home, authority) = (tempfile::tempdir().unwrap(), Authority::new());
    let port = secure_web(&authority).port();
    let config = home.path().join("hero.toml");
    let pool = "[[pools]]\ntype = \"sal\"\ncapabilities = [\"net\"]";
    std::fs::write(&config, format!("{pool}\nhosts = [\"localhost:{port}\", \"127.0.0.1:{port}\"]\n")).unwrap();
    for is_known in [true, false] {
        let data = home.path().join(is_known.to_string());
        let arguments = ["serve", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap(), "--config", config.to_str().unwrap()];
        let known = |command: &mut tokio::process::Command| {
            if is_known {
                command.env("SSL_CERT_FILE", authority.file("ca.pem"));
            }
        };
        let server = Process::start_with(&arguments, known).until_ready().await;
        let said = told(&server.client().await, 0, &format!("http_get(\"https://localhost:{port}/\")")).await;
        assert!(if is_known { said == "secret" } else { said.contains("certificate") }, "{said}");
        server.stop().await;
    }
}
