//! The first pages stay short, and lines fit on a screen.

use super::*;

/// The longest line of prose, in characters.
const MAX_LINE_CHARS: usize = 120;

/// The maximum number of lines of the first pages, and of own terms in the architecture.
const README: usize = 150;
const ARCHITECTURE: usize = 300;
const UNRELEASED: usize = 60;
const WORDS: usize = 25;

/// The lines that people write: no code, tables or generated parts.
fn written(text: &str) -> impl Iterator<Item = &str> {
    let mut generated = text.starts_with("<!-- Made of");
    prose(text).filter(move |line| {
        if let Some(mark) = line.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->")).filter(|mark| !mark.contains(' ')) {
            generated = !mark.starts_with('/');
        }
        !generated && !line.starts_with('|')
    })
}

/// Whether a line is one link, or one piece of code, which cannot be broken.
fn is_whole(line: &str) -> bool {
    let line = line.trim_start_matches(['-', ' ']).trim_end_matches('.');
    let is_link = line.starts_with('[') && line.ends_with(')') && line.matches("](").count() == 1;
    is_link || line.starts_with('`') && line.ends_with('`') && line.matches('`').count() == 2
}

#[test]
fn no_line_of_prose_is_too_wide() {
    let mut wide = Vec::new();
    for document in documents().into_iter().chain(crate_pages()) {
        let text = read(&document);
        let lines = written(&text).filter(|line| line.chars().count() > MAX_LINE_CHARS && !is_whole(line));
        wide.extend(lines.map(|line| format!("{document}: {line}")));
    }
    assert!(wide.is_empty(), "wider than {MAX_LINE_CHARS} columns: {wide:#?}");
}

#[test]
fn the_first_pages_are_short() {
    let changes = read("CHANGELOG.md");
    let unreleased = changes.split("\n## ").nth(1).filter(|section| section.contains("(unreleased)")).unwrap_or_default();
    let lines = [
        ("README.md", read("README.md").lines().count(), README),
        ("ARCHITECTURE.md", read("ARCHITECTURE.md").lines().count(), ARCHITECTURE),
        ("the unreleased part of CHANGELOG.md", unreleased.lines().count(), UNRELEASED),
    ];
    for (page, lines, most) in lines {
        assert!(lines <= most, "{page} has {lines} lines, of which {most} are allowed");
    }
}

#[test]
fn the_architecture_explains_few_words_of_our_own_and_each_once() {
    let text = read("ARCHITECTURE.md");
    let (_, section) = text.split_once("\n## Words\n").unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let mut words: Vec<&str> = rows.filter(|word| *word != "word" && !word.starts_with("---")).collect();
    let many = words.len();
    assert!((10..=WORDS).contains(&many), "{many} words, of which {WORDS} are allowed");
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), many, "a word stands there twice");
}
