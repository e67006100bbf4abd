//! Shell completion of ids.

use std::process::Command;

use super::super::Hero;
use super::Server;

/// The completions of bash for the last of these words.
fn bash(hero: &Hero, words: &[&str]) -> Vec<String> {
    let program = env!("CARGO_BIN_EXE_hero");
    let script = "source <(\"$1\" completions bash); COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
        _hero_or_ids \"$1\" \"${@: -1}\" \"${@: -2:1}\"; printf '%s\\n' \"${COMPREPLY[@]}\"";
    let mut command = Command::new("bash");
    command.args(["--norc", "-c", script, "bash", program]).args(words).env_clear().env("PATH", super::path());
    let output = command.envs(hero.env.iter().map(|(name, value)| (name, value))).output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{words:?}");
    String::from_utf8(output.stdout).unwrap().split_whitespace().map(ToOwned::to_owned).collect()
}

#[test]
fn a_shell_offers_the_ids_of_jobs_and_schedules_where_one_is_typed() {
    let server = Server::start();
    let done = server.ok(&["job", "create", "-e", "1", "--name", "done\tone", "--start"]);
    server.is(&done, "finished");
    let created = server.ok(&["job", "create", "-e", "2"]);
    let schedule = server.ok(&["schedule", "create", "-e", "1", "--every", "1h"]);
    let offered = |words: &[&str]| bash(&server.hero, words);
    assert_eq!(offered(&["job", "show", ""]), [created.clone(), done.clone()]);
    assert_eq!(offered(&["job", "show", &done[..8]]), std::slice::from_ref(&done));
    assert_eq!(offered(&["job", "start", ""]), std::slice::from_ref(&created));
    assert_eq!(offered(&["run", "a.rhai", "--after", &created[..8]]), std::slice::from_ref(&created));
    assert_eq!(offered(&["schedule", "show", ""]), [schedule]);
    // Everything else is offered as before.
    assert_eq!(offered(&["job", "sh"]), ["show"]);
    assert_eq!(offered(&["compl"]), ["completions"]);
    assert!(offered(&["job", "show", "--con"]).contains(&"--context".to_owned()));
    let lines = server.ok(&["complete", "--", "job", "wait", ""]);
    assert!(lines.lines().nth(1).unwrap().starts_with(&format!("{done}\tfinished, ")), "{lines}");
}

#[test]
fn a_shell_is_offered_nothing_and_told_nothing_without_a_server() {
    let hero = Hero::new().env("HERO_SERVER", "ws://127.0.0.1:1");
    let ended = hero.run(&["complete", "--", "job", "show", ""]);
    assert_eq!((ended.code, ended.out.as_str(), ended.err.as_str()), (0, "", ""));
    assert!(bash(&hero, &["job", "show", ""]).contains(&"--context".to_owned()));
    for (shell, asks) in
        [("zsh", "$words[1] complete -- "), ("fish", "$words[1] complete -- "), ("bash", "complete -F _hero_or_ids -o nosort")]
    {
        assert!(hero.run(&["completions", shell]).out.contains(asks), "{shell}");
    }
}
