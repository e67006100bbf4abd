//! The commands that need a server, against a real one.

mod command;
mod complete;
mod display;
mod flow;
mod flow_output;
mod given;
mod job;
mod message;
mod object;
mod own_server;
mod refused;
mod restart;
mod run;
mod schedule;
mod silence;
mod start;
mod waits;

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdout, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::{Ended, Hero};

/// A `hero serve` child on a free port with a private Redis, and a home for the commands that talk to it.
struct Server {
    hero: Hero,
    child: Child,
    /// Kept open: a server that cannot write its lines is another test.
    _out: Lines<BufReader<ChildStdout>>,
}

impl Server {
    fn start() -> Self {
        Self::with(Hero::new(), &["--pool", "osis=2", "--pool", "sal=1"])
    }

    /// A server in this home, with these arguments; its log goes to `serve.log` there.
    fn with(hero: Hero, arguments: &[&str]) -> Self {
        Self::with_path(hero, arguments, &path())
    }

    /// The same where programs are found elsewhere.
    fn with_path(hero: Hero, arguments: &[&str], path: &std::ffi::OsStr) -> Self {
        let log = std::fs::File::options().create(true).append(true).open(hero.home().join("serve.log")).unwrap();
        let mut command = hero.command(&["serve", "--data", "data"]);
        if !arguments.contains(&"--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        command.args(arguments).env("PATH", path).stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
        let ready = out.next().unwrap_or_else(|| panic!("the server ended at once: {}", read(&hero, "serve.log"))).unwrap();
        let url = ready.split_whitespace().find(|word| word.starts_with("ws://")).unwrap_or_else(|| panic!("{ready}"));
        let mut hero = hero;
        hero.env.retain(|(name, _)| name != "HERO_SERVER");
        Self { hero: hero.env("HERO_SERVER", url), child, _out: out }
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        self.hero.run(arguments)
    }

    /// Runs a command that succeeds, and returns its output without the last line break.
    fn ok(&self, arguments: &[&str]) -> String {
        let ended = self.run(arguments);
        assert_eq!(ended.code, 0, "{arguments:?}: {}{}", ended.out, ended.err);
        ended.out.strip_suffix('\n').unwrap_or(&ended.out).to_owned()
    }

    /// Runs a command that succeeds with `--json`, and gives the document it prints.
    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.ok(&[&["--json"], arguments].concat())).unwrap()
    }

    /// Runs a command with this on its stdin.
    fn feed(&self, arguments: &[&str], input: &str) -> Ended {
        let mut child = self.piped(arguments);
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap().into()
    }

    /// Starts a command whose stdin, stdout and stderr are the test's.
    fn piped(&self, arguments: &[&str]) -> Child {
        self.hero.command(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Asks for the status of a job until it is this.
    fn is(&self, id: &str, status: &str) {
        let patience = std::time::Instant::now() + crate::support::PATIENCE;
        while self.ok(&["job", "status", id]) != status {
            assert!(std::time::Instant::now() < patience, "{id} never became {status}");
        }
    }

    /// Ends the server as a service manager would, and gives its home and its exit code.
    fn stop(mut self) -> (Hero, Option<i32>) {
        signal(&self.child, Signal::TERM);
        let status = self.child.wait().unwrap();
        (std::mem::replace(&mut self.hero, Hero::new()), status.code())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            signal(&self.child, Signal::TERM);
            let _ = self.child.wait();
        }
    }
}

/// The path of redis-server.
fn path() -> std::ffi::OsString {
    std::env::var_os("PATH").unwrap()
}

fn read(hero: &Hero, name: &str) -> String {
    std::fs::read_to_string(hero.home().join(name)).unwrap_or_default()
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}
