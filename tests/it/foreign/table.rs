//! Reads the table of keys in `crates/store/src/keys.md` for tests.

use hero::keys::Keys;
use hero::model::Timestamp;

use crate::support::CONTEXT;

/// What stands for each placeholder of a pattern: what nobody else in these tests has.
const SAMPLES: [(&str, &str); 23] = [
    ("{id}", ID),
    ("{t}", "sal"),
    ("{g}", "io"),
    ("{i}", "3"),
    ("{0,1,2}", "0"),
    ("{worker}", "old"),
    ("{…}", "type:sal"),
    ("{caller}", "7"),
    ("{server}", "somebody"),
    ("{collection}", "people"),
    ("{field}", "age"),
    ("{random}", "0123"),
    ("{n}", NUMBER),
    ("{group}", "runner900"),
    ("{hand}", "berlin-1"),
    ("{status}", "acknowledged"),
    ("{whom}", "in"),
    ("{nonce}", "n900"),
    ("{signer}", "04"),
    ("{yyyymmddhh}", "2001010101"),
    ("{sha256}", "00"),
    ("{circle}", "ring"),
    ("{place}", "1"),
];
pub(super) const ID: &str = "6f1c4d1e-8f5b-4c7e-9d0a-2b3c4d5e6f70";
pub(super) const NUMBER: &str = "900";
const KINDS: [&str; 6] = ["string", "list", "set", "zset", "hash", "stream"];

/// Every key of the table, and its type.
pub(super) fn table() -> Vec<(String, &'static str)> {
    let source = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/crates/store/src/keys.md")).unwrap();
    let mut found = Vec::new();
    for line in source.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_start_matches("|").split(" | ").map(str::trim).collect();
        let pattern = cells[0].trim_matches('`');
        let kind = match cells[1].split(' ').next() {
            Some("number") => "string",
            Some("channel") => continue,
            word => KINDS.into_iter().find(|kind| Some(*kind) == word).unwrap_or_else(|| panic!("{line}: {pattern} has no type")),
        };
        // What is named by no id is looked for without being read.
        let fixed = Keys::standalone(CONTEXT).kinds();
        let is_looked_for = fixed.iter().any(|(key, known)| key == pattern && known.as_str() == kind);
        assert!(is_looked_for || pattern.contains('{'), "crates/store/src/keys/kinds.rs does not have {pattern}, a {kind}");
        for key in with_and_without(pattern).iter().map(|pattern| filled(pattern)).filter(|_| !is_looked_for) {
            let known = Keys::standalone(CONTEXT).kind_of(&key).map(hero::keys::Kind::as_str);
            assert_eq!(known, Some(kind), "crates/store/src/keys/kinds.rs does not have {key}");
        }
        found.extend(with_and_without(pattern).into_iter().map(|pattern| (filled(&pattern), kind)));
    }
    // That of today, too, into which jobs come.
    found.push((Keys::standalone(CONTEXT).index(Timestamp::local()), "list"));
    found.sort();
    found.dedup();
    found
}

/// A pattern with and without the part in brackets.
fn with_and_without(pattern: &str) -> Vec<String> {
    let Some((begin, _)) = pattern.split_once('[') else { return vec![pattern.to_owned()] };
    vec![begin.to_owned(), pattern.replace(['[', ']'], "")]
}

fn filled(pattern: &str) -> String {
    // Of these there are few, which are in use.
    match pattern {
        "hero:seq:{kind}" => return "hero:seq:message".to_owned(),
        "context:{n}" => return "context:0".to_owned(),
        _ => {}
    }
    let key = SAMPLES.into_iter().fold(pattern.to_owned(), |key, (name, sample)| key.replace(name, sample));
    assert!(!key.contains(['{', '}']), "{key}: nothing stands for a placeholder here");
    key
}
