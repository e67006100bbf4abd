//! The documents say what the program does, and what they name exists.

mod generated;
mod guarantees;
mod links;
mod site;

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// The documents, by their paths in the repository.
fn documents() -> Vec<String> {
    let mut found: Vec<String> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"].into_iter().map(ToOwned::to_owned).collect();
    let mut directories = vec!["docs".to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(root().join(&directory)).unwrap() {
            let entry = entry.unwrap();
            let path = format!("{directory}/{}", entry.file_name().to_str().unwrap());
            if entry.file_type().unwrap().is_dir() {
                directories.push(path);
            } else if Path::new(&path).extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    found
}

/// The lines of a document that are prose: no code between fences.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut code = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        !code && !fence
    })
}
