//! The Python client in `clients/python`: its generated code, its own tests, and its worker.

use std::path::PathBuf;

use tokio::process::Command;

use super::{bare, runs};
use crate::support::hero;

fn clients() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("clients")
}

/// A program that `make setup-tests` installed for the client, if it matches the current lock files.
pub(super) fn program(name: &str) -> Command {
    let home = clients().join("python");
    let read = |file: &str| std::fs::read_to_string(home.join(file)).unwrap_or_default();
    let is_installed = read("venv/.lock") == format!("{}{}", read("requirements.txt"), read("pyproject.toml"))
        && read("node_modules/.lock") == read("package-lock.json")
        && !read("venv/.lock").is_empty();
    assert!(is_installed, "what the client in Python is tested with is not installed: run `make setup-tests`");
    let mut command = bare(home.join("venv/bin").join(name));
    command.current_dir(home).env("PYTHONDONTWRITEBYTECODE", "1").env("HERO_BIN", hero());
    command
}

/// Its own tests, of these files.
async fn pass(files: &[&str]) {
    let mut command = program("python");
    command.args(["-m", "pytest", "-q", "-ra"]);
    command.args(files.iter().map(|file| format!("tests/test_{file}.py")));
    let said = runs(&mut command).await;
    assert!(said.contains(" passed") && !said.contains(" skipped"), "{said}");
}

#[tokio::test]
async fn make_clients_changes_nothing() {
    runs(bare("python3").args(["-B", "-m", "generate", "--check"]).current_dir(clients())).await;
}

#[tokio::test]
async fn the_client_in_python_is_formatted_and_strictly_typed() {
    let cache = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("mypy");
    runs(program("ruff").args(["check", "--no-cache", "src", "tests", "bench", "../generate"])).await;
    runs(program("ruff").args(["format", "--no-cache", "--check", "src", "tests", "bench", "../generate"])).await;
    runs(program("mypy").arg("--cache-dir").arg(&cache)).await;
    runs(program("mypy").arg("--cache-dir").arg(&cache).arg("tests/typed.py")).await;
    let mut pyright = bare("node");
    let python = clients().join("python/venv/bin/python");
    runs(pyright.arg("node_modules/pyright/index.js").arg("--pythonpath").arg(python).current_dir(clients().join("python"))).await;
}

#[tokio::test]
async fn the_client_in_python_bears_what_connections_and_servers_do() {
    pass(&["connection", "subscription", "tls"]).await;
}

#[tokio::test]
async fn the_client_in_python_does_what_its_readme_says() {
    pass(&["documents", "live", "reach", "wheel"]).await;
}

#[tokio::test]
async fn the_worker_in_python_runs_each_job_at_least_once() {
    pass(&["worker"]).await;
}
