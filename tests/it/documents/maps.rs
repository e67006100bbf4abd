//! The maps in the pages of the crates are whole.

use super::*;

/// What stands between backticks in a section of a page.
fn section<'p>(page: &'p str, heading: &str) -> Vec<&'p str> {
    let (_, rest) = page.split_once(&format!("\n## {heading}\n")).unwrap();
    rest.split("\n## ").next().unwrap_or_default().split('`').skip(1).step_by(2).collect()
}

#[test]
fn each_file_of_a_crate_stands_in_its_map_or_a_folder_above_it() {
    let (mut lost, mut gone) = (Vec::new(), Vec::new());
    for page in crate_pages() {
        let (text, folder) = (read(&page), root().join(page.trim_end_matches("README.md")));
        let map = section(&text, "Where things are");
        gone.extend(
            map.iter().filter(|word| word.starts_with("src/") && !folder.join(word).exists()).map(|word| format!("{page}: {word}")),
        );
        let has = |file: &str| map.iter().any(|word| *word == file || word.ends_with('/') && file.starts_with(word));
        // The page is about `lib.rs` as a whole.
        let files = paths_below(&folder.join("src")).into_iter().map(|file| path_from(&folder, &file));
        let files = files.filter(|file| file != "src/lib.rs");
        lost.extend(files.filter(|file| !has(file)).map(|file| format!("{page}: {file}")));
    }
    assert!(lost.is_empty(), "files without a place in the map: {lost:#?}");
    assert!(gone.is_empty(), "places that do not exist: {gone:#?}");
}

#[test]
fn the_page_of_the_crate_lists_every_loop() {
    let page = read("crates/service/README.md");
    let listed = section(&page, "The loops");
    let sources = sources(&["src", "crates"]);
    let lines = sources.iter().flat_map(|(_, text)| text.lines());
    let loops: Vec<&str> = lines.filter_map(|line| line.strip_prefix("impl Service for ")?.split_whitespace().next()).collect();
    assert!(loops.len() > 20, "loops are not found any more: {loops:?}");
    let mut names = loops.clone();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), loops.len(), "two loops share a name, so the page cannot tell them apart: {loops:?}");
    let missing: Vec<&&str> = loops.iter().filter(|name| !listed.contains(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
