//! Third-party programs against a real server. `tests/clients` pins their versions, and `docs/clients.md` has the
//! table.

mod browser;
mod calls;
mod document;
mod guides;
mod interactive;
mod libraries;
mod printed;
mod python;
mod rust;
mod table;
mod typescript;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use crate::support::{House, PATIENCE, Server};

/// No program takes longer: a compiler on a busy machine takes more than a call does.
const PROGRAM_TIMEOUT: Duration = PATIENCE.saturating_mul(5);

fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients")
}

/// The directory that the set-up made from a lock file. Panics if it does not match the current file.
fn installed(lock: &str, made: &str) -> PathBuf {
    let (wanted, made) = (home().join(lock), home().join(made));
    let was = std::fs::read(made.join(".lock")).ok();
    assert!(
        was.is_some_and(|was| was == std::fs::read(&wanted).unwrap()),
        "the foreign clients of {} are not installed: run `make setup-tests`",
        wanted.display()
    );
    made
}

fn modules() -> PathBuf {
    installed("package-lock.json", "node_modules")
}

/// Node, with a program from `tests/clients` or from the packages installed there.
fn node(program: impl AsRef<Path>) -> Command {
    modules();
    let mut command = bare("node");
    command.arg(home().join(program));
    command
}

/// The virtual environment of Python.
fn environment() -> PathBuf {
    installed("requirements.txt", "venv")
}

/// Python, with a program of `tests/clients`.
fn python(program: &str) -> Command {
    let mut command = bare(environment().join("bin/python"));
    command.args(["-B".into(), home().join(program)]);
    command
}

fn bare(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.stdin(Stdio::null()).kill_on_drop(true);
    command
}

/// Runs a program to its good end. What it said.
async fn runs(command: &mut Command) -> String {
    let output = tokio::time::timeout(PROGRAM_TIMEOUT, command.output()).await.unwrap_or_else(|_| panic!("does not end: {command:?}"));
    let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}; `make setup-tests` installs what it needs"));
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?} ended with {}\n{out}{err}", output.status);
    out.into_owned()
}

/// A house with two actors, and its server.
async fn open() -> (House, Server) {
    let house = House::open(2).await;
    let server = Server::of(&house).await;
    (house, server)
}
