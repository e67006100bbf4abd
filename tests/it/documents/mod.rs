//! The documents match the program, and the things that they name exist.

mod decisions;
mod generated;
mod guarantees;
mod lines;
mod links;
mod maps;
mod site;
mod words;

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

/// The page of each crate, by its path in the repository.
fn crate_pages() -> Vec<String> {
    let crates = std::fs::read_dir(root().join("crates")).unwrap();
    crates.map(|entry| format!("crates/{}/README.md", entry.unwrap().file_name().to_str().unwrap())).collect()
}

/// Every file in Rust or Lua below some folders, by its path in the repository, with its text.
fn sources(folders: &[&str]) -> Vec<(String, String)> {
    let mut directories: Vec<PathBuf> = folders.iter().map(|folder| root().join(folder)).collect();
    let mut found = Vec::new();
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("node_modules") && !path.ends_with("venv") {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "lua") {
                let name = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
                found.push((name, std::fs::read_to_string(&path).unwrap()));
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
