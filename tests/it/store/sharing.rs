//! Shared resources: data for followers, capacity in pools, and the few operations allowed while memory is full.

use hero::model::{JobFilter, JobId, JobSpec, Status};
use hero::store::{ActorRoom, Created, Fetch, Fetched, NewJob};

use crate::support::{Redis, spec};

fn new_job(spec: JobSpec) -> NewJob {
    NewJob { id: JobId::random(), spec, start: true, waited: false, occurrence: None, flow: None }
}

async fn fill(redis: &Redis) {
    let _: () = redis.run(&["CONFIG", "SET", "maxmemory", "1"]).await;
}

/// Bytes that Redis has sent so far.
async fn sent(redis: &Redis) -> u64 {
    let info: String = redis.run(&["INFO", "stats"]).await;
    info.lines().find_map(|line| line.strip_prefix("total_net_output_bytes:")?.trim().parse().ok()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn of_the_jobs_of_events_only_what_the_filter_asks_for_is_read() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let labels = format!(r#"{{"a":"{}","b":"1"}}"#, "x".repeat(500_000));
    let jobs: Vec<JobId> = (0..20).map(|_| JobId::random()).collect();
    for job in &jobs {
        let _: i64 = redis.run(&["HSET", &format!("hero:job:{job}"), "status", "created", "name", "n", "labels", &labels]).await;
    }
    let by_name = JobFilter { name: Some("n".into()), ..JobFilter::default() };
    let before = sent(&redis).await;
    let compared = store.jobs().compared_fields(&jobs, &by_name).await.unwrap();
    assert!(compared.len() == 20 && compared.values().all(|job| by_name.matches(job.as_ref().unwrap())));
    let bytes = sent(&redis).await - before;
    assert!(bytes < 1_000_000, "{bytes}");
    let by_label = JobFilter { labels: [("b".into(), "1".into())].into(), ..JobFilter::default() };
    let compared = store.jobs().compared_fields(&jobs, &by_label).await.unwrap();
    assert!(compared.len() == 20 && compared.values().all(|job| by_label.matches(job.as_ref().unwrap())));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_create_that_was_refused_for_want_of_memory_leaves_its_pool_in_no_doubt() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let (direct_start, _jobs) = store.direct_starts().open(&"osis".parse().unwrap(), vec!["osis:default:1".into()], Vec::new(), None);
    direct_start.set_room(1);
    fill(&redis).await;
    let error = store.jobs().create(new_job(spec("1"))).await.unwrap_err();
    assert!(error.out_of_memory(), "{error}");
    assert!(direct_start.is_closed() && !direct_start.take_unsure());
}

#[tokio::test(flavor = "multi_thread")]
async fn while_memory_is_full_a_pool_without_work_takes_nothing_from_another_of_its_type() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let job = JobSpec { group: Some("b".parse().unwrap()), ..spec("1") };
    assert_eq!(store.jobs().create(new_job(job)).await.unwrap(), Created::Created(Status::Dispatched));
    fill(&redis).await;
    let (store, script_type) = (&store, &"osis".parse().unwrap());
    let fetch = async |group: &str| -> Fetched {
        let actors = [ActorRoom { actor: format!("osis:{group}:1"), room: 1 }];
        let queues = [(format!("hero:q:work:type:osis:group:{group}"), 0)];
        store.queues().fetch(&Fetch { script_type, ends: &[], actors: &actors, queues: &queues }).await.unwrap()
    };
    assert_eq!(fetch("a").await.taken.len(), 0);
    assert_eq!(fetch("b").await.taken.len(), 1);
}
