//! Terminal output while nothing arrives.

use std::io::Read as _;
use std::net::TcpListener;
use std::process::{Command, Stdio};

use super::super::Hero;
use super::Server;

/// Runs a command on a terminal until it has said this.
fn says(hero: &Hero, arguments: &str, word: &str) {
    let program = format!("stty cols 200; exec {} {arguments}", env!("CARGO_BIN_EXE_hero"));
    let mut command = Command::new("script");
    command.args(["-qec", &program, "/dev/null"]).env_clear().env("PATH", super::path()).env("HOME", hero.home());
    command.envs(hero.env.iter().map(|(name, value)| (name, value))).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("script, of bsdutils or util-linux");
    let (mut out, mut said, mut buffer) = (child.stdout.take().unwrap(), String::new(), [0; 4096]);
    while !said.contains(word) {
        let read = out.read(&mut buffer).unwrap();
        assert!(read > 0, "{arguments}: {said}");
        said.push_str(&String::from_utf8_lossy(&buffer[..read]));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_server_that_hangs_is_named_before_the_command_gives_up() {
    // The system accepts connections for it, and nobody answers.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("ws://{}", listener.local_addr().unwrap());
    says(&Hero::new().env("HERO_SERVER", &url), "job list", &format!("-- waiting for {url} --"));
}

#[test]
fn that_there_is_nothing_to_show_is_said_on_a_terminal_and_only_there() {
    let server = Server::start();
    let id = server.ok(&["job", "create", "-e", "1"]);
    server.ok(&["run", "-e", r#"osis::index("fruit", ["kind"]); osis::set("fruit", #{ id: "apple", kind: "pome" })"#]);
    server.hero.file("a.rhai", "1");
    server.hero.file("a.yaml", "jobs: {a: {script: '1'}}\n");
    let file = |name: &str| server.hero.home().join(name).display().to_string();
    let (script, flow) = (file("a.rhai"), file("a.yaml"));
    for (arguments, told) in [
        (vec!["check", &script, &script], "2 scripts, no mistakes"),
        (vec!["flow", "check", &flow], "1 flow, no mistakes"),
        (vec!["job", "logs", &id], "no log"),
        (vec!["object", "find", "fruit", "-w", "kind=none"], "no object"),
    ] {
        says(&server.hero, &arguments.join(" "), told);
        let piped = server.run(&arguments);
        assert_eq!((piped.code, piped.out.as_str(), piped.err.as_str()), (0, "", ""), "{arguments:?}");
    }
}

#[test]
fn the_commands_of_children_are_unknown_to_people() {
    for command in ["exec ls", "engine", "keep"] {
        says(&Hero::new(), command, "unrecognized subcommand");
    }
}

#[test]
fn who_follows_the_log_of_a_job_that_does_not_run_is_told_why() {
    let server = Server::start();
    let id = server.ok(&["job", "create", "-e", "1"]);
    says(&server.hero, &format!("job logs -f {id}"), "never started");
}
