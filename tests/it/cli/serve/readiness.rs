//! The answers of `/readyz`, and the log messages about them.

use crate::support::{Process, Redis, until};

async fn reasons(server: &Process, part: &str) {
    until(part, || async {
        let (code, body) = server.get("/readyz").await;
        (code == 503 && body.contains(part)).then_some(())
    })
    .await;
}

async fn ready(server: &Process) {
    until("ready", || async { (server.get("/readyz").await.0 == 200).then_some(()) }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_whose_redis_is_full_is_not_ready_and_the_log_says_so_once() {
    let redis = Redis::start().await;
    let home = tempfile::tempdir().unwrap();
    let server = Process::serve(home.path(), &["--pool", "osis=1", "--redis", &redis.url()]).await;
    ready(&server).await;
    let _: () = redis.run(&["CONFIG", "SET", "maxmemory", "1"]).await;
    reasons(&server, "Redis is full and refuses to write").await;
    for _ in 0..5 {
        assert_eq!(server.get("/readyz").await.0, 503);
    }
    assert_eq!(server.get("/healthz").await.0, 200);
    let _: () = redis.run(&["CONFIG", "SET", "maxmemory", "0"]).await;
    ready(&server).await;
    let log = server.stop().await;
    let times = |words: &str| log.lines().filter(|line| line.contains(words)).count();
    assert_eq!((times("not ready"), times("ready again")), (1, 1), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_whose_actors_lost_their_presence_is_not_ready() {
    const PRESENCE: &str = "hero:meta:actor:inst:osis:default:1";
    let redis = Redis::start().await;
    let home = tempfile::tempdir().unwrap();
    let server = Process::serve(home.path(), &["--pool", "osis=1", "--redis", &redis.url()]).await;
    ready(&server).await;
    assert_eq!(redis.run::<i32>(&["EXISTS", PRESENCE]).await, 1);
    let _: () = redis.run(&["SET", PRESENCE, r#"{"incarnation":"somebody else"}"#]).await;
    reasons(&server, "no actor of the pool osis is present").await;
    let _: i32 = redis.run(&["DEL", PRESENCE]).await;
    ready(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn probes_in_any_number_put_next_to_no_load_on_redis() {
    let redis = Redis::start().await;
    let home = tempfile::tempdir().unwrap();
    let server = Process::serve(home.path(), &["--pool", "osis=1", "--redis", &redis.url()]).await;
    let infos = async || {
        let stats: String = redis.run(&["INFO", "commandstats"]).await;
        let line = stats.lines().find_map(|line| line.strip_prefix("cmdstat_info:calls=")).expect("INFO was called").to_owned();
        line.split(',').next().unwrap().parse::<u64>().unwrap()
    };
    let (before, begun) = (infos().await, std::time::Instant::now());
    let all: Vec<_> = (0..200).map(|_| server.get("/readyz")).collect();
    for (code, body) in futures_util::future::join_all(all).await {
        assert_eq!(code, 200, "{body}");
    }
    let asked = infos().await - before;
    // The server's own loops ask for it too: the pruner each second, the gauges every five.
    let allowed = 3 * (begun.elapsed().as_secs() + 2);
    assert!(asked <= allowed, "{asked} times for 200 probes in {:?}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_hangs_is_told_by_readyz_and_by_the_log_of_servers_and_actors() {
    let redis = Redis::start().await;
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let server = Process::serve(&data, &["--pool", "osis=1", "--redis", &redis.url()]).await;
    let more = ["actor", "--pool", "sal=1", "--redis", &redis.url(), "--data", data.to_str().unwrap()];
    let actor = Process::start(&more).until_ready().await;
    ready(&server).await;
    redis.halt(true);
    // Nobody asks the probe before the log has told it.
    for process in [&server, &actor] {
        until("a word in the log", || async { process.log().contains("Redis does not answer within").then_some(()) }).await;
    }
    reasons(&server, "Redis does not answer within").await;
    redis.halt(false);
    ready(&server).await;
    for process in [&server, &actor] {
        until("a word in the log", || async { process.log().contains("ready again").then_some(()) }).await;
    }
    actor.stop().await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_hangs_after_it_was_full_is_told_too() {
    let redis = Redis::start().await;
    let home = tempfile::tempdir().unwrap();
    let server = Process::serve(home.path(), &["--pool", "osis=1", "--redis", &redis.url()]).await;
    let _: () = redis.run(&["CONFIG", "SET", "maxmemory", "1"]).await;
    reasons(&server, "Redis is full and refuses to write").await;
    redis.halt(true);
    until("a word in the log", || async { server.log().contains("Redis does not answer within").then_some(()) }).await;
    redis.halt(false);
    let _: () = redis.run(&["CONFIG", "SET", "maxmemory", "0"]).await;
    ready(&server).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_cannot_write_to_its_disk_is_told_as_such() {
    let redis = Redis::with(&["--save", "3600 1", "--enable-protected-configs", "yes"]).await;
    let home = tempfile::tempdir().unwrap();
    let server = Process::serve(home.path(), &["--pool", "osis=1", "--redis", &redis.url()]).await;
    ready(&server).await;
    let gone = redis.directory().join("gone");
    std::fs::create_dir(&gone).unwrap();
    let _: () = redis.run(&["CONFIG", "SET", "dir", gone.to_str().unwrap()]).await;
    std::fs::remove_dir(&gone).unwrap();
    let _: String = redis.run(&["BGSAVE"]).await;
    reasons(&server, "Redis refuses to write: it cannot write to its disk").await;
    let refused = super::run(&server.client().await, "1").await.unwrap_err();
    let message = refused.rpc().unwrap().message.clone();
    assert!(refused.has_code(super::STORE_UNAVAILABLE) && message.starts_with("Redis refuses to write: "), "{message}");
    let _: () = redis.run(&["CONFIG", "SET", "stop-writes-on-bgsave-error", "no"]).await;
    ready(&server).await;
    server.stop().await;
}
