//! A key of another type than ours gives way, and nothing waits for it.

use std::time::Duration;

use hero::model::{JobId, JobSpec, Status};

use super::{create, fetch, finish, house, names};

#[tokio::test]
async fn a_spoilt_list_of_relatives_gives_way() {
    let (redis, store) = house().await;
    let (parent, _) = create(&store, JobSpec::default()).await;
    for list in ["dependents", "children", "active", "onComplete"] {
        let _: () = redis.run(&["SET", &format!("hero:rel:{parent}:{list}"), "x"]).await;
    }
    let (child, _) = create(&store, JobSpec { parent_id: Some(parent.clone()), ..JobSpec::default() }).await;
    let (dependent, _) = create(&store, JobSpec { prerequisites: vec![child.clone()], ..JobSpec::default() }).await;
    for id in [&parent, &child, &dependent] {
        finish(&store, id).await;
    }
}

#[tokio::test]
async fn a_spoilt_list_of_a_caller_does_not_hold_up_the_others() {
    let (redis, store) = house().await;
    let (first, _) = create(&store, JobSpec { caller_id: Some("a".into()), ..JobSpec::default() }).await;
    let (second, _) = create(&store, JobSpec { caller_id: Some("b".into()), ..JobSpec::default() }).await;
    let (osis, queues) = ("osis".parse().unwrap(), [("hero:q:work:type:osis".to_owned(), 0)]);
    let actors = [hero::store::ActorRoom { actor: "osis:default:1".into(), room: 1 }];
    let one = hero::store::Fetch { script_type: &osis, ends: &[], actors: &actors, queues: &queues };
    let taken = store.queues().fair_fetch(&one).await.unwrap().taken;
    let left = if taken[0].job == first { second } else { first };
    let lists: Vec<String> = redis.run(&["KEYS", "hero:q:fair:*:of:*"]).await;
    let _: () = redis.run(&["SET", &lists[0], "x"]).await;
    assert!(store.queues().fair_fetch(&one).await.unwrap().taken.is_empty());
    names(&store, &[&lists[0]]).await;
    // What was in it is pushed again in time.
    for _ in 0..3 {
        store.clock().advance(Duration::from_secs(40));
        store.queues().reap(128).await.unwrap();
    }
    assert_eq!(store.queues().fair_fetch(&one).await.unwrap().taken[0].job, left);
}

#[tokio::test]
async fn spoilt_lists_of_ours_are_deleted_within_a_round() {
    let (redis, store) = house().await;
    for key in [
        "hero:q:leases",
        "hero:q:watched",
        "hero:q:scheduled",
        "hero:q:unwritten",
        "hero:q:release",
        "hero:meta:queues",
        "hero:meta:paused",
        "hero:meta:fair",
        "hero:meta:calm",
        "hero:meta:foreign",
        "hero:q:capped",
        "hero:meta:schedules",
        "hero:q:conveyor",
        "hero:meta:reaped",
        "hero:events",
        "hero:meta:queue:stats:osis",
        "hero:meta:fair",
        "hero:q:capped",
        "hero:meta:revisions",
    ] {
        let _: u64 = redis.run(&["DEL", key]).await;
        let _: u64 = redis.run(&["LPUSH", key, "x"]).await;
        let _: String = redis.run(&["SET", "x", "1"]).await;
        let _: () = redis.run(&["RENAME", "x", key]).await;
        store.queues().reap(128).await.unwrap();
        let (id, _) = create(&store, JobSpec::default()).await;
        assert_eq!(fetch(&store, &[], 9).await, [id], "{key}");
        // The last is a text.
        assert_eq!(redis.run::<String>(&["TYPE", key]).await == "string", key == "hero:meta:reaped", "{key}");
    }
}

#[tokio::test]
async fn a_spoilt_number_of_sorted_jobs_keeps_no_job_out_of_its_queue() {
    let (redis, store) = house().await;
    let held = "hero:q:fair:type:osis:held";
    for words in [["RPUSH", held, "x"], ["SET", held, "1e300"], ["SET", held, "nan"]] {
        redis.run::<redis::Value>(&words).await;
        let (id, status) = create(&store, JobSpec::default()).await;
        assert_eq!((status, fetch(&store, &[], 9).await), (Status::Dispatched, vec![id]), "{words:?}");
        let _: u64 = redis.run(&["DEL", held]).await;
    }
}

