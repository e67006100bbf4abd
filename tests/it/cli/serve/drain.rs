use std::time::Duration;

use hero::client::code;
use hero::model::Status;

use super::{CONTEXT, end, is, is_still_running, run, sharing, spec, start, words};
use crate::support::{Kin, PATIENCE, Process, until};

#[tokio::test(flavor = "multi_thread")]
async fn at_sigterm_scripts_get_their_grace_and_the_rest_is_handed_back() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let mut server = Process::serve(&data, &["--pool", "osis=2", "--grace", "4s"]).await;
    let client = server.client().await;
    let done = run(&client, "1 + 1").await.unwrap().job_id;
    let short = start(&client, spec("sleep(1); \"kept\"")).await;
    let endless = start(&client, spec("loop { sleep(0.01) }")).await;
    let waiting = client.create_job(&spec("3")).await.unwrap();
    is(&client, &short, Status::Started).await;
    is(&client, &endless, Status::Started).await;
    let kin = server.children();
    let ends = async {
        // Asked behind the waits on the same connection, so the server has those when the signal comes.
        client.get_status(CONTEXT, &short).await.unwrap();
        server.terminate();
    };
    let (kept, cut, ()) = tokio::join!(client.wait_job(CONTEXT, &short, PATIENCE), client.wait_job(CONTEXT, &endless, PATIENCE), ends);
    assert_eq!(kept.unwrap().output, "kept");
    assert!(is_still_running(&cut), "{cut:?}");
    let (code, log) = server.failure().await;
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("shutting down: 2 jobs run here and have 4 s to end"), "{log}");
    Kin::all_gone(&kin).await;

    let look = Process::serve(&data, &["--pool", "none"]).await;
    let client = look.client().await;
    let job = client.get_job(CONTEXT, &endless).await.unwrap();
    assert_eq!((job.status, job.attempt, job.crashes), (Status::Dispatched, 0, 0));
    assert_eq!(client.get_result(CONTEXT, &done).await.unwrap().output, "2");
    assert_eq!(client.get_result(CONTEXT, &short).await.unwrap().output, "kept");
    assert_eq!(client.get_status(CONTEXT, &waiting).await.unwrap(), Status::Created);
    look.stop().await;

    let again = Process::serve(&data, &["--pool", "osis=1"]).await;
    let client = again.client().await;
    assert_eq!(is(&client, &endless, Status::Started).await.attempt, 1);
    assert_eq!(client.stop_job(CONTEXT, &endless).await.unwrap(), Status::Error);
    client.start_job(CONTEXT, &waiting).await.unwrap();
    assert_eq!(client.wait_job(CONTEXT, &waiting, PATIENCE).await.unwrap().output, "3");
    again.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_shuts_down_takes_no_new_connections() {
    let home = tempfile::tempdir().unwrap();
    let server = Process::serve(&home.path().join("data"), &["--pool", "osis=1", "--grace", "60s"]).await;
    let client = server.client().await;
    let id = start(&client, spec("loop { sleep(0.01) }")).await;
    is(&client, &id, Status::Started).await;
    let (url, wait) = (server.url(), client.wait_job(CONTEXT, &id, PATIENCE));
    let stop = async {
        client.ping().await.unwrap();
        server.terminate();
        until("a refusal", || async { hero::client::Client::connect(&url, None).await.is_err().then_some(()) }).await;
        server.terminate();
    };
    let (wait, ()) = tokio::join!(wait, stop);
    assert!(wait.is_err(), "{wait:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_ends_a_server_at_once() {
    let home = tempfile::tempdir().unwrap();
    let mut server = Process::serve(&home.path().join("data"), &["--pool", "osis=1", "--grace", "1h"]).await;
    let client = server.client().await;
    let id = start(&client, spec("loop { sleep(0.01) }")).await;
    is(&client, &id, Status::Started).await;
    let kin = server.children();
    server.terminate();
    until("the word that it shuts down", || async { server.log().contains("shutting down").then_some(()) }).await;
    server.terminate();
    assert_eq!(server.ended().await.code(), Some(1));
    Kin::all_gone(&kin).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn actors_of_another_process_run_the_jobs_of_a_server_and_shut_down() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let server = Process::serve(&data, &["--pool", "none"]).await;
    let shared = sharing(&data);
    let logs = home.path().join("actor");
    let actor = words(&["actor", "--pool", "osis=2", "--grace", "4s", "--data", logs.to_str().unwrap()], &shared);
    let mut actors = Process::start(&actor).until_ready().await;
    assert!(actors.out()[0].contains("actors ready"), "{:?}", actors.out());
    let client = server.client().await;
    assert_eq!(run(&client, "40 + 2").await.unwrap().output, "42");
    let pids: Vec<_> = client.list_actors(CONTEXT).await.unwrap().into_iter().map(|actor| actor.presence.pid).collect();
    assert_eq!(pids, [Some(actors.pid()), Some(actors.pid())]);

    let short = start(&client, spec("sleep(1); 7")).await;
    let endless = start(&client, spec("loop { sleep(0.01) }")).await;
    is(&client, &short, Status::Started).await;
    is(&client, &endless, Status::Started).await;
    let kin = actors.children();
    assert_eq!(kin.len(), 2);
    actors.terminate();
    assert_eq!(client.wait_job(CONTEXT, &short, PATIENCE).await.unwrap().output, "7");
    let (code, log) = actors.failure().await;
    assert_eq!(code, Some(0), "{log}");
    Kin::all_gone(&kin).await;
    let job = client.get_job(CONTEXT, &endless).await.unwrap();
    assert_eq!((job.status, job.attempt, job.crashes), (Status::Dispatched, 0, 0));
    assert!(client.list_actors(CONTEXT).await.unwrap().is_empty());
    // Nobody is left to run it, and whoever waits is told so.
    let waited = client.wait_job(CONTEXT, &endless, Duration::from_millis(10)).await.unwrap_err();
    assert!(waited.has_code(code::WAIT_RAN_OUT) && waited.rpc().unwrap().data.as_ref().unwrap()["explanation"].is_string(), "{waited}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_told_to_drain_takes_no_jobs_and_ends_when_those_that_run_have_ended() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let mut server = Process::serve(&data, &["--pool", "osis=1,sal=1", "--grace", "0s"]).await;
    let client = server.client().await;
    let long = start(&client, spec("while osis::get(\"flags\", \"go\") == () { sleep(0.02) } \"done\"")).await;
    is(&client, &long, Status::Started).await;
    let hero = crate::support::hero();
    let mut drain = tokio::process::Command::new(hero);
    drain.args(["drain", "--server", &server.url()]).env_clear().kill_on_drop(true);
    let draining = drain.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    until("the word that it drains", || async {
        let (code, body) = server.get("/readyz").await;
        (code == 503 && body.contains("this server drains")).then_some(())
    })
    .await;
    // Calls are answered, and what is made now waits.
    let later = start(&client, spec("3")).await;
    assert_eq!(client.get_status(CONTEXT, &later).await.unwrap(), Status::Dispatched);
    until("an explanation that names the drain", || async {
        let why: serde_json::Value = client.call_named("explain_job", serde_json::json!({"job_id": later})).await.unwrap();
        (why["reason"] == "draining" && why["actors"] == 0).then_some(())
    })
    .await;
    assert_eq!(client.drain_server(PATIENCE).await.unwrap(), 1);
    let log = server.log();
    assert!(log.contains("a caller asks this server to drain") && log.contains("peer=127.0.0.1:"), "{log}");
    let _: serde_json::Value = client.call_named("set_object", serde_json::json!(["flags", {"id": "go"}])).await.unwrap();
    // Not even a grace of nothing cuts it.
    assert_eq!(client.wait_job(CONTEXT, &long, PATIENCE).await.unwrap().output, "done");
    let ended = draining.wait_with_output().await.unwrap();
    let (out, err) = (String::from_utf8(ended.stdout).unwrap(), String::from_utf8(ended.stderr).unwrap());
    assert!(ended.status.success() && out == "the server has ended\n" && err.contains("1 job runs there"), "{out} {err}");
    let (code, log) = server.failure().await;
    assert_eq!(code, Some(0), "{log}");
    let again = Process::serve(&data, &["--pool", "osis=1"]).await;
    assert_eq!(end(&again.client().await, &later).await.output, "3");
    again.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drain_whose_time_is_over_ends_as_a_signal_does() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let mut server = Process::serve(&data, &["--pool", "osis=1", "--grace", "0s"]).await;
    let client = server.client().await;
    let endless = start(&client, spec("loop { sleep(0.01) }")).await;
    is(&client, &endless, Status::Started).await;
    // Whoever asks again may have it end sooner, and not later.
    for time in [PATIENCE * 10, Duration::from_millis(200), PATIENCE * 10] {
        assert_eq!(client.drain_server(time).await.unwrap(), 1);
    }
    let (code, log) = server.failure().await;
    assert!(code == Some(0) && log.contains("jobs still run although the time of the drain is over"), "{log}");
    let look = Process::serve(&data, &["--pool", "none"]).await;
    let job = look.client().await.get_job(CONTEXT, &endless).await.unwrap();
    assert_eq!((job.status, job.crashes), (Status::Dispatched, 0));
    look.stop().await;
}

/// The default address may be another server's.
#[test]
fn a_drain_of_a_data_directory_without_a_server_drains_no_other() {
    let hero = crate::cli::Hero::new();
    let data = tempfile::tempdir().unwrap();
    let hero = hero.env("HERO_DATA", data.path().to_str().unwrap());
    let socket = data.path().join("hero.sock");
    let refused = |arguments: &[&str]| {
        let ended = hero.run(arguments);
        assert!(
            ended.code == 7 && ended.err.contains("hero.sock") && !ended.err.contains("8700"),
            "{arguments:?}: {} {}",
            ended.code,
            ended.err
        );
    };
    refused(&["drain"]);
    // A killed server leaves its socket behind.
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    refused(&["drain"]);
    refused(&["identity", "list"]);
}
