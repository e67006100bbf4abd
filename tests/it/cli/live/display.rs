//! Tables, words and names in output for people.

use std::io::Read as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::Server;

const NOBODY: &str = "00000000-8f5b-4c7e-9d0a-2b3c4d5e6f70";

/// The lines of a table on a terminal with this number of columns.
fn table(server: &Server, columns: &str, arguments: &[&str]) -> Vec<String> {
    let output = server.hero.command(arguments).env("COLUMNS", columns).output().unwrap();
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn people_are_told_failed_from_stopped_and_timed_out() {
    let server = Server::start();
    let end = |script: &str, name| {
        let id = server.ok(&["job", "create", "-e", script, "--name", name, "--timeout", "300ms", "--start"]);
        server.run(&["job", "wait", &id]);
        id
    };
    let (failed, timed_out) = (end("throw 1", "a"), end("loop {}", "b"));
    let stopped = server.ok(&["job", "create", "-e", "1", "--name", "c"]);
    assert_eq!(server.ok(&["job", "stop", &stopped]), "stopped");
    let list = server.ok(&["job", "list"]);
    let why = ["failed: script:1:1: 1", "timed out after 0.3 s (--timeout)", "stopped before it ran"];
    let words = [(&failed, "failed", "failed"), (&timed_out, "timed out", "timed-out"), (&stopped, "stopped", "stopped")];
    for ((id, word, option), why) in words.into_iter().zip(why) {
        assert!(list.lines().any(|line| line.starts_with(&format!("{id}  {word}  "))), "{list}");
        assert_eq!(server.ok(&["job", "status", id]), word);
        assert!(server.ok(&["job", "show", id]).starts_with(&format!("status             {word}\n")));
        let explained = server.ok(&["job", "explain", id]);
        assert_eq!(explained.lines().next().unwrap(), why);
        assert_eq!(explained.lines().filter(|line| line.starts_with("attempt 1  ")).count(), usize::from(id != &stopped), "{explained}");
        // Programs see the word of the wire.
        assert_eq!(server.json(&["job", "status", id]), json!({ "status": "error" }));
        assert_eq!(server.json(&["job", "show", id])["status"], "error");
        let found = server.json(&["job", "list", "--status", option]);
        assert!(found["jobs"].as_array().unwrap().len() == 1 && found["jobs"][0]["job_id"] == json!(id), "{option}: {found}");
    }
    assert_eq!(server.json(&["job", "list", "--status", "error"])["jobs"].as_array().unwrap().len(), 3);
}

#[test]
fn tables_fit_60_columns_and_more_and_a_pipe_gets_everything() {
    let server = Server::start();
    let long = "a-name-that-is-much-longer-than-any-column-of-a-table";
    server.ok(&["job", "create", "-e", "1", "--name", long, "--group", long, "--start"]);
    let first = server.ok(&["job", "create", "-e", "1", "--name", long]);
    server.ok(&["job", "create", "-e", "1", "--after", &first, "--start"]);
    let zone = "America/Argentina/ComodRivadavia";
    server.ok(&["schedule", "create", "-e", "1", "--name", long, "--cron", "*/7 * * * * MON-FRI", "--time-zone", zone]);
    for command in [["job", "list"], ["queue", "list"], ["actor", "list"], ["schedule", "list"]] {
        for columns in ["60", "80", "100"] {
            let lines = table(&server, columns, &command);
            let most: usize = columns.parse().unwrap();
            assert!(lines.len() > 1 && lines.iter().all(|line| line.chars().count() <= most), "{columns}: {lines:#?}");
        }
    }
    let lines = table(&server, "80", &["job", "list"]);
    assert!(
        // The schedule may have made a job, too.
        lines[0].starts_with("ID  ")
            && lines[0].contains("  STATUS  ")
            && lines.iter().any(|line| line.contains(&first) && line.contains('…')),
        "{lines:#?}"
    );
    assert!(server.ok(&["queue", "list"]).contains(&format!("hero:q:work:type:osis:group:{long}")));
    let lines = table(&server, "80", &["schedule", "list"]);
    assert!(
        ["LAST RUN  ", "RUNS  ", "SKIPPED  ", "MISSED  "].iter().all(|name| lines.iter().any(|line| line.starts_with(name))),
        "{lines:#?}"
    );
    let lines = table(&server, "60", &["schedule", "list"]);
    assert!(lines[0].starts_with("ID        ") && lines[1].starts_with("WHEN      */7 * * * * MON-FRI"), "{lines:#?}");
}

/// The output of a command on a terminal of 60 columns.
fn at_60_columns(server: &Server, arguments: &str) -> Vec<String> {
    let program = format!("stty cols 60; exec {} {arguments}", env!("CARGO_BIN_EXE_hero"));
    let mut command = Command::new("script");
    command
        .args(["-qec", &program, "/dev/null"])
        .env_clear()
        .env("PATH", super::path())
        .env("NO_COLOR", "1")
        .current_dir(server.hero.home());
    command.envs(server.hero.env.iter().map(|(name, value)| (name, value))).stdin(Stdio::piped()).stdout(Stdio::piped());
    // Its stdin stays open: at the end of that it would type ^D.
    let mut child = command.spawn().expect("script, of bsdutils or util-linux");
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    child.wait().unwrap();
    // Without what is shown for a moment only.
    said.lines().map(|line| line.rsplit("\x1b[2K").next().unwrap_or_default().trim_end_matches('\r').to_owned()).collect()
}

#[test]
fn errors_end_their_lines_between_words_on_a_terminal_and_are_whole_in_a_pipe() {
    let server = Server::start();
    let id = server.ok(&["job", "create", "-e", "1", "--group", "nobody", "--start"]);
    let failing = "let a = 1; let b = 22222222222; let c = 33333333333333; let d = 4444444444; lacking(a, b, c, d)";
    for (arguments, told) in [
        (format!("job wait {id} --wait 0"), format!("       `hero job wait {id}`")),
        (format!("job show {NOBODY}"), "       `hero job list` shows those that exist".to_owned()),
        ("schedule create -e 1 --cron '61 * * * *'".to_owned(), "       ".to_owned()),
        ("job list --status odd".to_owned(), "    ".to_owned()),
        (format!("run -e '{failing}'"), "    |      ".to_owned()),
    ] {
        let lines = at_60_columns(&server, &arguments);
        assert!(lines.len() > 1 && lines.iter().all(|line| line.chars().count() <= 60), "{arguments}: {lines:#?}");
        assert!(lines.iter().skip(1).any(|line| line.starts_with(&told)), "{arguments}: {lines:#?}");
    }
    let piped = server.hero.command(&["job", "wait", &id, "--wait", "0"]).env("COLUMNS", "60").output().unwrap();
    assert_eq!(String::from_utf8(piped.stderr).unwrap().lines().count(), 2);
}

#[test]
fn messages_name_commands_and_options() {
    let server = Server::start();
    let created = server.ok(&["job", "create", "-e", "1"]);
    for (arguments, told) in [
        (&["schedule", "delete", NOBODY][..], "hero schedule list"),
        (&["job", "create", "-e", "1", "--log-path", "../up"], "--log-path"),
        (&["schedule", "create", "-e", "1", "--every", "5", "--schedule-id", NOBODY, "--missed-limit", "0"], "--missed-limit"),
        (&["job", "explain", &created], "`hero job start` starts it"),
        (&["schedule", "create", "-e", "1", "--cron", "* 25 * * *"], "--cron: \"25\" is no hour in \"* 25 * * *\"; it takes 0 to 23"),
        (&["run", "-e", "import \"x\" as x;"], "scripts cannot import: there are no modules"),
    ] {
        let ended = server.run(arguments);
        let said = format!("{}{}", ended.out, ended.err);
        assert!(said.contains(told), "{arguments:?}: {said}");
        assert!(!["list_schedules", "log_path", "missed_limit", "start_job"].iter().any(|word| said.contains(word)), "{said}");
    }
}

#[test]
fn a_queue_of_a_type_that_nobody_knows_is_neither_paused_nor_resumed() {
    let server = Server::start();
    for verb in ["pause", "resume"] {
        let refused = server.run(&["queue", verb, "osys"]);
        assert!(refused.code == 1 && refused.err.contains("known: osis, sal"), "{verb}: {} {}", refused.code, refused.err);
    }
    assert_eq!(server.ok(&["queue", "resume", "osis"]), "resumed");
}

#[test]
fn what_a_script_throws_and_logs_does_not_steer_the_terminal() {
    let server = Server::start();
    let script = r#"print("\x1b]0;logged\x07"); throw "\x1b]0;thrown\x07\x1b[2J""#;
    let id = server.ok(&["job", "create", "-e", script, "--name", "\x1b]0;named\x07", "--start"]);
    server.is(&id, "failed");
    server.hero.file("a.rhai", script);
    for arguments in [
        &["job", "wait", &id][..],
        &["job", "show", &id],
        &["job", "logs", &id],
        &["job", "explain", &id],
        &["job", "list"],
        &["run", "a.rhai"],
        &["--json", "job", "wait", &id],
    ] {
        let ended = server.run(arguments);
        let said = format!("{}{}", ended.out, ended.err);
        assert!(!said.contains(|c: char| c.is_control() && c != '\n'), "{arguments:?}: {said:?}");
        assert!(["thrown", "logged", "named", "ended"].iter().any(|word| said.contains(word)), "{arguments:?}: {said:?}");
    }
}

#[test]
fn a_script_is_run_as_it_is_given() {
    let server = Server::start();
    assert_eq!(server.ok(&["run", "-e", "args.n + 2", "--arg", "n=40"]), "42");
    let failed = server.run(&["run", "-e", "throw 1"]);
    assert!(failed.code == 3 && failed.err.starts_with("-e:1:1: "), "{}", failed.err);
    for arguments in [&["run"][..], &["run", "a.rhai", "-e", "1"], &["run", "-e", "1", "--watch"], &["run", "-", "--watch"]] {
        assert_eq!(server.run(arguments).code, 2, "{arguments:?}");
    }
}

#[test]
fn a_schedule_is_named_and_shown_in_its_zone() {
    let server = Server::start();
    let zone = ["--time-zone", "Asia/Tokyo"];
    let create = |name, rule: &[&str]| {
        let ended = server.run(&[&["schedule", "create", "-e", "40 + 2", "--name", name], &zone[..], rule].concat());
        assert_eq!(ended.code, 0, "{}", ended.err);
        (ended.out.trim().to_owned(), ended.err)
    };
    let (nightly, told) = create("nightly", &["--cron", "30 2 * * *"]);
    assert!(told.contains(" 02:30 JST, "), "{told}");
    let (often, told) = create("often", &["--every", "1h"]);
    assert!(told.contains(" JST"), "{told}");
    let list = server.ok(&["schedule", "list"]);
    assert!(list.lines().any(|line| line.starts_with(&nightly) && line.contains(" 02:30 JST ")), "{list}");
    let shown = server.ok(&["schedule", "show", "nightly"]);
    for part in [&nightly, "30 2 * * *", "02:30 JST", "script\n  40 + 2", "missed_runs        0", "\n  priority         normal\n"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let document: Value = server.json(&["schedule", "show", &often]);
    assert_eq!((&document["name"], &document["every"]), (&json!("often"), &json!(3600)));
    // A name that two have says nothing.
    let (again, _) = create("often", &["--every", "2h"]);
    let refused = server.run(&["schedule", "delete", "often"]);
    assert!(refused.code == 2 && refused.err.contains(&often) && refused.err.contains(&again), "{}", refused.err);
    assert_eq!(server.ok(&["schedule", "delete", &again]), "deleted");
    assert_eq!(server.ok(&["schedule", "delete", "often"]), "deleted");
    let gone = server.run(&["schedule", "delete", "often"]);
    assert!(gone.code == 1 && gone.err.contains("hero schedule list"), "{}", gone.err);
    for option in [["--run-at", "5s"], ["--after", &nightly], ["--parent", &nightly], ["-k", "key"], ["--id", &nightly]] {
        let refused = server.run(&[&["schedule", "create", "-e", "1", "--every", "5"], &option[..]].concat());
        assert!(refused.code == 2 && refused.err.contains(option[0]), "{}", refused.err);
    }
}
