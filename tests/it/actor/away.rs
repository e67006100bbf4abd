//! What scripts ask while Redis does nothing at all: it is answered when Redis is back, and done once.

use std::collections::BTreeMap;
use std::time::Duration;

use hero::dispatch::Error;
use hero::model::{ContextId, JobId, JobResult, JobSpec, Status};

use crate::support::{CONTEXT, House, PATIENCE, objects, spec, until};

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
    let mut ended = Vec::new();
    for id in ids {
        // That Redis is back is seen a little later here, too.
        let end = until("the end of a job", || async {
            match house.dispatcher.wait(CONTEXT, &id, PATIENCE).await {
                Err(Error::Store { .. } | Error::Busy { .. }) => None,
                end => Some(end),
            }
        })
        .await;
        ended.push((id, end));
    }
    ended
}

async fn given_back(house: &House, id: &JobId) -> Option<u32> {
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
        assert_eq!(given_back(&house, id).await, None, "{script}");
    }
    let events: Vec<(String, BTreeMap<String, String>)> = house.redis.run(&["XRANGE", "hero:events", "-", "+"]).await;
    let told = events
        .iter()
        .filter_map(|(_, event)| event.get("progress").filter(|_| event.get("job").is_some_and(|id| *id == ended[3].0.to_string())));
    assert!(told.clone().count() > 0 && told.clone().all(|told| told.contains("40") && told.contains("half")), "{events:?}");
    // Each line stands in the log once, in its order.
    let mut lines: Vec<String> = (0..300).map(|at| format!("line {at}")).collect();
    lines.insert(0, "1".to_owned());
    let page = house.dispatcher.logs(CONTEXT, &ended[3].0, None, 1000).await.unwrap();
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
        (r#"job::then(#{ script: "1", name: "heir", job_id: "00000000-0000-4000-8000-000000000001" }); 5"#, "5"),
    ];
    let ended = halted(&house, asked.iter().map(|(script, _)| spec(script)).collect(), 2, AWAY).await;
    for ((script, expected), (id, end)) in asked.into_iter().zip(&ended) {
        let result = end.as_ref().unwrap_or_else(|error| panic!("{script}: {error}"));
        assert_eq!((result.output.as_str(), result.attempt), (expected, 1), "{script}");
        assert_eq!(given_back(&house, id).await, None, "{script}");
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
    let once = ["heir", "keyed child", "unnamed child"].map(|name| (name.to_owned(), 1));
    assert_eq!(created, once.into());
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_whose_time_is_over_while_it_waits_for_redis_is_given_back_and_not_counted() {
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
    assert!(given_back(&house, id).await >= Some(1));
    house.close().await;
}

/// An answer that was noted for one question is that of no other: of another attempt, or of the next question.
#[tokio::test]
async fn a_question_that_is_asked_again_is_answered_as_it_was_and_no_other_is() {
    let house = House::empty().await;
    let shelf = objects(&house.store);
    let things = "things".parse().unwrap();
    let id = house.start(spec("1")).await;
    let of = |claim, number| hero::store::Question { job: id.clone(), claim, number };
    let thing = |size: u32| serde_json::json!({ "id": "a", "size": size }).into();
    shelf.set_once(&things, &thing(1), Some(&of(1, 0))).await.unwrap();
    shelf.set_once(&things, &thing(2), None).await.unwrap();
    // The first one, once more: what came after it stays.
    shelf.set_once(&things, &thing(1), Some(&of(1, 0))).await.unwrap();
    let size = async || shelf.get(&things, &"a".parse().unwrap()).await.unwrap().unwrap().to_value().unwrap()["size"].clone();
    assert_eq!(size().await, 2);
    shelf.set_once(&things, &thing(3), Some(&of(2, 0))).await.unwrap();
    assert_eq!(size().await, 3);
    let a = "a".parse().unwrap();
    for (number, there) in [(1, true), (1, true), (2, false), (2, false)] {
        assert_eq!(shelf.delete_once(&things, &a, Some(&of(2, number))).await.unwrap(), there, "{number}");
    }
    // Of a job that is gone nothing is kept.
    house.dispatcher.stop(ContextId(0), &id).await.unwrap();
    house.dispatcher.delete(ContextId(0), &id).await.unwrap();
    shelf.set_once(&things, &thing(4), Some(&of(3, 0))).await.unwrap();
    assert_eq!(house.redis.run::<i64>(&["EXISTS", &format!("hero:job:{id}")]).await, 0);
    house.close().await;
}
