use std::collections::BTreeSet;

use hero::client::Client;
use hero::model::{ErrorKind, JobId, JobSpec, Status};

use super::{CONTEXT, STORE_UNAVAILABLE, changes, end, is, run, sharing, spec, start, words};
use crate::support::{Kin, PATIENCE, Process, Redis, until};

#[tokio::test(flavor = "multi_thread")]
async fn kill_9_of_a_server_leaves_no_orphan_and_loses_no_job() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let arguments = ["--pool", "osis=2,sal=1", "--lease", "1s", "--durability", "always"];
    let mut server = Process::serve(&data, &arguments).await;
    let client = server.client().await;
    let done = run(&client, "1 + 1").await.unwrap().job_id;
    // On a busy machine the kill may come late.
    let running = start(&client, spec("if ATTEMPT == 1 { sleep(60) } 5")).await;
    is(&client, &running, Status::Started).await;
    let kin = server.children();
    assert_eq!((kin.len(), server.engines().len(), server.redis().is_some()), (4, 3, true), "{kin:?}");
    server.kill().await;
    Kin::all_gone(&kin).await;

    let again = Process::serve(&data, &arguments).await;
    let client = again.client().await;
    assert_eq!(client.get_result(CONTEXT, &done).await.unwrap().output, "2");
    let result = client.wait_job(CONTEXT, &running, PATIENCE).await.unwrap();
    assert_eq!((result.output.as_str(), result.attempt), ("5", 2));
    assert_eq!(client.get_job(CONTEXT, &running).await.unwrap().crashes, 1);
    let log = again.stop().await;
    assert!(log.lines().any(|line| line.contains("requeued 1 job whose lease expired")), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_and_its_supervisors_leave_when_they_are_killed_together_is_removed_by_a_later_start() {
    let home = tempfile::tempdir().unwrap();
    let (temporary, config) = (home.path().join("tmp"), home.path().join("hero.toml"));
    std::fs::create_dir(&temporary).unwrap();
    std::fs::write(&config, "[script_types.shell]\ncommand = [\"/bin/bash\", \"{script}\"]\n").unwrap();
    let serve = async |name: &str| {
        let data = home.path().join(name);
        let (data, config) = (data.to_str().unwrap(), config.to_str().unwrap());
        let arguments = ["serve", "--listen", "127.0.0.1:0", "--data", data, "--config", config, "--pool", "shell=1"];
        Process::start_with(&arguments, |command| _ = command.env("TMPDIR", &temporary)).until_ready().await
    };
    let directories = || {
        let names = std::fs::read_dir(&temporary).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with("hero-jobs-")).collect::<BTreeSet<_>>()
    };
    let works = async |server: &Process| {
        let shell = JobSpec { script_type: "shell".parse().unwrap(), ..spec("echo 42 >&3") };
        server.client().await.run_and_wait(&shell, PATIENCE).await.unwrap().output
    };
    let living = serve("living").await;
    assert_eq!(works(&living).await, "42");
    let of_living = directories();
    let mut killed = serve("killed").await;
    assert_eq!(works(&killed).await, "42");
    let all = directories();
    assert!(of_living.len() == 1 && all.len() == 2, "{of_living:?} {all:?}");

    // A supervisor that lives longer than its server removes its directory itself, so these may not.
    let supervisors = killed.supervisors();
    for supervisor in &supervisors {
        supervisor.stop();
    }
    killed.kill().await;
    supervisors.iter().for_each(Kin::kill);
    Kin::all_gone(&supervisors).await;
    assert_eq!(directories(), all);
    let next = serve("next").await;
    until("what was left is gone", || async { directories().is_disjoint(&(&all - &of_living)).then_some(()) }).await;
    assert!(directories().is_superset(&of_living));
    for server in [living, next] {
        assert_eq!(works(&server).await, "42");
        server.stop().await;
    }
    until("nothing is left", || async { directories().is_empty().then_some(()) }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_private_redis_are_never_on_one_file_even_when_the_first_does_not_listen() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let mut server = Process::serve(&data, &["--pool", "none"]).await;
    let lock = std::fs::File::open(data.join("redis.lock")).unwrap();
    let try_lock = || rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_ok();
    assert!(!try_lock(), "a Redis that lives has it");
    server.kill().await;
    // As one has it that is still starting, or already ending: nobody can connect to it.
    until("the Redis of the server has ended", || async { try_lock().then_some(()) }).await;
    let next = Process::serving(&data, &["--pool", "none"]);
    let waits = || async { (next.log().contains("waits for the one of a server that was killed") || !next.out().is_empty()).then_some(()) };
    until("the next one waits or starts", waits).await;
    assert!(next.out().is_empty(), "{:?}", next.out());
    drop(lock);
    next.until_ready().await.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_private_redis_that_dies_is_started_again_and_jobs_go_on() {
    let home = tempfile::tempdir().unwrap();
    let server = Process::serve(&home.path().join("data"), &["--pool", "osis=1", "--durability", "always"]).await;
    let client = server.client().await;
    let before = run(&client, "1").await.unwrap().job_id;
    let running = start(&client, spec("sleep(0.5); 2")).await;
    is(&client, &running, Status::Started).await;
    let redis = server.redis().unwrap();
    redis.kill();
    assert_eq!(end(&client, &running).await.output, "2");
    let fresh = until("another Redis", || async { server.redis().filter(|fresh| *fresh != redis) }).await;
    assert!(fresh.lives() && !redis.lives());
    assert_eq!(end(&client, &before).await.output, "1");
    assert_eq!(run(&client, "3").await.unwrap().output, "3");
    assert_eq!(server.get("/readyz").await.0, 200);
    server.stop().await;
    Kin::all_gone(&[fresh]).await;
}

/// Kills the engine under each of the first attempts of a job.
async fn kill_attempts(server: &Process, client: &Client, id: &JobId, attempts: u32) {
    for attempt in 1..=attempts {
        // Its script runs: an engine that dies before it has read its job costs no attempt.
        until("the attempt", || async {
            // The log has the error of each attempt, too.
            let lines = client.get_logs(CONTEXT, id, None, 100).await.ok()?.lines;
            let begun = lines.iter().filter(|line| line.text == "1").count();
            let job = client.get_job(CONTEXT, id).await.ok()?;
            (job.attempt == attempt && job.status == Status::Started && begun >= attempt as usize).then_some(())
        })
        .await;
        server.engines().iter().for_each(Kin::kill);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_dies_costs_its_job_one_attempt_and_the_third_ends_it() {
    let home = tempfile::tempdir().unwrap();
    let server = Process::serve(&home.path().join("data"), &["--pool", "osis=1"]).await;
    let client = server.client().await;
    let id = start(&client, spec("print(1); if ATTEMPT < 3 { sleep(60) } 1")).await;
    kill_attempts(&server, &client, &id, 2).await;
    let result = client.wait_job(CONTEXT, &id, PATIENCE).await.unwrap();
    assert_eq!((result.attempt, client.get_job(CONTEXT, &id).await.unwrap().crashes), (3, 2));

    let id = start(&client, spec("print(1); sleep(60)")).await;
    kill_attempts(&server, &client, &id, 3).await;
    let failure = client.wait_job(CONTEXT, &id, PATIENCE).await.unwrap_err().rpc().unwrap().job_failure().unwrap();
    assert_eq!((failure.error.kind, failure.attempt), (ErrorKind::Crashed, 3));
    assert_eq!(run(&client, "1").await.unwrap().attempt, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn while_redis_is_gone_calls_say_so_and_then_everything_resumes() {
    let mut redis = Redis::with(&["--appendonly", "yes", "--appendfsync", "always", "--save", ""]).await;
    let (url, home) = (redis.url(), tempfile::tempdir().unwrap());
    let server = Process::serve(home.path(), &["--pool", "osis=1", "--redis", &url]).await;
    let client = server.client().await;
    let before = run(&client, "1").await.unwrap().job_id;
    let running = start(&client, spec("sleep(0.5); 2")).await;
    is(&client, &running, Status::Started).await;
    redis.kill();
    // Each of these has waited for its deadline by then.
    let new = spec("3");
    let (created, status) = tokio::join!(client.create_job(&new), client.get_status(CONTEXT, &before));
    assert!(created.as_ref().unwrap_err().has_code(STORE_UNAVAILABLE), "{created:?}");
    assert!(status.as_ref().unwrap_err().has_code(STORE_UNAVAILABLE), "{status:?}");
    assert_eq!((server.get("/healthz").await.0, server.get("/readyz").await.0), (200, 503));
    redis.restart().await;
    assert_eq!(end(&client, &running).await.output, "2");
    assert_eq!(end(&client, &before).await.output, "1");
    assert_eq!(run(&client, "3").await.unwrap().output, "3");
    assert_eq!(server.get("/readyz").await.0, 200);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_dies_while_it_has_nothing_to_do_costs_nobody_an_attempt() {
    let home = tempfile::tempdir().unwrap();
    let server = Process::serve(&home.path().join("data"), &["--pool", "osis=1"]).await;
    let client = server.client().await;
    for _ in 0..5 {
        let engines = server.engines();
        engines.iter().for_each(Kin::kill);
        Kin::all_gone(&engines).await;
        let result = run(&client, "1").await.unwrap();
        assert_eq!(result.attempt, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pools_of_one_server_do_not_requeue_each_others_jobs() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let server = Process::serve(&data, &["--pool", "osis=1,sal=1", "--durability", "always"]).await;
    let client = server.client().await;
    let of_sal = start(&client, JobSpec { script_type: "sal".parse().unwrap(), ..spec("sleep(3); 1") }).await;
    let of_osis = start(&client, spec("sleep(3); 2")).await;
    is(&client, &of_sal, Status::Started).await;
    is(&client, &of_osis, Status::Started).await;
    // Each pool finds that a fetch failed, and looks at what it holds.
    server.redis().unwrap().kill();
    for id in [of_sal, of_osis] {
        end(&client, &id).await;
        assert_eq!(changes(&data, &id).await, ["created", "dispatched", "started", "finished"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_slept_longer_than_a_lease_ends_no_job_that_others_have_now() {
    let home = tempfile::tempdir().unwrap();
    let (data, other) = (home.path().join("data"), home.path().join("other"));
    let shared = sharing(&data);
    let server = Process::serve(&data, &["--pool", "none"]).await;
    let arguments = ["actor", "--pool", "osis=1", "--lease", "1s", "--data", other.to_str().unwrap()];
    let actors =
        [Process::start(&words(&arguments, &shared)).until_ready().await, Process::start(&words(&arguments, &shared)).until_ready().await];
    let client = server.client().await;
    let id = start(&client, spec("sleep(2.5); 5")).await;
    is(&client, &id, Status::Started).await;
    let holder = client.get_job(CONTEXT, &id).await.unwrap().actor.unwrap();
    let present = client.list_actors(CONTEXT).await.unwrap();
    let pid = present.iter().find(|actor| holder.ends_with(&format!(":{}", actor.instance))).unwrap().presence.pid;
    let sleeper = actors.iter().find(|process| Some(process.pid()) == pid).unwrap();
    sleeper.signal(rustix::process::Signal::STOP);
    until("the other has it", || async { client.get_job(CONTEXT, &id).await.ok().filter(|job| job.attempt == 2) }).await;
    // It wakes while the other runs the job.
    sleeper.signal(rustix::process::Signal::CONT);
    let result = client.wait_job(CONTEXT, &id, PATIENCE).await.unwrap();
    assert_eq!((result.output.as_str(), result.attempt), ("5", 2));
    // Both take jobs.
    let both = async || {
        let jobs = futures_util::future::join_all((0..4).map(|_| start(&client, spec("sleep(0.2); 1")))).await;
        let mut by = std::collections::BTreeSet::new();
        for id in &jobs {
            client.wait_job(CONTEXT, id, PATIENCE).await.unwrap();
            by.insert(client.get_job(CONTEXT, id).await.unwrap().actor);
        }
        (by.len() == 2).then_some(())
    };
    until("both at work", both).await;
    let job = client.get_job(CONTEXT, &id).await.unwrap();
    assert_eq!((job.status, job.attempt, job.crashes, job.stop_requested_at), (Status::Finished, 2, 1, None));
    assert_eq!(changes(&data, &id).await, ["created", "dispatched", "started", "dispatched", "started", "finished"]);
    for process in actors {
        process.stop().await;
    }
    server.stop().await;
}
