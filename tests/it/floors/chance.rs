//! Tests must not depend on chance or sleep.

use super::rust_files;

/// Calls that return something else in each run. Identities (`JobId::random`, keys) are allowed, because nothing
/// depends on their value.
const CHANCE: [&str; 5] = ["rand::random", "rand::rng()", "from_os_rng", "from_entropy", "RngSeed::Random"];

/// The places where a test sleeps, and the reason why it does not wait for an event instead.
const SLEEPS: [(&str, &str); 18] = [
    ("actor/away.rs", "how long Redis is away"),
    ("chaos/hash_slot.rs", "the pace at which a slot moves"),
    ("chaos/load.rs", "a client that was refused asks again"),
    ("chaos/town.rs", "a process sleeps for longer than a lease"),
    ("cli/ended.rs", "long enough that a command looks for its server"),
    ("dispatch/relations/mod.rs", "asks again until nothing is left"),
    ("foreign/worker.rs", "a worker that hesitates, and a Redis that is away"),
    ("layouts/push.rs", "a worker that is slow"),
    ("mcp/stdio.rs", "a server that is slow to answer"),
    ("messages/flows.rs", "how long a way is cut"),
    ("rpc/faults.rs", "how long Redis is away"),
    ("rpc/wire/backpressure.rs", "asks again until all have come"),
    ("rpc/wire/mod.rs", "asks again until a condition holds"),
    ("rpc/wire/readers.rs", "a reader that is slow"),
    ("rpc/wire/subscriptions.rs", "a reader that is slow, and one that asks again"),
    ("runners/local.rs", "counts engines now and then while a job runs"),
    ("support/mod.rs", "asks again until the answer is there"),
    ("../doc/ground.rs", "asks again until Redis answers, and for jobs"),
];

#[test]
fn no_test_draws_by_chance() {
    for (file, text) in rust_files("tests") {
        for (at, line) in text.lines().enumerate().filter(|_| !file.ends_with("floors/chance.rs")) {
            let found = CHANCE.iter().find(|chance| line.contains(**chance));
            assert!(found.is_none(), "{file}:{}: {found:?} gives something else in each run: support::random() does not", at + 1);
        }
    }
}

#[test]
fn a_test_that_sleeps_does_so_for_a_reason_that_is_listed() {
    let sleeps = |text: &str| {
        text.lines().any(|line| line.contains("time::sleep(") || line.contains("sleep_until(") || line.contains("thread::sleep("))
    };
    let mut found: Vec<String> = rust_files("tests").into_iter().filter(|(_, text)| sleeps(text)).map(|(file, _)| file).collect();
    found.retain(|file| !file.ends_with("floors/chance.rs") && !is_script_only(file));
    let mut listed: Vec<String> = SLEEPS.iter().map(|(file, _)| format!("tests/it/{file}").replace("it/../", "")).collect();
    listed.sort();
    assert_eq!(found, listed, "a test waits by `until`, or says here why it sleeps");
}

/// Whether only scripts in these files sleep, in Python.
fn is_script_only(file: &str) -> bool {
    ["engine/breakouts.rs", "engine/python.rs", "engine/python_ends.rs"].iter().any(|name| file.ends_with(name))
}
