//! Walks during concurrent changes: the index of an hour, and the leases.

use std::collections::BTreeSet;

use hero::model::{JobId, JobSpec};
use hero::store::{ActorRoom, Fetch, NewJob, Pruning, Store};

use crate::support::Redis;

fn jobs(number: usize) -> Vec<NewJob> {
    let spec = JobSpec { script: "1".into(), ..JobSpec::default() };
    (0..number)
        .map(|_| NewJob { id: JobId::random(), spec: spec.clone(), start: true, waited: false, occurrence: None, flow: None })
        .collect()
}

async fn listed(store: &Store) -> Vec<JobId> {
    let (mut ids, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let page = store.jobs().list(&Default::default(), cursor.as_deref(), 300, 1 << 20).await.unwrap().unwrap();
        ids.extend(page.jobs.into_iter().map(|job| job.job_id));
        cursor = page.next_cursor;
        if cursor.is_none() {
            ids.reverse();
            return ids;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_of_jobs_that_are_gone_leave_the_index_and_the_others_keep_their_order_all_the_while() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let mut left: Vec<JobId> = Vec::new();
    for _ in 0..3 {
        let new = jobs(1000);
        store.jobs().create_all_or_none(&new).await.unwrap();
        left.extend(new.into_iter().map(|job| job.id));
    }
    let gone: Vec<JobId> = left.iter().enumerate().filter(|(at, _)| *at < 400 || at % 3 == 0).map(|(_, id)| id.clone()).collect();
    for id in &gone {
        let _: u64 = redis.run(&["DEL", &format!("hero:job:{id}")]).await;
    }
    left.retain(|id| !gone.contains(id));
    let mut late = jobs(20);
    for hour in store.maintenance().index_hours().await.unwrap() {
        let mut at = Some(Pruning::default());
        while let Some(place) = at {
            at = store.maintenance().prune(&hour, place).await.unwrap();
            if let Some(job) = late.pop() {
                left.push(job.id.clone());
                store.jobs().create(job).await.unwrap();
            }
            assert_eq!(listed(&store).await, left, "at {place:?}");
        }
        // A walk that was broken off is taken up by the next.
        let again = store.maintenance().prune(&hour, Pruning::default()).await.unwrap();
        assert!(again.is_none() || left.len() > 256);
    }
    let keys: Vec<String> = redis.run(&["KEYS", "hero:index:*"]).await;
    let mut ids = 0;
    for key in &keys {
        ids += redis.run::<usize>(&["LLEN", key]).await;
    }
    assert_eq!(ids, left.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_at_what_a_pool_holds_misses_nothing_while_leases_are_renewed() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let (script_type, queues) = ("osis".parse().unwrap(), [("hero:q:work:type:osis".to_owned(), 0)]);
    let actors = [ActorRoom { actor: "osis:default:1".into(), room: 200 }];
    let mut running = BTreeSet::new();
    while running.len() < 1000 {
        store.jobs().create_all_or_none(&jobs(200)).await.unwrap();
        let fetched =
            store.queues().fetch(&Fetch { script_type: &script_type, ends: &[], actors: &actors, queues: &queues }).await.unwrap();
        running.extend(fetched.taken.into_iter().map(|job| (job.job, job.attempt)));
    }
    let all: Vec<(JobId, u32)> = running.iter().cloned().collect();
    let renewing = {
        let (store, all) = (store.clone(), all.clone());
        tokio::spawn(async move {
            loop {
                assert!(store.queues().renew(&all).await.unwrap().is_empty());
            }
        })
    };
    for _ in 0..20 {
        let leases = store.queues().list_leases(&"osis".parse().unwrap(), &"default".parse().unwrap()).await.unwrap();
        assert_eq!(leases, all);
    }
    renewing.abort();
}

#[tokio::test]
async fn hours_that_foreign_programs_listed_end_a_page_and_hide_no_job() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let new = jobs(1);
    store.jobs().create_all_or_none(&new).await.unwrap();
    let add = "for number = 0, 2999 do \
               redis.call('SADD', 'hero:meta:hours', 'hero:index:' .. string.format('%04d010100', 3000 + number)) end";
    let _: Option<u64> = redis.run(&["EVAL", add, "0"]).await;
    let page = store.jobs().list(&Default::default(), None, 10, 1 << 20).await.unwrap().unwrap();
    assert!(page.jobs.is_empty() && page.next_cursor.is_some(), "{page:?}");
    assert_eq!(listed(&store).await, [new[0].id.clone()]);
    store.maintenance().tidy().await.unwrap();
    assert_eq!(store.maintenance().index_hours().await.unwrap().len(), 1);
}

#[tokio::test]
async fn of_any_number_of_hours_and_notes_only_so_many_are_read_and_what_is_gone_goes() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    store.jobs().create_all_or_none(&jobs(1)).await.unwrap();
    let hour = format!("hero:index:{}", store.maintenance().index_hours().await.unwrap()[0]);
    let add = "for number = 1, 30000 do \
               redis.call('SADD', 'hero:meta:hours', 'hero:index:' .. string.format('%010d', number)) \
               redis.call('HSET', 'hero:meta:strays', 'hero:index:x' .. number, '0 0') end \
               redis.call('HSET', 'hero:meta:strays', ARGV[1], '0 0', ARGV[1] .. ':back', '5')";
    let _: Option<u64> = redis.run(&["EVAL", add, "0", &hour]).await;
    assert!((20_000..25_000).contains(&store.maintenance().index_hours().await.unwrap().len()));
    let overfull = store.health().overfull().await.unwrap();
    assert_eq!(overfull.iter().filter(|words| words.contains("hero:meta:hours") || words.contains("hero:meta:strays")).count(), 2);
    let _: () = redis.run(&["CONFIG", "RESETSTAT"]).await;
    let after = Some(hero::model::Timestamp::from_millis(0));
    let filter = hero::model::JobFilter { created_after: after, ..Default::default() };
    store.jobs().list(&filter, None, 10, 1 << 20).await.unwrap();
    store.maintenance().tidy().await.unwrap();
    for command in ["smembers", "hgetall", "hkeys"] {
        assert_eq!(redis.calls(command).await, 0, "{command}");
    }
    assert_eq!(redis.run::<Vec<String>>(&["SMEMBERS", "hero:meta:hours"]).await, std::slice::from_ref(&hour));
    let mut left: Vec<String> = redis.run(&["HKEYS", "hero:meta:strays"]).await;
    left.sort();
    assert_eq!(left, [hour.clone(), hour + ":back"]);
}

#[tokio::test]
async fn an_id_that_is_used_again_is_listed_once() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let [older, again, newer] = [(); 3].map(|()| NewJob { start: false, ..jobs(1).remove(0) });
    for job in [&older, &again, &newer] {
        store.jobs().create(job.clone()).await.unwrap();
    }
    store.jobs().delete(&again.id).await.unwrap();
    store.jobs().create(again.clone()).await.unwrap();
    let expected = [older.id.clone(), newer.id.clone(), again.id.clone()];
    assert_eq!(listed(&store).await, expected);
    // One whose retention was over leaves its id there.
    let _: u64 = redis.run(&["DEL", &format!("hero:job:{}", again.id)]).await;
    store.jobs().create(again).await.unwrap();
    assert_eq!(listed(&store).await, expected);
}
