//! References to decisions in documents and comments lead to that decision.

use std::collections::BTreeMap;

use super::*;

/// The names of the files, by their numbers.
fn decisions() -> BTreeMap<u32, String> {
    let files = documents().into_iter().filter_map(|document| Some(document.strip_prefix("docs/decisions/")?.to_owned()));
    files.filter_map(|file| Some((number(&file)?, file))).collect()
}

/// The number with which a text begins.
fn number(text: &str) -> Option<u32> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

/// The number that a text names, as `decision 48` does, or begins with.
fn named(text: &str) -> Option<u32> {
    let lower = text.to_lowercase();
    lower.split_once("decision ").map_or_else(|| number(text), |(_, rest)| number(rest))
}

/// The text of a file in one line, without the markers of comments.
fn joined(text: &str) -> String {
    let lines = text.lines().map(|line| line.trim_start().trim_start_matches(['/', '!', '-', '#']).trim());
    lines.collect::<Vec<_>>().join(" ")
}

/// Everything that may name a decision, by its path.
fn files() -> Vec<(String, String)> {
    let documents = documents().into_iter().chain(crate_pages());
    documents.map(|document| (document.clone(), read(&document))).chain(sources(&["src", "crates", "tests"])).collect()
}

#[test]
fn every_decision_that_is_named_exists() {
    let (decisions, mut missing, mut many) = (decisions(), Vec::new(), 0);
    for (file, text) in files() {
        let text = joined(&text);
        let mut words = text.split_whitespace().peekable();
        while let Some(word) = words.next() {
            let word = word.trim_start_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
            let Some(number) = words.peek().filter(|_| word == "decision" || word == "decisions").and_then(|next| number(next)) else {
                continue;
            };
            many += 1;
            if !decisions.contains_key(&number) {
                missing.push(format!("{file}: decision {number}"));
            }
        }
        for (at, before) in text.match_indices("decisions/") {
            let rest = &text[at + before.len()..];
            let name: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.')).collect();
            let name = name.trim_end_matches('.');
            if number(name).is_some() && !decisions.values().any(|decision| decision == name) {
                missing.push(format!("{file}: decisions/{name}"));
            }
        }
    }
    assert!(many > 10, "decisions are not found any more: {many}");
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn a_link_to_a_decision_names_the_one_that_it_leads_to() {
    let (mut wrong, mut many) = (Vec::new(), 0);
    for document in documents() {
        let text = read(&document);
        let text = prose(&text).map(str::trim).collect::<Vec<_>>().join(" ");
        for (at, _) in text.match_indices("](") {
            let (Some(said), Some(target)) = (text[..at].rsplit('[').next(), text[at + 2..].split(')').next()) else { continue };
            let file = target.rsplit('/').next().unwrap_or_default();
            let is_one = target.contains("decisions/") || (document.starts_with("docs/decisions/") && !target.contains('/'));
            let Some((led_to, said)) = number(file).filter(|_| is_one).zip(named(said)) else { continue };
            many += 1;
            if led_to != said {
                wrong.push(format!("{document}: {said} leads to {target}"));
            }
        }
    }
    assert!(many > 50, "links to decisions are not found any more: {many}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_list_of_decisions_has_each_by_its_number_and_title() {
    let list = read("docs/decisions/README.md");
    let mut expected: Vec<String> = Vec::new();
    for (number, file) in decisions() {
        let text = read(&format!("docs/decisions/{file}"));
        let title = text.lines().next().and_then(|line| line.strip_prefix("# ")).unwrap();
        assert!(title.starts_with(&format!("{number}. ")), "{file} has the title {title}");
        expected.push(format!("- [{title}]({file})"));
    }
    let listed: Vec<&str> = list.lines().filter(|line| line.starts_with("- [")).collect();
    for (listed, expected) in listed.iter().zip(&expected) {
        assert_eq!(listed, expected);
    }
    assert_eq!(listed.len(), expected.len(), "the list lacks a decision, or has one too many");
}
