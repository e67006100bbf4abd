//! Refused connections, and the messages to the user and the operator.

use std::net::TcpStream;

use super::super::Hero;
use super::{Server, read};

#[test]
fn a_name_that_the_server_does_not_know_is_told_with_its_setting() {
    let server = Server::start();
    let url = server.hero.env.iter().find(|(name, _)| name == "HERO_SERVER").unwrap().1.clone();
    let port = url.rsplit(':').next().unwrap().trim_end_matches('/').to_owned();
    // An address that leads to the loopback and is none of it.
    let ended = server.run(&["job", "list", "--server", &format!("ws://0.0.0.0:{port}")]);
    assert!(ended.code == 8 && ended.err.contains("--allowed-hosts") && !ended.err.contains("HERO_TOKEN"), "{} {}", ended.code, ended.err);
}

#[test]
fn a_server_without_a_place_is_told_with_its_settings_and_once_in_its_log() {
    let server = Server::with(Hero::new(), &["--pool", "osis=1", "--max-connections", "1"]);
    let url = server.hero.env.iter().find(|(name, _)| name == "HERO_SERVER").unwrap().1.clone();
    let _held = TcpStream::connect(url.trim_start_matches("ws://").trim_end_matches('/')).unwrap();
    for _ in 0..3 {
        let ended = server.run(&["job", "list"]);
        assert!(ended.code == 7 && ended.err.contains("--max-connections"), "{} {}", ended.code, ended.err);
        assert!(ended.err.contains("429") && !ended.err.contains("that of a hero server"), "{}", ended.err);
    }
    let log = read(&server.hero, "serve.log");
    let told: Vec<_> = log.lines().filter(|line| line.contains("connections are refused")).collect();
    assert!(told.len() == 1 && told[0].contains("max_connections"), "{log}");
}
