//! Detection of live actors, and of foreign ones among them.

use std::collections::BTreeSet;

use hero::model::{Actor, JobId};

use super::{LegacyWorker, Manner, OSIS, hset};
use crate::support::{CONTEXT, House, until};

const PRESENT: &str = "hero:meta:actor:inst:";

async fn set(house: &House, actor: &str, said: &str) {
    let _: () = house.redis.run(&["SET", &format!("{PRESENT}{actor}"), said, "EX", "15"]).await;
}

async fn actors(house: &House) -> Vec<Actor> {
    house.dispatcher.actors().list(CONTEXT).await.unwrap()
}

/// The presence keys that Redis has, and those that `list_actors` has.
async fn both(house: &House) -> (BTreeSet<String>, BTreeSet<String>) {
    let keys: Vec<String> = house.redis.run(&["KEYS", &format!("{PRESENT}*")]).await;
    let listed = actors(house).await.into_iter().map(|actor| format!("{PRESENT}{}:{}:{}", actor.script_type, actor.group, actor.instance));
    (keys.into_iter().collect(), listed.collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn list_actors_agrees_with_the_presences_at_any_time() {
    let house = House::open(2).await;
    let good = r#"{"pid":7,"hostname":"elsewhere","started_at":"2026-01-01T00:00:00Z","version":"9","capabilities":["net"],"last_heartbeat":"2026-01-01T00:00:01Z"}"#;
    let wordings =
        [("python:gpu:3", good), ("osis:default:9", "alive"), ("sal:io:1", "{\"pid\":\"8\"}"), ("v:default:0", ""), ("v:default:1", "[]")];
    for (number, (actor, said)) in wordings.into_iter().enumerate() {
        set(&house, actor, said).await;
        let (keys, listed) = both(&house).await;
        assert_eq!((listed.len(), listed), (number + 3, keys));
    }
    let listed = actors(&house).await;
    let foreign: Vec<String> =
        listed.iter().filter(|actor| actor.foreign).map(|actor| format!("{}:{}", actor.script_type, actor.instance)).collect();
    assert_eq!(foreign, ["osis:9", "python:3", "sal:1", "v:0", "v:1"]);
    let of = |script_type: &str| {
        listed.iter().find(|actor| actor.foreign && actor.script_type.as_str() == script_type).unwrap().presence.clone()
    };
    assert_eq!(
        (of("python").pid, of("python").hostname.as_deref(), of("sal").pid, of("osis").pid),
        (Some(7), Some("elsewhere"), Some(8), None)
    );
    // Who has gone is not in the list any more, from that moment on.
    for (actor, _) in wordings {
        let _: i64 = house.redis.run(&["DEL", &format!("{PRESENT}{actor}")]).await;
        let (keys, listed) = both(&house).await;
        assert_eq!(keys, listed);
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_presence_of_any_length_is_listed_and_what_is_too_long_is_left_out_and_named() {
    let house = House::empty().await;
    let key = format!("{PRESENT}zz:default:1");
    let said = format!("{{\"pid\":7,\"hostname\":\"{}\"}}", "n".repeat(17 << 20));
    let _: () = house.redis.run(&["SET", &key, &said]).await;
    let listed = actors(&house).await;
    assert_eq!((listed.len(), listed[0].presence.pid, listed[0].presence.hostname.is_none()), (1, None, true));
    assert_eq!(house.store.health().spoilt_keys(), [key]);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn however_many_say_much_all_are_listed_and_the_list_is_one_answer() {
    let house = House::empty().await;
    let write = "for n = 1, 1200 do
        redis.call('SET', ARGV[1] .. 'zz:default:' .. n, '{\"hostname\":\"' .. string.rep('n', 4000) .. '\"}')
        redis.call('SADD', 'hero:meta:actors', ARGV[1] .. 'zz:default:' .. n)
      end";
    let _: Option<String> = house.redis.run(&["EVAL", write, "0", PRESENT]).await;
    let listed = actors(&house).await;
    let said: usize = listed.iter().filter_map(|actor| actor.presence.hostname.as_ref()).map(String::len).sum();
    assert_eq!(listed.len(), 1200);
    assert!((2 << 20..=4 << 20).contains(&said), "{said}");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_type_is_native_only_while_no_foreign_actor_shows_itself() {
    let house = House::open(1).await;
    let native_only = async |expected: bool| {
        let is_as_expected =
            || async { (house.redis.run::<bool>(&["SISMEMBER", "hero:meta:calm", "osis"]).await == expected).then_some(()) };
        until(&format!("native only: {expected}"), is_as_expected).await;
    };
    native_only(true).await;
    set(&house, "osis:default:7", "{}").await;
    native_only(false).await;
    let _: i64 = house.redis.run(&["DEL", &format!("{PRESENT}osis:default:7")]).await;
    native_only(true).await;
    assert!(house.redis.run::<i64>(&["TTL", "hero:meta:calm"]).await > 0);
    // One that does not say that it lives is known by what it does.
    let id = JobId::random();
    hset(&house.redis, &id, "1", &[("status", "started"), ("script_type", "osis")]).await;
    native_only(false).await;
    house.store.clock().advance(std::time::Duration::from_secs(3601));
    native_only(true).await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_actor_that_shows_itself_makes_its_script_type_known() {
    let house = House::empty().await;
    let queue = "hero:q:work:type:python";
    let manner = Manner { presence: Some((format!("{PRESENT}python:default:1"), "{}".into())), ..Manner::of(&[queue, OSIS]) };
    let _worker = LegacyWorker::hire(&house.redis, manner).await;
    let job = || hero::model::JobSpec { script_type: "python".parse().unwrap(), ..crate::support::spec("echo hiss") };
    let result = house.dispatcher.jobs().run_and_wait(job(), crate::support::PATIENCE).await.unwrap();
    assert_eq!(result.output, "hiss");
    let queues = house.dispatcher.queues().list(CONTEXT).await.unwrap();
    assert!(queues.iter().any(|of| of.name == queue && of.actors == 1), "{queues:?}");
    house.close().await;
}
