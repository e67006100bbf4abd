//! Host calls of scripts while Redis does not respond: each is carried out once, and answered when Redis is back.

use std::collections::BTreeMap;
use std::time::Duration;

use hero::dispatch::{Error, Objects};
use hero::model::{JobId, JobResult, JobSpec, Json, Status};
use hero::store::{ActorRoom, Fetch, Store};

use crate::support::{CONTEXT, Hole, House, PATIENCE, Redis, objects, pool_settings, spec, until};

/// Longer than any call to Redis may take, and shorter than a lease.
const AWAY: Duration = Duration::from_secs(7);

/// Has these jobs run, halts Redis as soon as all have begun, and gives how they ended when it was back. Each begins with a wait of so many seconds in which
/// that happens.
async fn halted(house: &House, jobs: Vec<JobSpec>, begins_after: u32, away: Duration) -> Vec<(JobId, Result<JobResult, Error>)> {
    let mut ids = Vec::new();
    for job in jobs {
        let script = format!("sleep({begins_after});\n{}", job.script);
        ids.push(house.start(JobSpec { script, ..job }).await);
    }
    for id in &ids {
        house.is(id, Status::Started).await;
    }
    house.redis.halt(true);
    tokio::time::sleep(away).await;
    house.redis.halt(false);
    let mut ends = Vec::new();
    for id in ids {
        let end = ended(house, &id).await;
        ends.push((id, end));
    }
    ends
}

/// The end of a job. It may show up a little later than the return of Redis.
async fn ended(house: &House, id: &JobId) -> Result<JobResult, Error> {
    until("the end of a job", || async {
        match house.dispatcher.jobs().wait(CONTEXT, id, PATIENCE).await {
            Err(Error::Store { .. } | Error::Busy { .. }) => None,
            end => Some(end),
        }
    })
    .await
}

