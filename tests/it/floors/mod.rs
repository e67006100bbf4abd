//! Rules for the source that the compiler does not check: places that name keys, cycles, sizes, and forbidden words.
//! Each `Cargo.toml` already restricts a crate to the crates below it.

mod bare_names;
mod chance;
mod circles;
mod features;
mod functions;
mod light;
mod numbers;
mod views;

use std::collections::BTreeMap;

use crate::support::{crates, files_below, root};

/// Commands that only the store may send to Redis, and prefixes of keys that only it may create.
const OF_REDIS: [&str; 4] = ["redis::", "rhai_tasks", "rhai_task_details", "{ctx:"];
/// Modules of one crate that must not see each other: a path, and the names forbidden below it.
const APART: [(&str, &str); 8] = [
    ("crates/engine/src/rhai/", "crate::reference"),
    ("crates/jobs/src/dispatch/", "crate::actor"),
    ("crates/jobs/src/log_file", "crate::actor"),
    ("crates/jobs/src/log_file", "crate::dispatch"),
    ("crates/layouts/src/conveyor/", "crate::rhailib"),
    ("crates/layouts/src/rhailib/", "crate::conveyor"),
    ("crates/rpc/src/middleware/", "websocket::"),
    ("crates/rpc/src/session/", "openrpc"),
];
/// At this length a file is split.
const MAX_LINES: usize = 400;

/// Every folder with the source of a crate, from the root, with its files by their paths there.
fn sources() -> BTreeMap<String, BTreeMap<String, String>> {
    let folders = crates().into_iter().map(|name| format!("crates/{name}/src")).chain(["src".to_owned()]);
    folders.map(|folder| (folder.clone(), files_below(&root().join(folder)))).collect()
}

/// Every file of the source, by its path from the root.
fn files() -> BTreeMap<String, String> {
    let named =
        |(folder, files): (String, BTreeMap<String, String>)| files.into_iter().map(move |(file, text)| (format!("{folder}/{file}"), text));
    sources().into_iter().flat_map(named).collect()
}

/// Every file in Rust below a directory of the project, by its path from the root, with the text.
fn rust_files(directory: &str) -> BTreeMap<String, String> {
    let files = files_below(&root().join(directory));
    files.into_iter().filter(|(file, _)| file.ends_with(".rs")).map(|(file, text)| (format!("{directory}/{file}"), text)).collect()
}

/// The code of a file without comments, and without its tests, which stand at the end.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().take_while(|(_, line)| line.trim() != "#[cfg(test)]");
    lines.map(|(at, line)| (at + 1, line.split("//").next().unwrap_or_default()))
}

#[test]
fn every_crate_keeps_the_rules_of_the_workspace_and_is_explained() {
    let architecture = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for name in crates() {
        let manifest = std::fs::read_to_string(root().join(format!("crates/{name}/Cargo.toml"))).unwrap();
        assert!(manifest.contains("[lints]\nworkspace = true\n"), "crates/{name}/Cargo.toml does not take the lints of the workspace");
        let lib = std::fs::read_to_string(root().join(format!("crates/{name}/src/lib.rs"))).unwrap();
        let is_explained = lib.starts_with("#![doc = include_str!(\"../README.md\")]\n") || lib.starts_with("//! ");
        assert!(is_explained && lib.contains("\n#![deny(unsafe_code)]\n"), "crates/{name}/src/lib.rs");
        assert!(architecture.contains(&format!("`crates/{name}`")), "ARCHITECTURE.md does not say what crates/{name} is");
    }
}

