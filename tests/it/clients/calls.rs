//! The calls of the Rust client, which `make clients` prints.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

/// The files in Rust directly in a folder, one after the other.
fn source(folder: &str) -> String {
    let files = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|file| file.is_file()).map(|file| std::fs::read_to_string(file).unwrap()).collect()
}

/// The names that a struct has on the wire, with those of the structs that are part of it.
fn names(source: &str, name: &str) -> BTreeSet<String> {
    let heads = ["<'a> {", " {"].map(|head| format!("pub struct {name}{head}"));
    let (_, rest) = heads.iter().find_map(|head| source.split_once(head)).unwrap_or_else(|| panic!("there is no {name}"));
    let mut names = BTreeSet::new();
    let (mut is_part, mut renamed) = (false, None);
    for line in rest.lines().take_while(|line| !line.ends_with('}')) {
        is_part |= line.contains("serde(flatten)");
        renamed = renamed.or(line.split_once("rename = \"").and_then(|(_, rest)| rest.split('"').next()));
        let Some((field, kind)) = line.trim().strip_prefix("pub ").and_then(|field| field.split_once(": ")) else { continue };
        if is_part {
            names.append(&mut self::names(source, kind.trim_start_matches("&'a ").trim_end_matches(',')));
        } else {
            names.insert(renamed.unwrap_or(field).to_owned());
        }
        (is_part, renamed) = (false, None);
    }
    names
}

#[test]
fn the_calls_in_rust_are_every_call_and_subscription_of_the_document_with_every_parameter() {
    let document: Value = serde_json::from_str(include_str!("../../../openrpc.json")).unwrap();
    let calls = source("crates/client/src/calls");
    let types = [calls.clone(), source("crates/model/src"), source("crates/model/src/object")].concat();
    for method in document["methods"].as_array().unwrap() {
        let name = method["name"].as_str().unwrap();
        let implemented = match name.split_once('_') {
            // Dropping a subscription ends it.
            Some(("unsubscribe", _)) => continue,
            Some(("subscribe", topic)) => format!("const TOPIC: &'static str = \"{topic}\";"),
            _ => format!("const NAME: &'static str = \"{name}\";"),
        };
        let (before, _) = calls.split_once(&implemented).unwrap_or_else(|| panic!("no call is {name}"));
        let (_, head) = before.rsplit_once(" for ").unwrap();
        let mut given = names(&types, head.trim_end_matches("<'_> {\n    ").trim_end_matches(" {\n    "));
        if name.starts_with("subscribe_") {
            given.insert("cursor".to_owned());
        }
        let parameters = method["params"].as_array().unwrap().iter().map(|parameter| parameter["name"].as_str().unwrap().to_owned());
        assert_eq!(given, parameters.collect(), "{name}");
    }
}
