use super::*;
use crate::support::{Authority as Certificates, Process, hero, until};

/// The whole program: login on, the first identity by the operator's socket, a job by its token.
#[tokio::test(flavor = "multi_thread")]
async fn the_first_identity_and_its_token_are_made_over_the_socket_of_the_operator() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data").display().to_string();
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--data", &data, "--pool", "osis=1", "--login"];
    let server = Process::start_with(&arguments, |_| {}).until_ready().await;
    let socket = format!("unix://{data}/hero.sock");
    let operator = Client::connect(&socket, None).await.unwrap();
    assert!(operator.whoami().await.unwrap().operator);
    let identity = operator.create_identity(None, &[]).await.unwrap().identity_id;
    let made = operator.create_token(identity, Some("first"), None).await.unwrap();
    operator.set_role(identity, Role::Caller, CONTEXT, true).await.unwrap();
    let client = Client::connect(&server.url(), Some(&made.secret)).await.unwrap();
    let result: Value = client.call_named("run_and_wait", json!(["40 + 2"])).await.unwrap();
    assert_eq!(result["value"], 42);
    assert_eq!(code(&Client::connect(&server.url(), None).await.unwrap(), "run_and_wait", json!(["1"])).await, 1005);
    let mode = |name: &str| {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::metadata(format!("{data}/{name}")).unwrap().permissions().mode() & 0o777
    };
    assert_eq!((mode("hero.sock"), mode("token.key")), (0o600, 0o600));
    server.stop().await;
    assert!(!std::path::Path::new(&format!("{data}/hero.sock")).exists(), "a server that ends takes its socket away");
    // The next start has the same key, and takes the place of the socket.
    let server = Process::start_with(&arguments, |_| {}).until_ready().await;
    let client = Client::connect(&server.url(), Some(&made.secret)).await.unwrap();
    assert_eq!(client.whoami().await.unwrap().identity_id, Some(identity));
    assert!(Client::connect(&socket, None).await.unwrap().whoami().await.unwrap().operator);
    server.stop().await;
}

/// The commands that a user types: a key, its identity, a login, a job.
#[tokio::test(flavor = "multi_thread")]
async fn a_user_logs_in_with_the_key_in_a_file() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data").display().to_string();
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--data", &data, "--pool", "osis=1", "--login", "--login-lifetime", "2h"];
    let server = Process::start_with(&arguments, |_| {}).until_ready().await;
    let (file, url, socket) = (home.path().join("keys/own.key").display().to_string(), server.url(), format!("unix://{data}/hero.sock"));
    let run = |server: &str, token: &str, arguments: &[&str]| {
        let mut command = std::process::Command::new(hero());
        command.args(arguments).env_clear().env("HOME", home.path()).env("HERO_SERVER", server).env("HERO_TOKEN", token);
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().trim_end().to_owned();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    };
    let (code, _, error) = run(&url, "", &["login", "--key", &file]);
    assert!(code == 2 && error.contains("hero identity key"), "{code} {error}");
    let (code, pubkey, error) = run("", "", &["identity", "key", &file]);
    assert!(code == 0 && pubkey.len() == 130, "{code} {pubkey} {error}");
    assert_eq!(run("", "", &["identity", "key", &file]).1, pubkey, "a key that is there stays");
    let (code, _, error) = run(&url, "", &["login", "--key", &file]);
    assert!(code == 8 && error.contains("hero identity create --pubkey"), "{code} {error}");
    let id = run(&socket, "", &["identity", "create", "--pubkey", &pubkey]).1;
    assert_eq!(run(&socket, "", &["rights", "grant", &id, "caller"]).0, 0);
    // A token that is over is no hindrance.
    let (code, token, note) = run(&url, "hero_over", &["login", "--key", &file]);
    assert!(code == 0 && token.starts_with("hero_") && note.contains(&format!("identity {id}")), "{code} {token} {note}");
    let (code, result, error) = run(&url, &token, &["run", "-e", "40 + 2"]);
    assert!(code == 0 && result == "42", "{code} {result} {error}");
    let made: Value = serde_json::from_str(&run(&url, "", &["login", "--key", &file, "--json"]).1).unwrap();
    assert_eq!(made["identity_id"].to_string(), id);
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let (code, _, error) = run(&url, "", &["login", "--key", &file]);
    assert!(code == 1 && error.contains("chmod 600"), "{code} {error}");
    server.stop().await;
}

