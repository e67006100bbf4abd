//! `hero schedule`.

use super::Server;

#[test]
fn a_schedule_is_created_listed_and_deleted_by_commands() {
    let server = Server::start();
    let script = server.hero.file("a.rhai", "args.n + 1");
    let created = server.run(&["schedule", "create", &script, "--arg", "n=41", "--every", "1s", "--name", "often", "--overlap", "allow"]);
    assert!(created.code == 0 && created.err.contains("next runs: 2"), "{}", created.err);
    let often = created.out.trim();
    let weekdays = server.json(&["schedule", "create", "-e", "1", "--cron", "0 9 * * MON-FRI", "--time-zone", "Europe/Berlin"]);
    assert_eq!(
        (&weekdays["time_zone"], &weekdays["missed"], &weekdays["overlap"]),
        (&"Europe/Berlin".into(), &"once".into(), &"skip".into())
    );

    let jobs = || server.json(&["job", "list", "--name", "often", "--status", "finished"])["jobs"].as_array().unwrap().clone();
    let begun = std::time::Instant::now();
    while jobs().is_empty() {
        assert!(begun.elapsed().as_secs() < 60, "no run");
    }
    assert_eq!((&jobs()[0]["output"], &jobs()[0]["labels"]["schedule"]), (&"42".into(), &often.into()));

    let list = server.ok(&["schedule", "list"]);
    let lines: Vec<&str> = list.lines().collect();
    assert!(lines.len() == 3 && lines[1].contains(often) && lines[1].contains("every 1s") && lines[1].contains("often"), "{list}");
    assert!(lines[2].contains("0 9 * * MON-FRI Europe/Berlin"), "{list}");
    let first = server.run(&["schedule", "list", "--limit", "1"]);
    assert!(first.err.contains("there are more: --cursor "), "{}", first.err);
    let listed = server.json(&["schedule", "list"]);
    assert_eq!(listed["schedules"][1]["schedule_id"], weekdays["schedule_id"]);

    assert_eq!(server.json(&["schedule", "show", &often.to_uppercase()])["schedule_id"], often, "an id may be in any case");
    assert_eq!(server.ok(&["schedule", "delete", often]), "deleted");
    let again = server.run(&["schedule", "delete", often]);
    assert!(again.code == 1 && again.err.contains("does not exist"), "{}", again.err);
}

#[test]
fn impossible_schedule_options_are_usage_errors() {
    let server = Server::start();
    for (arguments, word) in [
        (&["-e", "1"][..], "--every"),
        (&["-e", "1", "--cron", "* * * * *", "--every", "5"], "--every"),
        (&["-e", "1", "--every", "5", "--time-zone", "Mars"], "no time zone"),
        (&["-e", "1", "--every", "5", "--overlap", "no"], "skip, queue, allow"),
        (&["-e", "1", "--every", "5", "--missed", "no"], "skip, once, all"),
        (&["-e", "1", "--every", "5", "--run-at", "5s"], "--run-at"),
        (&["-e", "1", "--cron", "1 2 3"], "such as"),
    ] {
        let ended = server.run(&[&["schedule", "create"], arguments].concat());
        assert!(ended.code == 2 && ended.err.contains(word), "{arguments:?}: {} {}", ended.code, ended.err);
    }
}
