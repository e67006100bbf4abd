//! The tests that `docs/guarantees.md` names exist.

use super::*;

/// A row of the table: the promises, and the cell with their tests.
fn rows(text: &str) -> Vec<(&str, &str)> {
    let cells = text.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | "));
    cells.filter(|(promise, _)| !promise.starts_with("---") && *promise != "promise").collect()
}

/// The words between backticks.
fn words(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// A file or folder that a cell names: below `tests/it`, or from the root.
fn place(word: &str) -> Option<PathBuf> {
    [root().join("tests/it"), root()].into_iter().map(|start| start.join(word)).find(|path| path.exists())
}

/// Everything that stands in a file, or in all files of a folder.
fn source(place: &Path) -> String {
    if place.is_file() {
        return std::fs::read_to_string(place).unwrap();
    }
    paths_below(place).iter().map(|file| source(file)).collect()
}

#[test]
fn every_test_that_a_guarantee_names_exists() {
    let (text, mut missing, mut tests) = (read("docs/guarantees.md"), Vec::new(), 0);
    for (promise, cell) in rows(&text) {
        let mut last: Option<PathBuf> = None;
        for word in words(cell) {
            // Functions have names without a dot or slash; a variable of the environment is neither.
            if word.starts_with("HERO_") {
                continue;
            }
            if word.contains(['/', '.']) {
                last = place(word);
                if last.is_none() {
                    missing.push(format!("{word} ({promise})"));
                }
                continue;
            }
            tests += 1;
            let there = last.as_deref().is_some_and(|file| source(file).contains(&format!("fn {word}(")));
            if !there {
                missing.push(format!("{word} ({promise})"));
            }
        }
        assert!(last.is_some(), "no test for: {promise}");
    }
    assert!(tests > 50, "the table is not read right: {tests} tests");
    assert!(missing.is_empty(), "{missing:#?}");
}
