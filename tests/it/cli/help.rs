//! The output of `--help`, kept as snapshots.

use std::collections::BTreeSet;

use super::Hero;

fn help(arguments: &[&str]) -> String {
    let ended = Hero::new().run(&[arguments, &["--help"]].concat());
    assert_eq!(ended.code, 0, "{}", ended.err);
    ended.out
}

/// The commands that a help lists, in its order.
fn listed(help: &str) -> Vec<&str> {
    let list = help.split_once("Commands:\n").map_or("", |(_, rest)| rest);
    let lines = list.lines().take_while(|line| !line.is_empty());
    // What explains a command may go on in the next line, which is indented further.
    let names = lines.filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')));
    names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").collect()
}

#[test]
fn every_command_explains_itself() {
    let mut open = vec![Vec::new()];
    let mut known = BTreeSet::new();
    while let Some(command) = open.pop() {
        let name = if command.is_empty() { "hero".to_owned() } else { command.join("_") };
        let arguments: Vec<&str> = command.iter().map(String::as_str).collect();
        let help = help(&arguments);
        open.extend(listed(&help).into_iter().map(|below| [command.as_slice(), &[below.to_owned()]].concat()));
        insta::assert_snapshot!(name.as_str(), help);
        known.insert(format!("it__cli__help__{name}.snap"));
    }
    assert!(known.len() > 80, "commands are not found any more: {known:?}");
    let kept = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/cli/snapshots")).unwrap();
    let kept = kept.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let of_no_command: Vec<_> = kept.filter(|file| file.ends_with(".snap") && !known.contains(file)).collect();
    assert!(of_no_command.is_empty(), "snapshots of commands that are gone: {of_no_command:?}");
}

#[test]
fn what_hero_runs_itself_as_is_hidden() {
    let help = help(&[]);
    assert!(!help.contains("engine") && !help.contains("exec "), "{help}");
}

#[test]
fn every_setting_is_in_the_help_of_serve() {
    let help = help(&["serve"]);
    for setting in hero::server::settings::SETTINGS {
        if let Some(flag) = setting.flag() {
            assert!(help.contains(&format!("--{flag}")) && help.contains(&setting.env()), "{}", setting.name);
        }
    }
}

#[test]
fn the_help_says_what_missed_and_overlap_mean_together() {
    let help = help(&["schedule", "create"]);
    for part in ["--missed all --overlap skip", "--missed all --overlap queue", "skip leaves them out, even after an outage of seconds"] {
        assert!(help.replace('\n', " ").contains(part), "{part}: {help}");
    }
}
