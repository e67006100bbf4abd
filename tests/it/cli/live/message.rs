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
    assert!(long.code == 2 && long.err.contains("the message from stdin has more than 1 MB"), "{} {}", long.code, long.err);
    let twice = server.run(&["message", "send", "-", "--jobs", "-", "--to", "here"]);
    assert!(twice.code == 2 && twice.err.contains("only one of"), "{} {}", twice.code, twice.err);
    let jobs = r#"[{"script": "1", "args": {"n": 18446744073709551616}}]"#;
    let rounded = server.feed(&["message", "send", "--jobs", "-", "--to", "here"], jobs);
    assert!(rounded.code == 2 && rounded.err.contains("18446744073709551616, beyond"), "{} {}", rounded.code, rounded.err);
    // Of what stands there twice one half would be dropped on the way. In free JSON the last one counts.
    let jobs = r#"[{"script": "1"}, {"script": "2", "env_vars": {"n": "1", "\u006e": "2"}}]"#;
    let twice = server.feed(&["message", "send", "--jobs", "-", "--to", "here"], jobs);
    assert!(twice.code == 2 && twice.err.contains(r#"jobs[1]: env_vars: the name "n" stands there twice"#), "{} {}", twice.code, twice.err);
    let jobs = r#"[{"script": "1", "args": {"n": 1, "n": [-0, -0.0]}}]"#;
    let sent = server.feed(&["message", "send", "--jobs", "-", "--to", "here"], jobs);
    assert_eq!(sent.code, 0, "{}", sent.err);
    assert!(server.ok(&["--json", "message", "show", sent.out.trim()]).replace([' ', '\n'], "").contains(r#""args":{"n":[0,-0.0]}"#));
    let no_list = server.feed(&["message", "send", "--jobs", "-", "--to", "here"], "{}");
    assert!(no_list.code == 2 && no_list.err.contains("is no JSON list of jobs"), "{} {}", no_list.code, no_list.err);
}

#[test]
fn a_message_that_leads_nowhere_is_refused_at_once() {
    let server = Server::with(Hero::new().env("HERO_NODE_REDIS", "two=redis://127.0.0.1:1"), &["--pool", "osis=1"]);
    for (arguments, code, told) in [
        (&["--to", "node:nowhere"][..], 2, "node nowhere is unknown here; the setting node_redis (NAME=URL) names two"),
        (&["--to", "4a2:12::1"], 2, "this server has none (setting mycelium_url)"),
        (&["--topic", "runner99"], 1, "runner 99 does not exist in context 0; `hero runner list` gives those that do"),
        (
            &["--topic", "weather"],
            2,
            "`hero runner list` gives them) or a script type that runners have, and weather is that of none in context 0; else give an address, too",
        ),
    ] {
        let sent = server.run(&[&["message", "send", "hello"], arguments].concat());
        assert!(sent.code == code && sent.err.contains(told) && sent.out.is_empty(), "{arguments:?}: {} {}", sent.code, sent.err);
    }
    assert_eq!(server.json(&["message", "list", "--out"])["messages"], serde_json::json!([]));
    server.ok(&["message", "send", "hello", "--to", "node:two"]);
    server.ok(&["runner", "create", "osis", "--address", "node:two", "--topic", "weather"]);
    // Runners lead nowhere else than messages.
    for arguments in [&["create", "osis", "--address", "node:nowhere"][..], &["update", "1", "--address", "node:nowhere"]] {
        let refused = server.run(&[&["runner"], arguments].concat());
        let told = "address: node nowhere is unknown here; the setting node_redis (NAME=URL) names two";
        assert!(refused.code == 2 && refused.err.contains(told), "{arguments:?}: {} {}", refused.code, refused.err);
    }
    server.ok(&["message", "send", "hello", "--topic", "weather"]);
    server.ok(&["message", "send", "hello", "--topic", "runner1"]);
}

#[test]
fn who_is_at_an_address_is_told_by_way_key_clock_and_time_of_the_answer() {
    let server = Server::with(Hero::new().env("HERO_NODE_REDIS", "two=redis://127.0.0.1:1"), &["--pool", "osis=1"]);
    let key = server.ok(&["message", "key"]);
    let told = server.ok(&["message", "ping", "here", "--count", "2"]);
    let lines: Vec<&str> = told.lines().collect();
    let heads = [
        "route    context 0 of this server",
        "key      ",
        "trust    each takes what the other signs",
        "clock    ",
        "answer   after ",
        "answer   after ",
    ];
    assert_eq!(lines.len(), heads.len(), "{told}");
    assert!(lines.iter().zip(heads).all(|(line, head)| line.starts_with(head)) && lines[1].contains(key.trim()), "{told}");
    let json = server.json(&["message", "ping", "here", "--count", "1"]);
    assert_eq!(json["answer"]["key"], key.trim());
    let silent = server.run(&["message", "ping", "node:two", "--count", "1"]);
    assert!(
        silent.code == 1 && silent.out.contains("silence  the Redis of the other side is unavailable"),
        "{} {}",
        silent.code,
        silent.out
    );
}

#[test]
fn messages_that_failed_are_listed_by_their_status() {
    let server = Server::with(Hero::new().env("HERO_NODE_REDIS", "two=redis://127.0.0.1:1"), &["--pool", "osis=1"]);
    let sent = server.ok(&["message", "send", "hello", "--to", "node:two", "--timeout-ack", "1"]);
    // Nobody is there.
    let failed = || server.json(&["message", "list", "--status", "error"])["messages"].as_array().unwrap().clone();
    let began = std::time::Instant::now();
    while failed().is_empty() && began.elapsed() < crate::support::PATIENCE {}
    let listed = server.ok(&["message", "list", "--status", "error"]);
    let row = listed.lines().nth(1).unwrap();
    // Where it was to go, and why it did not arrive.
    assert!(row.starts_with(&sent) && row.contains("to node:two") && row.contains("it was not acknowledged within 1 s"), "{listed}");
    assert_eq!(server.json(&["message", "list", "--out"])["messages"], serde_json::json!([]));
    let both = server.run(&["message", "list", "--out", "--status", "error"]);
    assert!(both.code == 2 && both.err.contains("cannot be used with"), "{} {}", both.code, both.err);
}

#[test]
fn a_list_says_of_each_message_where_it_goes_or_from_whom_it_came() {
    let server = Server::with(Hero::new().env("HERO_NODE_REDIS", "two=redis://127.0.0.1:1"), &["--pool", "osis=1"]);
    server.ok(&["message", "send", "away", "--to", "node:two"]);
    server.ok(&["message", "send", "round", "--to", "here"]);
    let out = server.ok(&["message", "list", "--out"]);
    assert!(out.lines().any(|line| line.contains("to node:two") && line.ends_with("away")), "{out}");
    let came = format!("from {}", &server.ok(&["message", "key"])[..8]);
    let began = std::time::Instant::now();
    let mut listed = String::new();
    while !listed.contains("round") && began.elapsed() < crate::support::PATIENCE {
        listed = server.ok(&["message", "list"]);
    }
    assert!(listed.lines().any(|line| line.contains(&came) && line.ends_with("round")), "{listed}");
    let dispatched = server.ok(&["message", "list", "--status", "dispatched"]);
    for way in ["to node:two", &came] {
        assert!(dispatched.contains(way), "{dispatched}");
    }
}
