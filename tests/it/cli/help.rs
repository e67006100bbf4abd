//! What `--help` says, kept as snapshots.

use super::Hero;

fn help(arguments: &[&str]) -> String {
    let ended = Hero::new().run(&[arguments, &["--help"]].concat());
    assert_eq!(ended.code, 0, "{}", ended.err);
    ended.out
}

#[test]
fn every_command_explains_itself() {
    insta::assert_snapshot!("hero", help(&[]));
    for command in ["serve", "actor", "run", "job", "schedule", "queue", "check", "functions", "repl", "bench", "completions"] {
        insta::assert_snapshot!(command, help(&[command]));
    }
    for command in ["create", "create-many", "wait", "logs", "list"] {
        insta::assert_snapshot!(format!("job_{command}"), help(&["job", command]));
    }
    for command in ["tail", "verify"] {
        insta::assert_snapshot!(format!("audit_{command}"), help(&["audit", command]));
    }
    insta::assert_snapshot!("queue_pause", help(&["queue", "pause"]));
    for command in ["create", "list", "show"] {
        insta::assert_snapshot!(format!("schedule_{command}"), help(&["schedule", command]));
    }
}

#[test]
fn what_hero_runs_itself_as_is_hidden() {
    let help = help(&[]);
    assert!(!help.contains("engine") && !help.contains("exec "), "{help}");
}

#[test]
fn every_setting_is_in_the_help_of_serve() {
    let help = help(&["serve"]);
    for setting in hero::cli::settings::SETTINGS {
        if let Some(flag) = setting.flag() {
            assert!(help.contains(&format!("--{flag}")) && help.contains(&setting.env()), "{}", setting.name);
        }
    }
}

#[test]
fn the_help_says_what_missed_and_overlap_mean_together() {
    let help = help(&["schedule", "create"]);
    for part in ["--missed all --overlap skip", "--missed all --overlap queue", "skip leaves them out, also after an outage of seconds"] {
        assert!(help.replace('\n', " ").contains(part), "{part}: {help}");
    }
}
