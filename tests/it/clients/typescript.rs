//! The TypeScript client in `clients/typescript`: its own tests, and the checks that they must pass.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tokio::process::Command;
use tokio::sync::Mutex;

use super::{bare, runs};
use crate::support::hero;

/// A program that `make setup-tests` installed for the client, if it matches the current lock file.
fn program(path: &str) -> Command {
    let home = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("clients/typescript");
    let read = |file: &str| std::fs::read(home.join(file)).ok();
    let is_installed = read("node_modules/.lock").is_some_and(|was| Some(was) == read("package-lock.json"));
    assert!(is_installed, "what the client in TypeScript is tested with is not installed: run `make setup-tests`");
    let mut command = bare("node");
    command.arg(home.join("node_modules").join(path)).current_dir(home).env("HERO", hero()).env("CI", "true");
    if let Some(chromium) = std::env::var_os("CHROMIUM") {
        command.env("CHROMIUM", chromium);
    }
    command
}

/// Vitest keeps transformed files in one directory, where two concurrent runs would conflict.
static VITEST: Mutex<()> = Mutex::const_new(());

/// Builds it, as others install it.
async fn build() {
    runs(program("typescript/bin/tsc").args(["--project", "tsconfig.build.json"])).await;
}

/// Lets programs in a directory import the client by its name. They get a copy, because other tests rebuild it.
pub(super) async fn install(directory: &Path) {
    let _alone = VITEST.lock().await;
    build().await;
    let home = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("clients/typescript");
    let there = directory.join("node_modules/hero-client");
    std::fs::create_dir_all(&there).unwrap();
    runs(bare("cp").arg("-r").args(["package.json", "dist"].map(|part| home.join(part))).arg(&there)).await;
    symlink(home.join("node_modules/ws"), directory.join("node_modules/ws")).unwrap();
}

/// Its own tests, of these files.
async fn pass(files: &[&str]) {
    let _alone = VITEST.lock().await;
    // The README, the sizes and the lazily loaded code are tested with the package that users install.
    build().await;
    let mut command = program("vitest/vitest.mjs");
    command.args(["run", "--no-color"]).args(files.iter().map(|file| format!("test/{file}.test.ts")));
    let said = runs(&mut command).await;
    assert!(said.contains(" passed") && !said.contains(" skipped"), "{said}");
}

#[tokio::test]
async fn the_client_in_typescript_is_strictly_typed_linted_and_formatted() {
    runs(program("typescript/bin/tsc").arg("--noEmit")).await;
    runs(program("eslint/bin/eslint.js").arg(".")).await;
    runs(program("prettier/bin/prettier.cjs").args(["--check", "."])).await;
}

#[tokio::test]
async fn the_client_in_typescript_is_documented_without_a_warning() {
    let out = tempfile::tempdir().unwrap();
    // `typedoc.json` turns warnings into errors: broken links, and comments that are not used.
    runs(program("typedoc/bin/typedoc").arg("--out").arg(out.path())).await;
    for page in ["index.html", "classes/index.Hero.html", "functions/index.run.html", "functions/testing.serve.html"] {
        assert!(out.path().join(page).is_file(), "{page} was not written");
    }
}

#[tokio::test]
async fn the_client_in_typescript_bears_what_connections_and_servers_do() {
    pass(&["connection", "follow", "hostile", "outcome", "run", "stranger"]).await;
}

#[tokio::test]
async fn the_client_in_typescript_runs_in_chromium() {
    pass(&["browser"]).await;
}

#[tokio::test]
async fn the_page_of_the_example_runs_stops_is_refused_and_outlives_its_server() {
    pass(&["page"]).await;
}

#[tokio::test]
async fn the_client_in_typescript_does_what_its_readme_says() {
    pass(&["address", "checked", "clock", "live", "reach", "readme", "size", "wallet"]).await;
}
