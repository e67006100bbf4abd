//! Links lead somewhere, and the first page stays short.

use super::*;

/// So long may the first page be.
const LONGEST: usize = 200;

/// What the links of a line lead to.
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
    for document in documents() {
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

/// Files of the source are named from the root, or from one of these places.
const PLACES: [&str; 5] = ["", "src", "tests/it", "crates/store/src/lua", "crates/store/src/lua/functions"];

#[test]
fn files_of_the_source_that_the_documents_name_exist() {
    let mut missing = Vec::new();
    for document in documents().into_iter().filter(|document| document != "CHANGELOG.md") {
        for word in prose(&read(&document)).flat_map(|line| line.split('`').skip(1).step_by(2)) {
            let file = word.ends_with(".rs") || word.ends_with(".lua");
            // `<verb>.lua` stands for any.
            if file && !word.contains('<') && !PLACES.iter().any(|place| root().join(place).join(word).exists()) {
                missing.push(format!("{document}: {word}"));
            }
        }
    }
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

#[test]
fn the_first_page_is_short() {
    let lines = read("README.md").lines().count();
    assert!(lines <= LONGEST, "README.md has {lines} lines");
}