async fn requeues(house: &House, id: &JobId) -> Option<u32> {
    house.redis.run::<Option<u32>>(&["HGET", &format!("hero:job:{id}"), "given_back"]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_scripts_ask_while_redis_is_away_is_answered_when_it_is_back() {
    let house = House::open(8).await;
    let people = "people".parse().unwrap();
    let shelf = objects(&house.store);
    for id in ["ada", "alan"] {
        shelf.set(&people, &serde_json::json!({ "id": id, "born": 1900 }).into()).await.unwrap();
    }
    shelf.index(&people, &["born".to_owned()]).await.unwrap();
    let first = house.start(JobSpec { name: Some("first".into()), ..spec("40") }).await;
    house.is(&first, Status::Finished).await;
    let of = |script: &str| JobSpec { prerequisites: vec![first.clone()], ..spec(script) };
    let asked = [
        ("inputs.first + 2", "42"),
        (r#"osis::get("people", "ada").born + osis::find("people", #{ order_by: "born" }).objects.len()"#, "1902"),
        (r#"[osis::exists("people", "ada"), osis::list("people").objects.len(), SLOT]"#, "[true,2,null]"),
        ("print(1); job::progress(40, \"half\"); for i in 0..300 { print(`line ${i}`); } sleep(4); 7", "7"),
    ];
    let ended = halted(&house, asked.iter().map(|(script, _)| of(script)).collect(), 2, AWAY).await;
    for ((script, expected), (id, end)) in asked.into_iter().zip(&ended) {
        let result = end.as_ref().unwrap_or_else(|error| panic!("{script}: {error}"));
        assert_eq!((result.output.as_str(), result.attempt), (expected, 1), "{script}");
        assert_eq!(requeues(&house, id).await, None, "{script}");
    }
    let events: Vec<(String, BTreeMap<String, String>)> = house.redis.run(&["XRANGE", "hero:events", "-", "+"]).await;
    let told = events
        .iter()
        .filter_map(|(_, event)| event.get("progress").filter(|_| event.get("job").is_some_and(|id| *id == ended[3].0.to_string())));
    assert!(told.clone().count() > 0 && told.clone().all(|told| told.contains("40") && told.contains("half")), "{events:?}");
    // Each line stands in the log once, in its order.
    let mut lines: Vec<String> = (0..300).map(|at| format!("line {at}")).collect();
    lines.insert(0, "1".to_owned());
    let page = house.dispatcher.logs().page(CONTEXT, &ended[3].0, None, 1000).await.unwrap();
    assert_eq!(page.lines.into_iter().map(|line| line.text).collect::<Vec<_>>(), lines);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_scripts_write_while_redis_is_away_is_done_once() {
    let house = House::open(8).await;
    let shelf = objects(&house.store);
    let (people, old) = ("people".parse().unwrap(), "old".parse().unwrap());
    shelf.set(&old, &serde_json::json!({ "id": "eve", "age": 7 }).into()).await.unwrap();
    shelf.index(&old, &["age".to_owned(), "name".to_owned()]).await.unwrap();
    let asked = [
        (r#"osis::set("people", #{ name: "Ada" }); 1"#, "1"),
        // Asked again, both would say that there was nothing.
        (r#"osis::delete("old", "eve")"#, "true"),
        (r#"osis::drop_index("old", "age")"#, "true"),
        (r#"osis::index("people", ["name"]); 2"#, "2"),
        (r#"job::spawn(#{ script: "1", name: "unnamed child" }); 3"#, "3"),
        (r#"job::spawn(#{ script: "1", name: "keyed child", idempotency_key: "k" }); 4"#, "4"),
        (r#"job::then(#{ script: "1", name: "continuation", job_id: "00000000-0000-4000-8000-000000000001" }); 5"#, "5"),
    ];
    let ended = halted(&house, asked.iter().map(|(script, _)| spec(script)).collect(), 2, AWAY).await;
    for ((script, expected), (id, end)) in asked.into_iter().zip(&ended) {
        let result = end.as_ref().unwrap_or_else(|error| panic!("{script}: {error}"));
        assert_eq!((result.output.as_str(), result.attempt), (expected, 1), "{script}");
        assert_eq!(requeues(&house, id).await, None, "{script}");
    }
    let found = shelf.find(&people, &serde_json::from_str("{}").unwrap(), hero::dispatch::Room::OF_SCRIPT).await.unwrap();
    assert_eq!(found.objects.len(), 1);
    let index: String = house.redis.run(&["HGET", "hero:osis:people", "index:name"]).await;
    assert_eq!(index, "ready");
    let mut created: BTreeMap<String, usize> = BTreeMap::new();
    for key in house.redis.run::<Vec<String>>(&["KEYS", "hero:job:*"]).await {
        if let Some(name) = house.redis.run::<Option<String>>(&["HGET", &key, "name"]).await {
            *created.entry(name).or_default() += 1;
        }
    }
    let once = ["continuation", "keyed child", "unnamed child"].map(|name| (name.to_owned(), 1));
    assert_eq!(created, once.into());
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_that_times_out_while_it_waits_for_redis_is_requeued_and_not_counted() {
    let house = House::open(1).await;
    let first = house.start(JobSpec { name: Some("first".into()), ..spec("40") }).await;
    house.is(&first, Status::Finished).await;
    let timeout = Some(Duration::from_secs(6).into());
    let job = JobSpec { prerequisites: vec![first], timeout, ..spec("inputs.first + ATTEMPT + 1") };
    // Its time is over in the middle of that.
    let ended = halted(&house, vec![job], 4, AWAY + Duration::from_secs(5)).await;
    let (id, end) = &ended[0];
    let result = end.as_ref().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((result.output.as_str(), result.attempt), ("42", 1));
    // Once, or more often where the machine does much else.
    assert!(requeues(&house, id).await >= Some(1));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_with_a_key_whose_creation_was_done_and_not_answered_is_found_by_its_key() {
    let redis = Redis::start().await;
    let hole = Hole::before(&redis);
    let mut house = House::through(redis, hole.endpoint()).await;
    house.hire(pool_settings(house.redis.directory(), 1)).await;
    // The parent does not have the text that is looked for.
    hole.lose_answer_to("42 // the child");
    let parent = house.start(spec(r#"job::spawn(#{ script: "4" + "2 // the child", idempotency_key: "k" })"#)).await;
    let end = ended(&house, &parent).await.unwrap();
    assert!(hole.has_lost());
    assert_eq!(end.attempt, 1);
    let mut children = Vec::new();
    for key in house.redis.run::<Vec<String>>(&["KEYS", "hero:job:*"]).await {
        if house.redis.run::<Option<String>>(&["HGET", &key, "script"]).await.as_deref() == Some("42 // the child") {
            children.push(key.trim_start_matches("hero:job:").to_owned());
        }
    }
    assert_eq!(children, [end.output.trim_matches('"')]);
    house.close().await;
}

/// Fetches the one waiting job, as the pool of a server does. Returns its claim.
async fn claim(store: &Store) -> u32 {
    let actors = [ActorRoom { actor: "osis:default:7".into(), room: 1 }];
    let queues = [("hero:q:work:type:osis".to_owned(), 0)];
    let fetch = Fetch { script_type: &"osis".parse().unwrap(), ends: &[], actors: &actors, queues: &queues };
    store.queues().fetch(&fetch).await.unwrap().taken[0].claim
}

fn thing(size: u32) -> Json {
    serde_json::json!({ "id": "a", "size": size }).into()
}

async fn size(shelf: &Objects) -> u64 {
    let stored = shelf.get(&"things".parse().unwrap(), &"a".parse().unwrap()).await.unwrap().unwrap();
    stored.to_value().unwrap()["size"].as_u64().unwrap()
}

/// Asserts that nothing was done, for this reason.
fn refused<T: std::fmt::Debug>(asked: Result<T, Error>, why: &str) {
    match asked {
        Err(Error::Invalid { param: "job", message }) if message.contains(why) && message.ends_with("nothing was done") => {}
        asked => panic!("{asked:?}"),
    }
}

/// An answer recorded for one host call belongs to no other, and late calls are not carried out.
#[tokio::test]
async fn a_question_that_is_asked_again_is_answered_as_it_was_and_one_that_comes_after_the_next_does_nothing() {
    let house = House::empty().await;
    let shelf = objects(&house.store);
    let (things, a) = ("things".parse().unwrap(), "a".parse().unwrap());
    let id = house.start(spec("1")).await;
    let claim = claim(&house.store).await;
    let of = |number| hero::store::HostCallId { job: id.clone(), claim, number };
    shelf.set_once(&things, &thing(1), Some(&of(9))).await.unwrap();
    shelf.set_once(&things, &thing(2), None).await.unwrap();
    // Repeats the first call: the effects of later calls stay.
    shelf.set_once(&things, &thing(1), Some(&of(9))).await.unwrap();
    assert_eq!(size(&shelf).await, 2);
    // Numbers are compared as numbers.
    shelf.set_once(&things, &thing(3), Some(&of(10))).await.unwrap();
    assert_eq!(size(&shelf).await, 3);
    // A call from before the connection broke arrives only now.
    refused(shelf.set_once(&things, &thing(1), Some(&of(9))).await, "something else");
    refused(shelf.delete_once(&things, &a, Some(&of(8))).await, "something else");
    shelf.index(&things, &["size".to_owned()]).await.unwrap();
    refused(shelf.drop_index_once(&things, "size", Some(&of(8))).await, "something else");
    assert_eq!(size(&shelf).await, 3);
    assert_eq!(house.store.objects().indexes(&things).await.unwrap().len(), 1);
    for (number, there) in [(11, true), (11, true), (12, false), (12, false)] {
        assert_eq!(shelf.delete_once(&things, &a, Some(&of(number))).await.unwrap(), there, "{number}");
    }
    for (number, there) in [(13, true), (13, true), (14, false)] {
        assert_eq!(shelf.drop_index_once(&things, "size", Some(&of(number))).await.unwrap(), there, "{number}");
    }
    house.close().await;
}

/// A refusal is an answer, too: it stays valid for a repeated call, even if there is room by then.
#[tokio::test]
async fn a_question_that_was_refused_stays_refused_however_often_it_is_asked() {
    let house = House::empty().await;
    let shelf = objects(&house.store);
    let things = "things".parse().unwrap();
    let id = house.start(spec("1")).await;
    let claim = claim(&house.store).await;
    let of = |number| hero::store::HostCallId { job: id.clone(), claim, number };
    house.store.limits().set_objects(1);
    let told = shelf.set_once(&things, &thing(1), Some(&of(4))).await.unwrap_err().to_string();
    house.store.limits().set_objects(0);
    let again = shelf.set_once(&things, &thing(1), Some(&of(4))).await.unwrap_err().to_string();
    assert!(told.contains("bytes") && again.contains("bytes"), "{told} {again}");
    shelf.set_once(&things, &thing(1), Some(&of(5))).await.unwrap();
    refused(shelf.set_once(&things, &thing(2), Some(&of(4))).await, "something else");
    assert_eq!(size(&shelf).await, 1);
    house.close().await;
}

#[tokio::test]
async fn what_an_attempt_asks_that_lost_its_lease_is_not_done_and_the_next_attempt_is_answered_as_it_was() {
    let house = House::empty().await;
    let other = house.redis.store().await;
    let (shelf, shelf_of_other) = (objects(&house.store), objects(&other));
    let (things, a) = ("things".parse().unwrap(), "a".parse().unwrap());
    let id = house.start(spec("1")).await;
    let of = |claim, number| hero::store::HostCallId { job: id.clone(), claim, number };
    let first = claim(&house.store).await;
    shelf.set_once(&things, &thing(1), Some(&of(first, 0))).await.unwrap();
    shelf.index(&things, &["size".to_owned()]).await.unwrap();
    // This server is cut off for longer than a lease, and another one takes the job.
    other.clock().advance(Duration::from_secs(31));
    assert_eq!(other.queues().reap(128).await.unwrap(), Some(1));
    let second = claim(&other).await;
    assert_ne!(first, second);
    shelf_of_other.set_once(&things, &thing(2), Some(&of(second, 3))).await.unwrap();
    shelf_of_other.set_once(&things, &thing(3), None).await.unwrap();
    for number in [0, 1, 7] {
        let lost = of(first, number);
        refused(shelf.set_once(&things, &thing(1), Some(&lost)).await, "lost its lease");
        refused(shelf.delete_once(&things, &a, Some(&lost)).await, "lost its lease");
        refused(shelf.drop_index_once(&things, "size", Some(&lost)).await, "lost its lease");
    }
    // Nor does anybody else act for the claim that holds the job.
    refused(shelf.delete_once(&things, &a, Some(&of(second, 4))).await, "lost its lease");
    // Calls that the second attempt repeats are not carried out twice.
    shelf_of_other.set_once(&things, &thing(2), Some(&of(second, 3))).await.unwrap();
    assert_eq!(size(&shelf).await, 3);
    assert_eq!(house.store.objects().indexes(&things).await.unwrap().len(), 1);
    // Of a job that is gone nothing is kept.
    let key = format!("hero:job:{id}");
    let _: i64 = house.redis.run(&["DEL", &key]).await;
    refused(shelf_of_other.set_once(&things, &thing(4), Some(&of(second, 4))).await, "lost its lease");
    assert_eq!(house.redis.run::<i64>(&["EXISTS", &key]).await, 0);
    house.close().await;
}
