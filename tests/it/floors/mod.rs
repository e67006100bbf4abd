//! What `src` looks like: floors, sizes, and words that do not belong there.

mod chance;
mod circles;
mod features;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Bottom to top; neighbours on a floor do not see each other.
const FLOORS: [&[&str]; 11] = [
    &["model"],
    &["docs", "keys", "process"],
    &["audit", "log_file", "service"],
    &["store"],
    &["access", "conveyor", "dispatch", "engine", "rhailib"],
    &["sal"],
    &["actor", "coordinator"],
    &["rpc"],
    &["client"],
    &["mcp"],
    &["cli"],
];
/// What only `store` says to Redis, and how keys begin that only `keys` makes.
const OF_REDIS: [&str; 4] = ["redis::", "rhai_tasks", "rhai_task_details", "{ctx:"];
/// At this length a file is split.
const LONGEST: usize = 400;

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Every file below a directory, by its path there.
fn files_below(root: &Path) -> BTreeMap<String, String> {
    fn walk(root: &Path, directory: &Path, files: &mut BTreeMap<String, String>) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("node_modules") && !path.ends_with("venv") {
                walk(root, &path, files);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                files.insert(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned(), text);
            }
        }
    }
    let mut files = BTreeMap::new();
    walk(root, root, &mut files);
    files
}

/// Every file below `src`, by its path there.
fn files() -> BTreeMap<String, String> {
    files_below(&source())
}

/// Every file in Rust below a directory of the project, by its path in that, with the text.
fn rust_files(directory: &str) -> BTreeMap<String, String> {
    let files = files_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join(directory));
    files.into_iter().filter(|(file, _)| file.ends_with(".rs")).map(|(file, text)| (format!("{directory}/{file}"), text)).collect()
}

/// The module that a file belongs to: its directory, or its own name.
fn module(file: &str) -> &str {
    file.split('/').next().unwrap().trim_end_matches(".rs").trim_end_matches(".lua")
}

fn floor(module: &str) -> Option<usize> {
    FLOORS.iter().position(|floor| floor.contains(&module))
}

/// The code of a file without comments, and without its tests, which stand at the end.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().take_while(|(_, line)| line.trim() != "#[cfg(test)]");
    lines.map(|(at, line)| (at + 1, line.split("//").next().unwrap_or_default()))
}

/// The modules that a line names behind `crate::`, also in braces.
fn named(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for rest in line.split("crate::").skip(1) {
        let word = |text| -> &str { str::split(text, |c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default() };
        match rest.strip_prefix('{') {
            Some(list) => found.extend(list.split(',').map(|item| word(item.trim()))),
            None => found.push(word(rest)),
        }
    }
    found
}

#[test]
fn every_module_has_a_floor() {
    for file in files().keys().filter(|file| !matches!(file.as_str(), "lib.rs" | "main.rs")) {
        assert!(floor(module(file)).is_some(), "{file} is on no floor");
    }
    let lib = std::fs::read_to_string(source().join("lib.rs")).unwrap();
    let order: Vec<&str> = lib.lines().filter_map(|line| line.strip_prefix("pub mod ")?.split(';').next()).collect();
    assert_eq!(order, FLOORS.concat(), "lib.rs lists the floors, bottom up");
}

#[test]
fn a_file_uses_its_own_module_and_floors_below_it() {
    let mut wrong = Vec::new();
    for (file, text) in files().iter().filter(|(file, _)| file.ends_with(".rs")) {
        let own = module(file);
        let Some(here) = floor(own) else { continue };
        for (at, line) in code(text) {
            for used in named(line).into_iter().filter(|used| *used != own) {
                match floor(used) {
                    Some(there) if there < here && (used != "keys" || own == "store") => {}
                    Some(_) => wrong.push(format!("src/{file}:{at} uses {used}")),
                    None => wrong.push(format!("src/{file}:{at} uses {used}, which is no floor")),
                }
            }
            if line.contains("super::super::super") {
                wrong.push(format!("src/{file}:{at} climbs with super::"));
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
    for (file, text) in files().iter().filter(|(file, _)| file.ends_with(".rs") && !matches!(module(file), "store" | "keys")) {
        for (at, line) in code(text) {
            for word in OF_REDIS.into_iter().filter(|word| has_word(line, word)) {
                wrong.push(format!("src/{file}:{at} has {word}"));
            }
            if has_key(line) {
                wrong.push(format!("src/{file}:{at} makes a key"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What a file's own parents define it may use; nothing else may lead back to where it came from.
#[test]
fn no_files_use_each_other_in_a_circle() {
    let files = files();
    let rust = files.iter().filter(|(file, _)| file.ends_with(".rs") && file.as_str() != "main.rs");
    let graph = circles::Graph::of(rust.map(|(file, text)| (file.as_str(), code(text).map(|(_, line)| line).collect())));
    assert_eq!(graph.circle(), None, "files use each other in a circle");
}

#[test]
fn super_never_leaves_a_module() {
    for (file, text) in files().iter().filter(|(file, _)| file.ends_with(".rs")) {
        // How many modules stand between this file's own and the crate.
        let depth = file.split('/').count() - usize::from(file.ends_with("/mod.rs"));
        for (at, line) in code(text) {
            let climbed = line.split_whitespace().map(|word| word.matches("super::").count()).max().unwrap_or_default();
            assert!(climbed < depth.max(1), "src/{file}:{at} leaves its module by super::");
        }
    }
}

#[test]
fn no_file_is_too_long() {
    for (file, text) in files() {
        assert!(text.lines().count() <= LONGEST, "src/{file} has {} lines", text.lines().count());
    }
}

#[test]
fn no_lint_is_allowed_and_nothing_is_unwrapped() {
    for (file, text) in files().iter().filter(|(file, _)| file.ends_with(".rs")) {
        assert!(!text.contains("#[allow") && !text.contains("#![allow"), "src/{file} allows a lint");
        // A file of tests of its own.
        if file.ends_with("/tests.rs") {
            continue;
        }
        for (at, line) in code(text) {
            for word in [".unwrap()", "todo!", "unimplemented!", "dbg!"] {
                assert!(!line.contains(word), "src/{file}:{at} has {word}");
            }
        }
    }
}