#[test]
fn modules_of_one_crate_that_stand_apart_do_not_name_each_other() {
    let mut wrong = Vec::new();
    for (file, text) in files().iter().filter(|(file, _)| file.ends_with(".rs")) {
        for (at, line) in code(text) {
            let apart = APART.iter().filter(|(below, named)| file.starts_with(below) && line.contains(named));
            wrong.extend(apart.map(|(_, named)| format!("{file}:{at} uses {named}")));
            if line.contains("super::super::super") {
                wrong.push(format!("{file}:{at} climbs with super::"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Whether a line has a word with nothing before it that would make it another one.
fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| !line[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_'))
}

/// Whether a line has a key of hero, as `hero:job:` or `hero:{`.
fn has_key(line: &str) -> bool {
    let mut behind = line.match_indices("hero:").filter_map(|(at, found)| line[at + found.len()..].chars().next());
    behind.any(|next| next.is_ascii_alphanumeric() || next == '{')
}

#[test]
fn nobody_but_the_store_speaks_to_redis_and_nobody_but_the_keys_makes_a_key() {
    let mut wrong = Vec::new();
    for (file, text) in files().iter().filter(|(file, _)| file.ends_with(".rs") && !file.starts_with("crates/store/")) {
        for (at, line) in code(text) {
            for word in OF_REDIS.into_iter().filter(|word| has_word(line, word)) {
                wrong.push(format!("{file}:{at} has {word}"));
            }
            if has_key(line) {
                wrong.push(format!("{file}:{at} makes a key"));
            }
            if line.contains("hero_store::keys") && file != "src/lib.rs" || line.contains("crate::keys") {
                wrong.push(format!("{file}:{at} uses keys"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A file may use items that its own parents define. Nothing else may form a cycle.
#[test]
fn no_files_use_each_other_in_a_circle() {
    for (folder, files) in sources() {
        let rust = files.iter().filter(|(file, _)| file.ends_with(".rs") && file.as_str() != "main.rs");
        let graph = circles::Graph::of(rust.map(|(file, text)| (file.as_str(), code(text).map(|(_, line)| line).collect())));
        assert_eq!(graph.circle(), None, "files of {folder} use each other in a circle");
    }
}

/// serde_json's own reader takes some texts for JSON, without a limit to its depth: `tree` reads what others wrote.
#[test]
fn no_json_of_others_is_read_by_serde_jsons_own_reader() {
    let own = ["crates/mcp/src/tools.rs", "crates/model/src/tree.rs"]; // The first reads the document of this program.
    let mut wrong = Vec::new();
    for (file, text) in files().iter().filter(|(file, _)| file.ends_with(".rs") && !own.contains(&file.as_str())) {
        let is_of_tests = file.ends_with("fuzzing.rs")
            || file.ends_with("/tests.rs")
            || file.starts_with("src/cli/demo/")
            || file.starts_with("src/cli/bench/");
        for (at, line) in code(text).filter(|_| !is_of_tests) {
            let reads =
                ["from_str", "from_slice", "from_reader", ".call", ".call_within", ".call_named"].iter().any(|name| line.contains(name));
            let values = [
                "::<Value>",
                "::<serde_json::Value>",
                ": Value =",
                ": serde_json::Value =",
                "<serde_json::Value> =",
                "<Value> =",
                "String, Value> =",
            ]
            .iter()
            .any(|name| line.contains(name));
            if reads && values {
                wrong.push(format!("{file}:{at}: {}", line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "use `hero_model::tree`: {wrong:#?}");
}

#[test]
fn no_file_is_too_long() {
    for (file, text) in files().into_iter().chain(rust_files("tests/it")) {
        assert!(text.lines().count() <= MAX_LINES, "{file} has {} lines", text.lines().count());
    }
}

#[test]
fn no_lint_is_allowed_and_nothing_is_unwrapped() {
    for (file, text) in files().iter().filter(|(file, _)| file.ends_with(".rs")) {
        assert!(!text.contains("#[allow") && !text.contains("#![allow"), "{file} allows a lint");
        // A file of tests of its own.
        if file.ends_with("/tests.rs") {
            continue;
        }
        for (at, line) in code(text) {
            for word in [".unwrap()", "todo!", "unimplemented!", "dbg!"] {
                assert!(!line.contains(word), "{file}:{at} has {word}");
            }
        }
    }
}