#[tokio::test]
async fn names_that_are_no_text_leave_the_sets_and_hide_nothing() {
    let (redis, store) = house().await;
    for set in ["hero:meta:actors", "hero:meta:queues", "hero:meta:hours", "hero:meta:types"] {
        let add = format!("return redis.call('SADD', '{set}', '\\255\\254')");
        let _: u64 = redis.run(&["EVAL", &add, "0"]).await;
    }
    assert!(store.actors().list().await.unwrap().is_empty());
    store.queues().list().await.unwrap();
    store.queues().counters().await.unwrap();
    store.maintenance().index_hours().await.unwrap();
    store.maintenance().tidy().await.unwrap();
    for set in ["hero:meta:actors", "hero:meta:queues", "hero:meta:hours", "hero:meta:types"] {
        assert_eq!(redis.run::<u64>(&["SCARD", set]).await, 0, "{set}");
    }
}

#[tokio::test]
async fn an_index_that_is_no_list_gives_way_and_its_pruning_ends() {
    let (redis, store) = house().await;
    for key in ["hero:index:1999010101", "hero:index:1999010101:front"] {
        let _: String = redis.run(&["SET", key, "x"]).await;
    }
    assert_eq!(store.maintenance().prune("1999010101", Default::default()).await.unwrap(), None);
    let hour: String = format!("hero:index:{}", store.clock().now().hour());
    let _: String = redis.run(&["SET", &hour, "x"]).await;
    let (id, _) = create(&store, JobSpec::default()).await;
    let page = store.jobs().list(&Default::default(), None, 10, 1 << 20).await.unwrap().unwrap();
    assert_eq!(page.jobs.iter().map(|job| job.job_id.clone()).collect::<Vec<_>>(), [id]);
}

#[tokio::test]
async fn spoilt_turns_of_callers_are_deleted_and_no_job_is_lost() {
    let (redis, store) = house().await;
    let (osis, queues) = ("osis".parse().unwrap(), [("hero:q:work:type:osis".to_owned(), 0)]);
    let actors = |room| [hero::store::ActorRoom { actor: "osis:default:1".into(), room }];
    for key in ["hero:meta:fair", "hero:q:fair:type:osis:ring", "hero:q:fair:type:osis:held"] {
        let take = async |room| {
            let fetch = hero::store::Fetch { script_type: &osis, ends: &[], actors: &actors(room), queues: &queues };
            let taken = store.queues().fair_fetch(&fetch).await.unwrap().taken;
            taken.into_iter().map(|job| job.job).collect::<Vec<JobId>>()
        };
        let of = |caller: &str| JobSpec { caller_id: Some(caller.into()), ..JobSpec::default() };
        // Before anything is sorted, and while jobs are.
        for before in [0, 1] {
            let mut ids = vec![create(&store, of("a")).await.0, create(&store, of("b")).await.0, create(&store, of("b")).await.0];
            let mut taken = take(before).await;
            let _: () = redis.run(&["SET", key, "x"]).await;
            ids.push(create(&store, of("a")).await.0);
            ids.push(create(&store, of("b")).await.0);
            taken.extend(take(9).await);
            // Another fetch finds nothing, or what lay behind.
            taken.extend(take(9).await);
            ids.sort_unstable();
            taken.sort_unstable();
            assert_eq!(taken, ids, "{key} after {before}");
            assert_eq!(redis.run::<u64>(&["EXISTS", key]).await, 0, "{key}");
        }
    }
}

#[tokio::test]
async fn a_line_for_room_in_a_context_that_is_none_gives_way() {
    let (redis, store) = house().await;
    store.limits().set_running(2);
    let _: () = redis.run(&["SET", "hero:q:capped", "x"]).await;
    let (id, _) = create(&store, JobSpec::default()).await;
    assert_eq!(fetch(&store, &[], 9).await, [id]);
}
