//! The work of one Redis call is bounded, whatever the size of the request.

use futures_util::future::join_all;
use hero::model::{JobId, JobSpec, Json, Status};
use hero::store::{Created, Error, NewJob, Retried, Store};

use super::{Hand, after, child_of, continuation_of, named};
use crate::support::{Redis, spec};

pub(super) fn new(spec: JobSpec) -> NewJob {
    let id = spec.job_id.clone().unwrap_or_else(JobId::random);
    NewJob { id, spec, start: false, waited: false, occurrence: None, flow: None }
}

pub(super) async fn create(store: &Store, spec: JobSpec) -> JobId {
    let job = new(spec);
    let id = job.id.clone();
    assert_eq!(store.jobs().create(job).await.unwrap(), Created::Created(Status::Created));
    id
}

pub(super) async fn create_all(store: &Store, specs: impl IntoIterator<Item = JobSpec>) -> Vec<JobId> {
    let jobs: Vec<NewJob> = specs.into_iter().map(new).collect();
    for answer in store.jobs().create_all_or_none(&jobs).await.unwrap() {
        assert_eq!(answer, Created::Created(Status::Created));
    }
    jobs.into_iter().map(|job| job.id).collect()
}

/// Jobs of which each waits for the one before; gives the first and the last.
pub(super) async fn chain(store: &Store, length: usize) -> (JobId, JobId) {
    let ids: Vec<JobId> = (0..length).map(|_| JobId::random()).collect();
    let link = |at: usize| named(&ids[at], if at == 0 { spec("1") } else { after(&[&ids[at - 1]]) });
    for from in (0..length).step_by(1000) {
        create_all(store, (from..length.min(from + 1000)).map(link)).await;
    }
    (ids[0].clone(), ids[length - 1].clone())
}

/// All at once. Where Redis itself is slow, as on a busy machine, a job that waits is told that instead of being told to come again.
pub(super) async fn together(store: &Store, specs: Vec<JobSpec>) -> Vec<Created> {
    let create = async |spec| match store.jobs().create(new(spec)).await {
        Err(Error::Deadline(_)) => Created::Busy,
        answer => answer.unwrap(),
    };
    join_all(specs.into_iter().map(create)).await
}

