//! `hero message`.

use super::super::Hero;
use super::Server;

#[test]
fn a_message_comes_from_stdin_and_is_no_longer_than_one_may_be() {
    let server = Server::start();
    let sent = server.feed(&["message", "send", "-", "--to", "here"], "from\nstdin\n");
    assert_eq!(sent.code, 0, "{}", sent.err);
    assert_eq!(server.json(&["message", "show", sent.out.trim()])["message"], "from\nstdin\n");
    let long = server.feed(&["message", "send", "-", "--to", "here"], &"x".repeat((1 << 20) + 1));
    assert!(long.code == 1 && long.err.contains("the message from stdin has more than 1 MB"), "{} {}", long.code, long.err);
    let twice = server.run(&["message", "send", "-", "--jobs", "-", "--to", "here"]);
    assert!(twice.code == 2 && twice.err.contains("only one of"), "{} {}", twice.code, twice.err);
}

#[test]
fn a_message_that_leads_nowhere_is_refused_at_once() {
    let server = Server::with(Hero::new().env("HERO_NODE_REDIS", "two=redis://127.0.0.1:1"), &["--pool", "osis=1"]);
    for (arguments, code, told) in [
        (&["--to", "node:nowhere"][..], 2, "node nowhere is unknown here; the setting node_redis (NAME=URL) names two"),
        (&["--to", "4a2:12::1"], 2, "this server has none (setting mycelium_url)"),
        (&["--topic", "runner99"], 1, "runner 99 does not exist in context 0; `hero runner list` gives those that do"),
        (&["--topic", "weather"], 2, "is that of a runner (runner1 and so on; `hero runner list` gives them), and not weather"),
    ] {
        let sent = server.run(&[&["message", "send", "hello"], arguments].concat());
        assert!(sent.code == code && sent.err.contains(told) && sent.out.is_empty(), "{arguments:?}: {} {}", sent.code, sent.err);
    }
    assert_eq!(server.json(&["message", "list", "--out"])["messages"], serde_json::json!([]));
    server.ok(&["message", "send", "hello", "--to", "node:two"]);
    server.ok(&["runner", "create", "osis", "--address", "node:two"]);
    server.ok(&["message", "send", "hello", "--topic", "runner1"]);
}
