//! The home directory of the commands of a job.

use std::path::PathBuf;

use hero::model::Status;
use hero::sal::Files;

use super::{Ground, job, logged};
use crate::support::{CONTEXT, until};

/// The directories of homes that are there.
fn homes(ground: &Ground) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(files(ground).homes()).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn files(ground: &Ground) -> Files {
    Files::new(ground.house.redis.directory(), CONTEXT, 1)
}

/// The output of a command.
async fn wrote(ground: &Ground, command: &str) -> String {
    ground.gives(&format!("run({command:?}).silent().execute().stdout")).await.as_str().unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_job_leaves_at_home_runs_in_no_other() {
    let ground = Ground::open().await;
    let packages = "$(python3 -c 'import site; print(site.getusersitepackages())')";
    let plants = format!("p={packages}; mkdir -p $p; echo 'print(\"planted\")' > $p/usercustomize.py; python3 -c 'print(\"own\")'");
    assert_eq!(wrote(&ground, &plants).await, "planted\nown\n", "it runs in the job itself");
    assert_eq!(wrote(&ground, "python3 -c 'print(\"own\")'; ls -A $HOME $TMPDIR | grep -v :").await, "own\n\n");
    // Commands of one job have one home.
    assert_eq!(ground.gives("run_silent(\"echo a > ~/kept\"); run_silent(\"cat $TMPDIR/kept\").stdout").await, "a\n");
    until("the end of all homes", || async { homes(&ground).is_empty().then_some(()) }).await;
    ground.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_home_of_a_job_that_runs_is_seen_by_no_other() {
    let mut ground = Ground::open().await;
    let pool = ground.house.redis.directory().to_owned();
    let processes = hero::sal::Processes::new(crate::support::hero(), hero::process::Spawner::start().unwrap(), super::MEMORY);
    let resources = hero::sal::Resources {
        files: Some(Files::new(&pool, CONTEXT, super::QUOTA)),
        processes: Some(processes),
        ..hero::sal::Resources::default()
    };
    let more = super::sal_settings(&ground.house, resources);
    ground.house.hire(more).await;
    let script = r#"let at = run_silent("echo secret > ~/file; echo at $HOME").stdout; at.trim(); print(at); run("sleep 60").execute()"#;
    let first = ground.house.start(job(script)).await;
    let home = until("the home of a job", || async {
        logged(&ground, &first).await.iter().find_map(|line| Some(line.strip_prefix("at ")?.to_owned()))
    })
    .await;
    for command in [format!("cat {home}/file"), format!("ls {home}"), format!("touch {home}/x"), "ls $HOME/../..".to_owned()] {
        let code = ground.gives(&format!("run({command:?}).silent().ignore_error().execute().code")).await;
        assert_ne!(code, 0, "{command}");
    }
    assert_ne!(wrote(&ground, "echo $HOME").await.trim_end(), home);
    // It is locked, so nobody takes it for one that was left.
    files(&ground).remove_left();
    assert!(homes(&ground).iter().any(|there| home.starts_with(there.to_str().unwrap())), "{home}");
    ground.house.dispatcher.jobs().stop(CONTEXT, &first).await.unwrap();
    ground.house.is(&first, Status::Error).await;
    until("the end of all homes", || async { homes(&ground).is_empty().then_some(()) }).await;
    ground.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_in_homes_counts_with_the_files_of_the_context() {
    let ground = Ground::with_quota(8 << 20).await;
    let error = ground.error("run(\"head -c 20000000 /dev/zero > $TMPDIR/large; sleep 60\").silent().execute()").await;
    assert!(error.message.starts_with("the command was ended: the files of this context have no room"), "{}", error.message);
    until("the end of all homes", || async { homes(&ground).is_empty().then_some(()) }).await;
    assert_eq!(wrote(&ground, "echo a > ~/small; cat ~/small").await, "a\n");
    ground.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_later_start_removes_the_homes_of_a_server_that_was_killed() {
    let ground = Ground::open().await;
    let files = files(&ground);
    for number in 0..9 {
        let left = files.homes().join(format!("hero-jobs-{number:032x}/home/deep"));
        std::fs::create_dir_all(&left).unwrap();
        std::fs::write(left.join("file"), "x").unwrap();
    }
    files.remove_left();
    assert_eq!(homes(&ground), Vec::<PathBuf>::new());
    ground.close().await;
}
