use hero::model::Status;

use super::{CONTEXT, is, run, sharing, spec, start, words};
use crate::support::{PATIENCE, Process};

#[tokio::test(flavor = "multi_thread")]
async fn two_servers_on_one_redis_share_the_work() {
    let home = tempfile::tempdir().unwrap();
    let (data, other) = (home.path().join("data"), home.path().join("other"));
    let shared = sharing(&data);
    let first = Process::serve(&data, &["--pool", "none"]).await;
    let second = Process::serve(&other, &words(&["--pool", "osis=1"], &shared)).await;
    assert!(second.redis().is_none());
    let (one, two) = (first.client().await, second.client().await);
    // The first has no actors: the second runs the job and tells it.
    assert_eq!(run(&one, "40 + 2").await.unwrap().output, "42");
    let id = start(&one, spec("sleep(0.2); 1")).await;
    let (a, b) = tokio::join!(one.wait_job(CONTEXT, &id, PATIENCE), two.wait_job(CONTEXT, &id, PATIENCE));
    assert_eq!((a.unwrap().output, b.unwrap().output), ("1".into(), "1".into()));
    let id = start(&two, spec("loop {}")).await;
    is(&two, &id, Status::Started).await;
    assert_eq!(one.stop_job(CONTEXT, &id).await.unwrap(), Status::Error);
    // Redis belongs to the first and outlives the second.
    second.stop().await;
    assert_eq!(one.get_job(CONTEXT, &id).await.unwrap().status, Status::Error);
    assert!(one.list_actors(CONTEXT).await.unwrap().is_empty());
    first.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn instances_take_the_lowest_free_number_and_a_taken_one_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let (data, other) = (home.path().join("data"), home.path().join("other"));
    let shared = sharing(&data);
    let config = home.path().join("hero.toml");
    std::fs::write(&config, "[[pools]]\ntype = \"osis\"\ninstances = [2]\n").unwrap();
    let by_number = words(&["--config", config.to_str().unwrap()], &shared);
    let first = Process::serve(&data, &["--pool", "none"]).await;
    let client = first.client().await;
    let numbers = async || {
        let actors = client.list_actors(CONTEXT).await.unwrap();
        actors.iter().map(|actor| (actor.instance, actor.presence.pid)).collect::<Vec<_>>()
    };

    let two = Process::serve(&other, &by_number).await;
    assert_eq!(numbers().await, [(2, Some(two.pid()))]);
    let counted = Process::serve(&other, &words(&["--pool", "osis=2"], &shared)).await;
    assert_eq!(numbers().await, [(1, Some(counted.pid())), (2, Some(two.pid())), (3, Some(counted.pid()))]);

    let (code, log) = Process::serving(&other, &by_number).failure().await;
    assert_eq!(code, Some(1));
    assert!(log.contains("osis:default:2") && log.contains(&format!("process {}", two.pid())), "{log}");
    // The refusal took nothing away from anybody.
    assert_eq!(numbers().await.len(), 3);

    two.stop().await;
    let again = Process::serve(&other, &by_number).await;
    assert_eq!(numbers().await[1], (2, Some(again.pid())));
    again.stop().await;
    counted.stop().await;
    first.stop().await;
}
