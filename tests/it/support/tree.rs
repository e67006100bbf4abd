//! The files of this repository, for tests that read its source and its documents.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The folder of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// Every file below a folder, without what package managers installed there.
pub fn paths_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if !path.is_dir() {
            found.push(path);
        } else if !path.ends_with("node_modules") && !path.ends_with("venv") {
            found.extend(paths_below(&path));
        }
    }
    found.sort();
    found
}

/// The path of a file from a folder above it.
pub fn path_from(folder: &Path, file: &Path) -> String {
    file.strip_prefix(folder).unwrap().to_str().unwrap().to_owned()
}

/// Every text below a folder, by its path there.
pub fn files_below(folder: &Path) -> BTreeMap<String, String> {
    let read = |file: PathBuf| Some((path_from(folder, &file), std::fs::read_to_string(&file).ok()?));
    paths_below(folder).into_iter().filter_map(read).collect()
}

/// The crates below `crates`, by their names there.
pub fn crates() -> Vec<String> {
    let found = std::fs::read_dir(root().join("crates")).unwrap();
    let mut names: Vec<String> = found.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