/// The error for a user whose token is invalid or has expired.
#[tokio::test(flavor = "multi_thread")]
async fn a_user_hears_what_is_the_matter_with_his_token() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data").display().to_string();
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--data", &data, "--pool", "osis=1", "--login"];
    let server = Process::start_with(&arguments, |_| {}).until_ready().await;
    let (url, socket) = (server.url(), format!("unix://{data}/hero.sock"));
    let command = |server: &str, token: &str, arguments: &[&str]| {
        let mut command = std::process::Command::new(hero());
        command.args(arguments).env_clear().env("HOME", home.path()).env("HERO_SERVER", server).env("HERO_TOKEN", token);
        command
    };
    let run = |server: &str, token: &str, arguments: &[&str]| {
        let output = command(server, token, arguments).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().trim_end().to_owned();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    };
    let id = run(&socket, "", &["identity", "create"]).1;
    assert_eq!(run(&socket, "", &["rights", "grant", &id, "caller"]).0, 0);
    let token = run(&socket, "", &["token", "create", &id]).1;
    let (code, _, told) = run(&url, "", &["whoami"]);
    assert!(code == 8 && told.contains("set HERO_TOKEN"), "{code} {told}");
    let (code, _, told) = run(&url, "hero_none", &["whoami"]);
    assert!(code == 8 && told.contains("the token in HERO_TOKEN is unknown") && !told.contains("set HERO_TOKEN"), "{code} {told}");
    let (code, _, told) = run(&url, &token, &["identity", "create"]);
    assert!(code == 8 && told.contains("hero.sock") && !told.contains("rights grant"), "{code} {told}");
    let (code, _, told) = run(&socket, "", &["token", "list", "9"]);
    assert!(code == 1 && told.contains("identity 9 does not exist; `hero identity list`"), "{code} {told}");
    let lost = home.path().join("a/b/key").display().to_string();
    let (code, _, told) = run("", "", &["identity", "key", &lost]);
    assert!(code == 1 && told.contains("there is no directory") && !home.path().join("a").exists(), "{code} {told}");

    let mut running = command(&url, &token, &["run", "-e", "print(\"begun\"); loop { }"]);
    let mut running = running.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut said = std::io::BufReader::new(running.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("begun") {
        assert_ne!(std::io::BufRead::read_line(&mut said, &mut line).unwrap(), 0, "{line}");
    }
    let tokens: Value = serde_json::from_str(&run(&socket, "", &["token", "list", &id, "--json"]).1).unwrap();
    assert_eq!(run(&socket, "", &["token", "revoke", tokens[0]["token_id"].as_str().unwrap()]).0, 0);
    let (mut rest, code) = (String::new(), running.wait().unwrap().code());
    std::io::Read::read_to_string(&mut said, &mut rest).unwrap();
    assert!(code == Some(8) && rest.contains("the token was revoked or has expired"), "{code:?} {rest}");
    assert!(rest.contains("HERO_TOKEN") && !rest.contains("CloseReason") && !rest.contains("still runs"), "{rest}");
    server.stop().await;
}

/// The whole program by TLS: its ready line, the command line, a new certificate at SIGHUP.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_a_certificate_is_used_by_wss_and_reads_a_new_one_at_sighup() {
    let (home, authority) = (tempfile::tempdir().unwrap(), Certificates::new());
    let file = |name: &str| home.path().join(name).display().to_string();
    let put = |name: &str| {
        std::fs::copy(authority.file(&format!("{name}.pem")), file("cert.pem")).unwrap();
        std::fs::copy(authority.file(&format!("{name}.key")), file("key.pem")).unwrap();
    };
    put("server");
    let (data, certificate, key) = (file("data"), file("cert.pem"), file("key.pem"));
    let arguments =
        ["serve", "--listen", "127.0.0.1:0", "--data", &data, "--pool", "osis=1", "--tls-cert", &certificate, "--tls-key", &key];
    let server = Process::start_with(&arguments, |_| {}).until_ready().await;
    let url = server.url();
    assert!(url.starts_with("wss://127.0.0.1:"), "{url}");
    let run = |ca: &str| {
        let mut command = std::process::Command::new(hero());
        command.args(["run", "-e", "40 + 2", "--server", &url, "--ca", ca]).env_clear().env("HOME", home.path());
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().trim_end().to_owned();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    };
    let ca = authority.file("ca.pem").display().to_string();
    assert_eq!(run(&ca), (0, "42".to_owned(), String::new()));
    let (code, _, told) = run(&file("key.pem"));
    assert!(code == 2 && told.contains("has no certificate in PEM") && told.contains("--ca"), "{code} {told}");
    put("renewed");
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    server.signal(rustix::process::Signal::HUP);
    until("it was read", || async { server.log().contains("the certificate was read again").then_some(()) }).await;
    assert_eq!(run(&ca).0, 0);
    assert!(server.log().contains("(mode 644), the key of the certificate"), "{}", server.log());
    std::fs::write(&certificate, "nonsense").unwrap();
    server.signal(rustix::process::Signal::HUP);
    until("it was refused", || async { server.log().contains("the certificate stays as it was").then_some(()) }).await;
    assert_eq!(run(&ca).0, 0);
    server.stop().await;
    // Settings that cannot work are refused at the start, with the reason.
    let start = |more: &[&str]| {
        let output = std::process::Command::new(hero()).args([&["serve", "--data", &data], more].concat()).env_clear().output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, told) = start(&["--tls-cert", &certificate]);
    assert!(code == 2 && told.contains("give tls_key, too"), "{code} {told}");
    let (code, told) = start(&["--tls-cert", &certificate, "--tls-key", &key]);
    assert!(code == 2 && told.contains("has no certificate in PEM"), "{code} {told}");
}
