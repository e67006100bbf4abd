//! Numbers that stand both in Rust and in Lua are the same.

use std::fs;

use crate::support::root;

/// Each pair: the file in Lua and the name there, the file in Rust and the name there.
const PAIRS: [[&str; 4]; 12] = [
    ["public/log.lua", "LINES", "store/src/jobs/log.rs", "KEPT_LINES"],
    ["public/log.lua", "AT_MOST", "store/src/jobs/log.rs", "MAX_RETENTION"],
    ["attempts.lua", "LOG_LINES", "store/src/jobs/log.rs", "KEPT_LINES"],
    ["attempts.lua", "LOG_SECONDS", "store/src/jobs/log.rs", "MAX_RETENTION"],
    ["public/present.lua", "SECONDS", "store/src/actors/presence.rs", "PRESENCE"],
    ["messages.lua", "messages.MOST_IN", "store/src/functions/receive_message.rs", "MOST_IN"],
    ["messages.lua", "MOST_LISTED", "store/src/messages/lists.rs", "MOST_LISTED"],
    ["functions/tend_messages.lua", "SILENT", "store/src/messages.rs", "SILENT_AFTER_MILLIS"],
    ["functions/create_flow.lua", "MOST_FLOWS", "store/src/functions/create_flow.rs", "MAX_FLOWS"],
    ["cycles.lua", "cycles.MOST_FOLLOWED", "store/src/relations/following.rs", "MAX_FOLLOWED"],
    ["masks.lua", "SHORTEST", "model/src/secrecy.rs", "SHORTEST_SECRET"],
    ["masks.lua", "LONG", "model/src/secrecy.rs", "LONG_SECRET"],
];

/// The value of a name in `local A, B = 1, 2` or `module.A = 1`.
fn in_lua(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (names, values) = line.strip_prefix("local ").unwrap_or(line).split_once(" = ")?;
        let at = names.split(", ").position(|one| one == name)?;
        value(values.split(", ").nth(at)?)
    })
}

/// The value of a constant: a number, or the seconds of a duration.
fn in_rust(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (_, rest) = line.split_once(&format!("const {name}: "))?;
        let (_, value_of) = rest.split_once(" = ")?;
        let value_of = value_of.strip_suffix(';')?;
        value(value_of.strip_prefix("Duration::from_secs(").and_then(|seconds| seconds.strip_suffix(')')).unwrap_or(value_of))
    })
}

/// A number, or a product of some.
fn value(text: &str) -> Option<u64> {
    text.split(" * ").map(|factor| factor.trim_matches('\'').replace('_', "").parse::<u64>().ok()).product()
}

#[test]
fn numbers_in_lua_are_those_in_rust() {
    for [lua, in_lua_as, rust, in_rust_as] in PAIRS {
        let read = |path: &str| fs::read_to_string(root().join(path)).unwrap();
        let there = in_lua(&read(&format!("crates/store/src/lua/{lua}")), in_lua_as);
        let here = in_rust(&read(&format!("crates/{rust}")), in_rust_as);
        assert!(there.is_some() && there == here, "{in_lua_as} of {lua}: {there:?}; {in_rust_as} of {rust}: {here:?}");
    }
}
