//! Commands that start their own server, and the end of a server.

use std::path::Path;
use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;

use super::super::{Ended, Hero};
use super::{Server, path, read, signal};
use crate::support::{Kin, Process, until};

/// Runs the program where it can start servers, with its temporary files in its home.
fn alone(hero: &Hero, arguments: &[&str]) -> Ended {
    let mut command: Command = hero.command(arguments);
    command.env("PATH", path()).env("TMPDIR", hero.home()).output().unwrap().into()
}

#[test]
fn openrpc_prints_what_is_committed() {
    let committed = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/openrpc.json")).unwrap();
    assert!(Hero::new().run(&["openrpc"]).out == committed, "stale: run `cargo run -- openrpc > openrpc.json`");
}

#[test]
fn the_demo_ends_well_and_leaves_nothing_behind() {
    let hero = Hero::new();
    let ended = alone(&hero, &["demo"]);
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    let first = ended.out.split("run_and_wait").nth(1).unwrap();
    assert!(first.contains("40 + 2") && first.contains("\"value\":42"), "{first}");
    assert!(ended.out.contains("every answer as promised"), "{}", ended.out);
    assert!(ended.out.contains("Ada booked 42"), "{}", ended.out);
    // There is Python wherever the tests run.
    assert!(ended.out.contains(r#""output":"{\"mean\":2.0}""#), "{}", ended.out);
    assert_eq!(std::fs::read_dir(hero.home()).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_that_ends_the_demo_or_a_measurement_ends_the_server_that_it_started() {
    let at_rest = ["bench", "--only", "rest", "--rest", "1000", "--pool", "osis=1"];
    for (arguments, signal, exit, said) in [
        (&["demo"][..], Signal::TERM, 1, "ended by SIGTERM"),
        (&at_rest, Signal::TERM, 1, "ended by SIGTERM"),
        (&at_rest, Signal::HUP, 1, "ended by SIGHUP"),
        (&at_rest, Signal::INT, 130, "interrupted"),
    ] {
        let home = tempfile::tempdir().unwrap();
        // Whoever runs the tests may have done so with nohup.
        let command: Vec<&str> = ["--default-signal=HUP", env!("CARGO_BIN_EXE_hero")].iter().chain(arguments).copied().collect();
        let mut process = Process::of(Path::new("/usr/bin/env"), &command, |command| {
            command.env("TMPDIR", home.path());
        });
        let kin = until("an engine and a Redis", || async {
            let kin = process.descendants();
            let has_engine = kin.iter().any(|one| one.command().ends_with("\0engine\0"));
            let is_up = arguments[0] != "demo" || process.out().iter().any(|line| line.contains(" ready on "));
            (is_up && has_engine && kin.iter().any(|one| one.name.contains("-server"))).then_some(kin)
        });
        let kin = kin.await;
        process.signal(signal);
        let (code, log) = process.failure().await;
        assert!(code == Some(exit) && log.contains(said), "{arguments:?}: {code:?} {log}");
        Kin::all_gone(&kin).await;
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0, "{arguments:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_started_to_outlive_its_terminal_does() {
    let home = tempfile::tempdir().unwrap();
    let command = "trap '' HUP; exec \"$0\" bench --only rest --rest 1000 --pool osis=1";
    let mut process = Process::of(Path::new("/bin/sh"), &["-c", command, env!("CARGO_BIN_EXE_hero")], |command| {
        command.env("TMPDIR", home.path());
    });
    until("an engine", || async { process.descendants().iter().any(|one| one.command().ends_with("\0engine\0")).then_some(()) }).await;
    process.signal(Signal::HUP);
    process.terminate();
    let (code, log) = process.failure().await;
    // The lower number is delivered first.
    assert!(code == Some(1) && log.contains("ended by SIGTERM"), "{code:?} {log}");
}

#[test]
fn bench_prints_every_figure_it_promises() {
    let hero = Hero::new();
    let bare = hero.file("bare", "#!/bin/sh\necho 1.5\n");
    std::fs::set_permissions(&bare, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let ended = alone(&hero, &["--json", "bench", "--jobs", "100", "--rest", "1", "--pool", "osis=1", "--bare", &bare]);
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    std::fs::remove_file(bare).unwrap();
    let report: Value = serde_json::from_str(&ended.out).unwrap();
    for figure in ["/rest/pss_mb", "/submit/submit_per_s", "/submit/end_to_end_per_s", "/drain/submit_per_s"] {
        assert!(report.pointer(figure).and_then(Value::as_f64).is_some_and(|figure| figure > 0.0), "{figure}: {report}");
    }
    for figure in
        ["/rest/cpu_percent", "/submit/cpu_s_per_1000/server", "/submit/cpu_s_per_1000/redis", "/drain/drain_per_s", "/drain/timed_jobs"]
    {
        assert!(report.pointer(figure).is_some_and(Value::is_number), "{figure}: {report}");
    }
    let redis = ["/submit", "/drain", "/waiting/0", "/waiting/2"].map(|measure| report.pointer(measure).unwrap()["redis_per_job"].clone());
    for cost in &redis {
        let [functions, commands] = ["functions", "commands"].map(|name| cost[name].as_f64().unwrap());
        assert!(0.0 < functions && functions < commands, "{cost}");
        assert!(cost["file_bytes"].as_f64() > Some(0.0), "{cost}");
    }
    assert_eq!(report["objects"]["objects"], 500);
    assert!(report["scripts"].as_array().unwrap().iter().all(|script| script["cold_ms"].as_f64() > Some(0.0)), "{report}");
    for figure in ["engine_ms", "engine_cold_ms", "engine_cpu_us", "python_ms", "node_ms"] {
        assert!(report["scripts"].as_array().unwrap()[..4].iter().all(|script| script[figure].as_f64() > Some(0.0)), "{figure}: {report}");
    }
    assert_eq!(report["scripts"][0]["bare_us"], 1.5, "{report}");
    for figure in ["job_ms", "new_ms", "per_s", "process_ms"] {
        assert!(report["python"][figure].as_f64() > Some(0.0), "{figure}: {report}");
    }
    for what in ["get", "find", "find_in_script"] {
        let [p50, p99] = ["p50_ms", "p99_ms"].map(|name| report["objects"][what][name].as_f64().unwrap());
        assert!(0.0 < p50 && p50 <= p99, "{what}: {report}");
    }
    for figure in
        ["/login/none_ms", "/login/unrecorded_ms", "/login/recorded_ms", "/login/ratios/1", "/contexts/start_s", "/contexts/pss_mb"]
    {
        assert!(report.pointer(figure).and_then(Value::as_f64) > Some(0.0), "{figure}: {report}");
    }
    assert_eq!((&report["contexts"]["identities"], &report["contexts"]["contexts"]), (&serde_json::json!(50), &serde_json::json!(5)));
    let flows = report["flows"].as_array().unwrap();
    assert!(flows.iter().map(|row| row["width"].as_u64().unwrap()).eq([1, 10]));
    for row in flows {
        assert!(["plain_ms", "flow_ms", "ratio"].iter().all(|name| row[name].as_f64() > Some(0.0)), "{row}");
    }
    let waiting = report["waiting"].as_array().unwrap();
    assert!(waiting.iter().map(|row| row["callers"].as_u64().unwrap()).eq([1, 64, 256]));
    for row in waiting {
        let [p50, p95, p99] = ["p50_ms", "p95_ms", "p99_ms"].map(|name| row[name].as_f64().unwrap());
        assert!(row["per_s"].as_f64().unwrap() > 0.0 && 0.0 < p50 && p50 <= p95 && p95 <= p99, "{row}");
        assert!(["server", "redis", "client"].iter().all(|part| row["cpu_s_per_1000"][part].is_number()), "{row}");
    }
    assert_eq!(std::fs::read_dir(hero.home()).unwrap().count(), 0);
}

#[test]
fn bench_measures_only_what_it_is_asked_for() {
    let ended = alone(&Hero::new(), &["--json", "bench", "--jobs", "100", "--pool", "osis=1", "--only", "objects"]);
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    let report: Value = serde_json::from_str(&ended.out).unwrap();
    assert!(report["objects"]["find"]["p99_ms"].as_f64() > Some(0.0), "{report}");
    for other in ["rest", "submit", "drain", "python", "compat"] {
        assert_eq!(report[other], Value::Null, "{other}: {report}");
    }
    assert_eq!([&report["waiting"], &report["groups"], &report["scripts"]], [&serde_json::json!([]); 3]);
}

#[test]
fn a_server_that_ends_requeues_running_jobs_for_the_next_one() {
    let server = Server::with(Hero::new(), &["--pool", "osis=1", "--grace", "100ms"]);
    let id = server.ok(&["job", "create", "-e", "loop {}", "--timeout", "1h", "--start"]);
    server.is(&id, "started");
    let (hero, code) = server.stop();
    let log = read(&hero, "serve.log");
    assert!(code == Some(0) && log.contains("requeued") && !log.contains("did not end in time"), "{code:?}: {log}");
    let server = Server::with(hero, &["--pool", "none"]);
    assert_eq!(server.ok(&["job", "status", &id]), "dispatched");
    assert_eq!(server.ok(&["job", "stop", &id]), "stopped");
}

#[test]
fn a_second_server_on_the_same_data_says_how_to_share() {
    let server = Server::start();
    let second = alone(&server.hero, &["serve", "--listen", "127.0.0.1:0", "--data", "data"]);
    assert_eq!(second.code, 1);
    let advice = second.err.split_once("--redis ").unwrap().1.split_whitespace().collect::<Vec<_>>();
    let [url, "--redis-password-file", file] = advice[..] else { panic!("{}", second.err) };
    let mut actors = server.hero.command(&["actor", "--redis", url, "--redis-password-file", file, "--pool", "osis:more=1"]);
    let mut actors = actors.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let line = std::io::BufRead::lines(std::io::BufReader::new(actors.stdout.take().unwrap())).next().unwrap().unwrap();
    assert!(line.contains("actors ready"), "{line}");
    server.hero.file("a.rhai", "40 + 2");
    assert_eq!(server.ok(&["run", "a.rhai", "--group", "more"]), "42");
    signal(&actors, Signal::TERM);
    assert_eq!(actors.wait().unwrap().code(), Some(0));
    // Without its password the cause is said, not only that nothing answers.
    let refused = server.run(&["actor", "--redis", url, "--pool", "osis=1"]);
    assert!(refused.code == 1 && refused.err.to_lowercase().contains("auth"), "{}", refused.err);
}
