//! Links have a target, and the files that documents and comments name exist.

use std::collections::BTreeSet;

use super::*;

/// The targets of the links in a line.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split(')').next())
}

/// The anchor of a heading, as GitHub makes it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase().replace(' ', "-");
    kept.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, '-' | '_')).collect()
}

/// Whether a document has a heading, or a place, of that name.
fn has(document: &Path, name: &str) -> bool {
    let text = std::fs::read_to_string(document).unwrap();
    prose(&text).any(|line| {
        let heading = line.starts_with('#').then(|| line.trim_start_matches('#'));
        heading.is_some_and(|heading| anchor(heading) == name) || line.contains(&format!("<a id=\"{name}\">"))
    })
}

#[test]
fn relative_links_lead_to_files_and_headings_that_exist() {
    let mut broken = Vec::new();
    for document in documents().into_iter().chain(crate_pages()) {
        let text = read(&document);
        let here = root().join(&document);
        for target in prose(&text).flat_map(targets).filter(|target| !target.contains("://")) {
            let (path, name) = target.split_once('#').unwrap_or((target, ""));
            let file = if path.is_empty() { here.clone() } else { here.parent().unwrap().join(path) };
            if !file.exists() || (!name.is_empty() && !has(&file, name)) {
                broken.push(format!("{document}: {target}"));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// Files are named from the root, and those in Lua also from these places.
const PLACES: [&str; 3] = ["", "crates/store/src/lua", "crates/store/src/lua/functions"];
/// Names tests from their folder, which `guarantees.rs` checks.
const OF_TESTS: &str = "docs/guarantees.md";
/// The prefixes of paths from the root.
const TOPS: [&str; 10] = ["src/", "crates/", "tests/", "docs/", "clients/", "examples/", "contrib/", "benches/", "fuzz/", "proto/"];

/// The paths that the prose of a document names between backticks. `<verb>.lua` and the like stand for any.
fn paths(text: &str) -> impl Iterator<Item = &str> {
    let words = prose(text).flat_map(|line| line.split('`').skip(1).step_by(2));
    words.filter(|word| {
        let is_path = word.ends_with(".rs") || word.ends_with(".lua") || TOPS.iter().any(|top| word.starts_with(top));
        is_path && !word.contains(['<', '*', '{', ' ', '…'])
    })
}

#[test]
fn files_that_the_documents_name_exist() {
    let mut missing = Vec::new();
    for document in documents().into_iter().filter(|document| document != OF_TESTS) {
        let text = read(&document);
        let gone = paths(&text).filter(|word| !PLACES.iter().any(|place| root().join(place).join(word).exists()));
        missing.extend(gone.map(|word| format!("{document}: {word}")));
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

/// The page of a crate names its own files from its own folder, or by their names.
#[test]
fn files_that_the_page_of_a_crate_names_exist() {
    let mut missing = Vec::new();
    for page in crate_pages() {
        let folder = page.trim_end_matches("README.md");
        let own = sources(&[folder]);
        let text = read(&page);
        let gone = paths(&text).filter(|word| {
            let is_there = [root().join(folder), root()].iter().any(|start| start.join(word).exists());
            !is_there && !own.iter().any(|(file, _)| file.ends_with(&format!("/{word}")))
        });
        missing.extend(gone.map(|word| format!("{page}: {word}")));
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

/// Types of other programs: settings of systemd, and a type of the coordinator's specification.
const FOREIGN: [&str; 7] =
    ["DelegateSubgroup", "ProtectControlGroups", "ProtectKernelTunables", "ProtectProc", "RetryMethod", "RunnerType", "ValueCompleter"];

/// The words of a text, as names in code are written.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// Whether a word is written as the names of types are: `HostCall`, not `HERO_PLAIN` or `INFO`.
fn is_type(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_uppercase()) && word.contains(|c: char| c.is_ascii_lowercase()) && !word.contains('_')
}

/// Decisions and the pages of crates also name methods, as `Dispatcher::create`.
#[test]
fn types_that_decisions_and_the_pages_of_crates_name_exist() {
    let sources = sources(&["src", "crates"]);
    let lines = sources.iter().flat_map(|(_, text)| text.lines());
    let known: BTreeSet<&str> = lines.flat_map(|line| names(line.split("//").next().unwrap_or_default())).collect();
    let (mut missing, mut many) = (Vec::new(), 0);
    for page in documents().into_iter().filter(|document| document.starts_with("docs/decisions/")).chain(crate_pages()) {
        let text = read(&page);
        for word in prose(&text).flat_map(|line| line.split('`').skip(1).step_by(2)) {
            let named = names(word).filter(|name| is_type(name) && !word.contains('/') || word.contains("::"));
            for name in named.filter(|name| !FOREIGN.contains(name)) {
                many += 1;
                if !known.contains(name) {
                    missing.push(format!("{page}: {name} in {word}"));
                }
            }
        }
    }
    assert!(many > 400, "names are not found any more: {many}");
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn files_that_a_comment_names_from_the_root_exist() {
    let (mut missing, mut many) = (Vec::new(), 0);
    for (file, text) in sources(&["src", "crates", "tests"]) {
        let sign = if file.ends_with(".lua") { "--" } else { "//" };
        let comments = text.lines().filter_map(|line| Some(line.split_once(sign)?.1));
        let words = comments.flat_map(|comment| comment.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-' | '.' | '/')));
        for word in words.map(|word| word.trim_end_matches('.')) {
            if ["crates/", "docs/", "tests/it/"].iter().any(|top| word.starts_with(top)) {
                many += 1;
                if !root().join(word).exists() {
                    missing.push(format!("{file}: {word}"));
                }
            }
        }
    }
    assert!(many > 10, "paths are not found any more: {many}");
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn every_document_can_be_reached_from_the_first_page() {
    let (mut reached, mut to_read) = (vec!["README.md".to_owned()], vec!["README.md".to_owned()]);
    while let Some(document) = to_read.pop() {
        let text = read(&document);
        let here = root().join(&document);
        for target in prose(&text).flat_map(targets).filter(|target| !target.contains("://")) {
            let path = target.split('#').next().unwrap_or_default();
            let Ok(file) = here.parent().unwrap().join(path).canonicalize() else { continue };
            let Ok(file) = file.strip_prefix(root().canonicalize().unwrap()) else { continue };
            let file = file.to_str().unwrap().to_owned();
            if file.ends_with(".md") && !reached.contains(&file) {
                reached.push(file.clone());
                to_read.push(file);
            }
        }
    }
    let lost: Vec<String> = documents().into_iter().filter(|document| !reached.contains(document)).collect();
    assert!(lost.is_empty(), "no link leads to {lost:?}");
}