/// The number of calls of a command, by functions or from outside.
pub(super) async fn calls(redis: &Redis, command: &str) -> u64 {
    let info: String = redis.run(&["INFO", "commandstats"]).await;
    let line = info.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:calls=")));
    line.map_or(0, |rest| rest.split(',').next().unwrap().parse().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn creates_that_are_heavy_together_go_into_several_calls() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let dependents = create_all(&store, (0..600).map(|_| spec("1"))).await;
    let text = Json::from("x".repeat(600 * 1024));
    let by_relations: Vec<JobSpec> = (0..16).map(|_| JobSpec { dependents: dependents.clone(), ..spec("1") }).collect();
    let by_bytes: Vec<JobSpec> = (0..16).map(|_| JobSpec { args: Some(text.clone()), ..spec("1") }).collect();
    for heavy in [by_relations, by_bytes] {
        let before = calls(&redis, "fcall").await;
        assert_eq!(together(&store, heavy).await, vec![Created::Created(Status::Created); 16]);
        let after = calls(&redis, "fcall").await;
        assert!(after - before >= 16, "16 jobs of more than half of what fits went into {} calls", after - before);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_thousands_name_as_their_dependent_is_not_written_anew_for_each() {
    let redis = Redis::start().await;
    let (store, many) = (redis.store().await, 2_000);
    let last = create(&store, spec("1")).await;
    let mut before: Vec<JobId> = Vec::new();
    for _ in 0..many / 500 {
        before.extend(create_all(&store, (0..500).map(|_| JobSpec { dependents: vec![last.clone()], ..spec("1") })).await);
    }
    let key = format!("hero:job:{last}");
    for field in ["prerequisites", "dependencies"] {
        assert!(redis.run::<usize>(&["HSTRLEN", &key, field]).await < 5_000, "{field} grew");
    }
    // Who reads the job sees all of them, in order.
    assert_eq!(store.jobs().get(&last).await.unwrap().unwrap().prerequisites, before);
    // So does who looks for a cycle.
    let closing = JobSpec { dependents: vec![before[many - 1].clone()], ..after(&[&last]) };
    assert!(matches!(store.jobs().create(new(closing)).await.unwrap(), Created::Cycle(_)));
    // It waits for each of them, and for no more than are worth a way back.
    let _: i64 = redis.run(&["HSET", &key, "more_prerequisites", "10000"]).await;
    let one_more = JobSpec { dependents: vec![last.clone()], ..spec("1") };
    assert_eq!(store.jobs().create(new(one_more)).await.unwrap(), Created::Crowded(last.clone()));
    assert_eq!(redis.run::<String>(&["HGET", &key, "open"]).await, many.to_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn each_of_many_that_name_a_job_lets_it_go_and_blocks_its_retry() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let hand = Hand::of_crowded(&store, &redis);
    let last = create(&store, spec("1")).await;
    let before = create_all(&store, (0..150).map(|_| JobSpec { dependents: vec![last.clone()], ..spec("1") })).await;
    for id in before.iter().chain([&last]) {
        store.jobs().start(id).await.unwrap();
    }
    let release = async || while store.jobs().release_relatives(128).await.unwrap() {};
    hand.take(&before[149]).await;
    for id in &before[..149] {
        hand.finish(id).await;
    }
    release().await;
    assert_eq!(store.jobs().get(&last).await.unwrap().unwrap().status, Status::WaitingForPrerequisites);
    hand.finish(&before[149]).await;
    release().await;
    hand.finish(&last).await;
    // The last of them stands in no text.
    assert!(matches!(store.jobs().retry(&before[149]).await.unwrap(), Retried::OnItsWay(_)));
    hand.fail(&before[149]).await;
    release().await;
    assert!(matches!(store.jobs().retry(&last).await.unwrap(), Retried::Blocked(other) if other == before[149]));
    assert!(matches!(store.jobs().retry(&before[149]).await.unwrap(), Retried::OnItsWay(_)));
    assert!(matches!(store.jobs().retry(&last).await.unwrap(), Retried::OnItsWay(Status::WaitingForPrerequisites)));
    hand.finish(&before[149]).await;
    release().await;
    hand.finish(&last).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_is_not_followed_anew_for_each_job_at_its_end() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let (length, many) = (3_000, 200);
    let (_, end) = chain(&store, length).await;
    let dependents = create_all(&store, (0..many).map(|_| spec("1"))).await;
    let specs = dependents.iter().map(|id| JobSpec { dependents: vec![id.clone()], ..after(&[&end]) });
    let before = calls(&redis, "hmget").await;
    assert_eq!(together(&store, specs.collect()).await, vec![Created::Created(Status::Created); many]);
    let read = calls(&redis, "hmget").await - before;
    assert!(read < (many * length / 4) as u64, "{read} jobs were read");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_that_exceeds_the_bound_only_with_others_is_stored() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let mut ends = Vec::new();
    for _ in 0..2 {
        ends.push(chain(&store, 2_500).await);
    }
    let too_long = chain(&store, 4_100).await.1;
    let dependents = create_all(&store, (0..20).map(|_| spec("1"))).await;
    let specs: Vec<JobSpec> = (0..20)
        .map(|at| {
            let (first, end) = &ends[at % 2];
            match at % 10 {
                8 => JobSpec { dependents: vec![dependents[at].clone()], ..after(&[&too_long]) },
                9 => JobSpec { dependents: vec![first.clone()], ..after(&[end]) },
                _ => JobSpec { dependents: vec![dependents[at].clone()], ..after(&[end]) },
            }
        })
        .collect();
    let mut answers = together(&store, specs.clone()).await;
    // Where Redis is slow, not all find room in the time that they wait for it, and are told to come again.
    while let Some(at) = answers.iter().position(|answer| *answer == Created::Busy) {
        answers[at] = together(&store, vec![specs[at].clone()]).await.remove(0);
    }
    for (at, answer) in answers.into_iter().enumerate() {
        let as_alone = match at % 10 {
            8 => answer == Created::Tangled,
            9 => matches!(answer, Created::Cycle(_)),
            _ => answer == Created::Created(Status::Created),
        };
        assert!(as_alone, "job {at}: {answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_that_make_redis_follow_many_relations_wait_for_its_time_and_others_do_not() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let too_long = chain(&store, 4_100).await.1;
    let other = create(&store, spec("1")).await;
    let attack = (0..100).map(|_| JobSpec { dependents: vec![other.clone()], ..after(&[&too_long]) }).collect();
    let began = std::time::Instant::now();
    let (answers, plain) = tokio::join!(together(&store, attack), together(&store, vec![spec("1"); 100]));
    // Each of them takes 20 ms of Redis, and has the next ones wait for five times that.
    let most = 2 + began.elapsed().as_millis() / 100;
    let followed = answers.iter().filter(|answer| **answer == Created::Tangled).count();
    assert!((1..=most).contains(&(followed as u128)), "{followed} walks, {most} is what the budget allows");
    assert_eq!(answers.iter().filter(|answer| **answer == Created::Busy).count(), 100 - followed);
    assert_eq!(plain, vec![Created::Created(Status::Created); 100]);
    create(&store, after(&[&other])).await;
}

/// What was followed for one job of a call does not hide the cycle that another one closes.
#[tokio::test(flavor = "multi_thread")]
async fn a_cycle_is_seen_beside_others_that_follow_the_same_jobs() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    for round in 0..10 {
        let (first, end) = chain(&store, 20).await;
        let (parent, other) = (create(&store, after(&[&end])).await, create(&store, spec("1")).await);
        let free = create(&store, spec("1")).await;
        let [one, two, three] = std::array::from_fn(|_| JobId::random());
        let specs = vec![
            named(&one, JobSpec { dependents: vec![other.clone()], ..after(&[&parent]) }),
            // Waits for none of them, and the whole chain for it.
            named(&two, JobSpec { dependents: vec![first.clone()], ..after(&[&free]) }),
            // The chain leads to it now.
            named(&three, JobSpec { dependents: vec![two.clone()], ..after(&[&parent]) }),
            named(&JobId::random(), JobSpec { dependents: vec![first.clone()], ..after(&[&one]) }),
        ];
        // One call or several: requests are stored in the order in which they came.
        let answers = together(&store, specs).await;
        assert_eq!(answers[..2], vec![Created::Created(Status::Created); 2], "round {round}");
        for answer in &answers[2..] {
            assert!(matches!(answer, Created::Cycle(_)), "round {round}: {answers:?}");
        }
        let continuation = JobSpec { dependents: vec![first], ..continuation_of(&parent) };
        assert!(matches!(together(&store, vec![continuation]).await[0], Created::Cycle(_)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn more_relatives_than_can_be_followed_are_not_even_read() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let (predecessor, other) = (create(&store, spec("1")).await, create(&store, spec("1")).await);
    for _ in 0..5 {
        let children = create_all(&store, (0..1000).map(|_| child_of(&predecessor))).await;
        join_all(children.iter().map(|id| store.jobs().start(id))).await;
    }
    let before = calls(&redis, "hmget").await;
    let continuation = JobSpec { dependents: vec![other], ..continuation_of(&predecessor) };
    assert_eq!(store.jobs().create(new(continuation)).await.unwrap(), Created::Tangled);
    let read = calls(&redis, "hmget").await - before;
    assert!(read < 100, "{read} jobs were read");
}
