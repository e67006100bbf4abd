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

use crate::support::{crates, path_from, paths_below, root};

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// Every file below a folder of the repository, by its path in the repository.
fn files(folder: &str) -> impl Iterator<Item = String> {
    let root = root();
    paths_below(&root.join(folder)).into_iter().map(move |file| path_from(&root, &file))
}

/// The documents, by their paths in the repository.
fn documents() -> Vec<String> {
    let first = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"].into_iter().map(ToOwned::to_owned);
    first.chain(files("docs").filter(|file| file.ends_with(".md"))).collect()
}

/// The page of each crate, by its path in the repository.
fn crate_pages() -> Vec<String> {
    crates().into_iter().map(|name| format!("crates/{name}/README.md")).collect()
}

/// Every file in Rust or Lua below some folders, by its path in the repository, with its text.
fn sources(folders: &[&str]) -> Vec<(String, String)> {
    let files = folders.iter().flat_map(|folder| files(folder)).filter(|file| file.ends_with(".rs") || file.ends_with(".lua"));
    files.map(|file| (file.clone(), read(&file))).collect()
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
