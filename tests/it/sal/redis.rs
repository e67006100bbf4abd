//! The Redis that an operator configured for scripts.

use std::path::PathBuf;

use hero::store::{Endpoint, GrantedRedis, NotGranted};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, UnixStream};

use super::Ground;
use crate::support::{House, Redis, until};

#[tokio::test(flavor = "multi_thread")]
async fn scripts_use_the_redis_that_the_operator_named() {
    let (house, mut redis) = (House::empty().await, Redis::start().await);
    let granted = GrantedRedis::new(&redis.endpoint(), vec![house.store.clone()]).unwrap();
    let ground = Ground::with_redis(house, granted).await;
    assert_eq!(ground.gives("redis_set(\"a\", \"1\"); redis_incr(\"a\"); redis_get(\"a\")").await, "2");
    assert_eq!(redis.run::<String>(&["GET", "a"]).await, "2");
    assert_eq!(ground.gives("redis_set(\"empty\", \"\"); [redis_get(\"empty\"), redis_get(\"none\"), redis_hget(\"none\", \"f\"), redis_hgetall(\"none\"), redis_lrange(\"none\", 0, -1)]").await, json!(["", null, null, {}, []]));
    let script = "for n in 0..3 { redis_hset(\"h\", `f${n}`, `${n}`); } redis_hdel(\"h\", \"f1\"); [redis_hgetall(\"h\"), redis_hget(\"h\", \"f2\"), redis_exists(\"h\"), redis_del(\"h\"), redis_exists(\"h\")]";
    assert_eq!(ground.gives(script).await, json!([{"f0": "0", "f2": "2"}, "2", true, true, false]));
    redis.run::<()>(&["SET", "large", &"x".repeat(300 << 10)]).await;
    redis.run::<()>(&["SET", "bytes", "x"]).await;
    redis.run::<i64>(&["SETBIT", "bytes", "0", "1"]).await;
    for (script, told) in [
        ("redis_hget(\"a\", \"f\")", "WRONGTYPE"),
        ("redis_incr(\"empty\")", "not an integer"),
        ("redis_get(\"large\")", "larger than"),
        ("redis_get(\"bytes\")", "no text (UTF-8)"),
        ("redis_set(\"a\", 1)", "there is redis_set(key: string, value: string)"),
    ] {
        let error = ground.error(script).await;
        assert!(error.message.contains(told), "{script}: {}", error.message);
    }
    // It may close connections that rest, which is no error of the next script.
    redis.run::<i64>(&["CLIENT", "KILL", "TYPE", "normal"]).await;
    assert_eq!(ground.gives("redis_get(\"a\")").await, "2");
    // It may go and come back.
    redis.kill();
    let error = ground.error("redis_get(\"a\")").await;
    assert!(error.message.contains("the Redis at unix://"), "{}", error.message);
    redis.restart().await;
    until("an answer", || async { ground.run("redis_ping()").await.ok().filter(|result| result.output == "PONG") }).await;
    ground.close().await;
}

/// Passes on what it gets to a Redis. Once a command of a script went through, it closes the connection instead of giving the answer.
async fn forgetful(listener: TcpListener, redis: PathBuf) {
    loop {
        let (mut client, _) = listener.accept().await.unwrap();
        let mut server = UnixStream::connect(&redis).await.unwrap();
        tokio::spawn(async move {
            let (mut asked, mut answered, mut is_command) = (vec![0; 1 << 16], vec![0; 1 << 16], false);
            loop {
                tokio::select! {
                    read = client.read(&mut asked) => match read {
                        Ok(read @ 1..) => {
                            is_command |= asked[..read].windows(4).any(|word| word == b"INCR");
                            server.write_all(&asked[..read]).await.unwrap();
                        }
                        Ok(0) | Err(_) => return,
                    },
                    read = server.read(&mut answered) => {
                        // That it does not know the script is passed on: then the whole script comes.
                        let unknown = answered.starts_with(b"-NOSCRIPT");
                        match read {
                            Ok(read @ 1..) if !is_command || unknown => client.write_all(&answered[..read]).await.unwrap(),
                            _ => return,
                        }
                    }
                }
            }
        });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_whose_answer_is_lost_is_an_error_and_not_done_again() {
    let redis = Redis::start().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = Endpoint { url: format!("redis://{}", listener.local_addr().unwrap()), ..Endpoint::default() };
    let proxy = tokio::spawn(forgetful(listener, redis.socket()));
    let granted = GrantedRedis::new(&endpoint, Vec::new()).unwrap();
    let ground = Ground::with_redis(House::empty().await, granted).await;
    // The second time the connection is one that was kept.
    let error = ground.error("redis_ping(); redis_get(\"a\"); redis_incr(\"a\")").await;
    assert!(error.message.contains("is not there"), "{}", error.message);
    assert_eq!(redis.run::<String>(&["GET", "a"]).await, "1");
    assert_eq!(ground.gives("redis_get(\"a\")").await, "1");
    ground.close().await;
    proxy.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn no_script_gets_a_redis_of_hero_under_whatever_name() {
    let house = House::empty().await;
    let copy = Redis::start().await;
    let own = GrantedRedis::new(&house.redis.endpoint(), vec![house.store.clone()]).unwrap();
    assert!(matches!(own.verify().await, Err(NotGranted::Own(_))));
    // Another way to the same server, and another database of it.
    let link = copy.directory().join("elsewhere.sock");
    std::os::unix::fs::symlink(house.redis.socket(), &link).unwrap();
    let elsewhere = Endpoint { url: format!("unix://{}?db=9", link.display()), ..Endpoint::default() };
    let granted = GrantedRedis::new(&elsewhere, vec![house.store.clone()]).unwrap();
    let ground = Ground::with_redis(house, granted).await;
    let error = ground.error("redis_set(\"a\", \"1\")").await;
    assert!(error.message.contains("in which hero keeps its jobs"), "{}", error.message);
    assert_eq!(ground.house.redis.run::<i64>(&["EXISTS", "a"]).await, 0);
    ground.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_waits_for_redis_obeys_a_stop() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let house = House::empty().await;
    let silent = Endpoint { url: format!("redis://{}", listener.local_addr().unwrap()), ..Endpoint::default() };
    let granted = GrantedRedis::new(&silent, vec![house.store.clone()]).unwrap();
    let ground = Ground::with_redis(house, granted).await;
    let accepted = async |_: &hero::model::JobId| std::mem::forget(listener.accept().await.unwrap());
    ground.stop("while true { try { redis_get(\"a\") } catch { } }", accepted).await;
    // One that was there, and does not answer any more.
    let redis = Redis::start().await;
    ground.close().await;
    let house = House::empty().await;
    let granted = GrantedRedis::new(&redis.endpoint(), vec![house.store.clone()]).unwrap();
    granted.verify().await.unwrap();
    let ground = Ground::with_redis(house, granted).await;
    redis.halt(true);
    ground.stop("while true { try { redis_get(\"a\") } catch { } }", async |_| {}).await;
    redis.halt(false);
    ground.close().await;
}
