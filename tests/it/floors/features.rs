//! A build and the tests request the same features of each crate, so that `make test` after `make demo` recompiles
//! none.

use std::collections::BTreeMap;
use std::process::Command;

/// Each crate in the dependencies that these arguments of `cargo tree` select, with its features.
pub(super) fn tree(chosen: &[&str]) -> BTreeMap<String, String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let tree = ["tree", "--offline", "--locked", "--prefix", "none", "--format", "{p}\t{f}"];
    let out = Command::new(cargo).args(tree).args(chosen).current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("cargo runs");
    let said = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let crates = said.lines().filter_map(|line| line.split_once('\t'));
    crates.map(|(name, features)| (name.into(), features.trim_end_matches(" (*)").into())).collect()
}

#[test]
fn a_build_and_the_tests_share_what_is_compiled_of_each_crate() {
    let (build, tests) = (tree(&["--edges", "normal,build"]), tree(&["--edges", "normal,build,dev"]));
    assert!(build.len() > 100, "{build:?}");
    let twice: Vec<_> = build.iter().filter(|(name, features)| tests.get(*name) != Some(features)).collect();
    assert!(twice.is_empty(), "name the features that tests add in [dependencies]: {twice:?}");
}
