//! A job waits until all its prerequisites have finished, and ends when one of them can no longer finish.

use hero::dispatch::Error;
use hero::model::{ErrorKind, JobId, JobSpec, Status};

use super::{after, begin, by_hand, create, ended_by, history, leaves_nothing, list_of, nobody, relatives, released, status, when};
use crate::support::{CONTEXT, House, PATIENCE, spec};

#[tokio::test(flavor = "multi_thread")]
async fn a_job_waits_until_all_its_prerequisites_have_finished() {
    let (house, hand) = by_hand().await;
    let (first, second) = (house.start(spec("1")).await, create(&house, spec("1")).await);
    let job = create(&house, after(&[&first, &second])).await;
    assert_eq!(status(&house, &job).await, Status::Created);
    assert_eq!(begin(&house, &job).await, Status::WaitingForPrerequisites);
    for prerequisite in [&first, &second] {
        assert_eq!(relatives(&house.redis, prerequisite, "dependents").await, list_of(&[&job]));
    }
    hand.finish(&first).await;
    released(&house.redis).await;
    assert_eq!(relatives(&house.redis, &first, "dependents").await, nobody());
    assert_eq!(status(&house, &job).await, Status::WaitingForPrerequisites);
    begin(&house, &second).await;
    hand.finish(&second).await;
    house.is(&job, Status::Dispatched).await;
    hand.finish(&job).await;
    assert_eq!(hand.times(&job).await, 1);
    let history = history(&house.redis).await;
    assert!(when(&history, &job, Status::Dispatched) > when(&history, &second, Status::Finished));
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn both_spellings_of_the_prerequisites_are_on_the_hash() {
    let (house, _) = by_hand().await;
    let first = create(&house, spec("1")).await;
    let job = create(&house, after(&[&first])).await;
    let fields: Vec<Option<String>> = house.redis.run(&["HMGET", &format!("hero:job:{job}"), "prerequisites", "dependencies"]).await;
    for field in fields {
        assert_eq!(serde_json::from_str::<Vec<JobId>>(&field.unwrap()).unwrap(), std::slice::from_ref(&first));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_whose_prerequisite_is_in_error_ends_at_once() {
    let (house, hand) = by_hand().await;
    let (good, bad) = (house.start(spec("1")).await, house.start(spec("1")).await);
    let created_before = create(&house, after(&[&good, &bad])).await;
    assert_eq!(hand.fail(&bad).await, Status::Error);
    ended_by(&house, &created_before, &bad).await;
    let created_after = create(&house, after(&[&bad, &good])).await;
    // Whether it ends when it is created or when it is started is not the point.
    drop(house.dispatcher.jobs().start(CONTEXT, &created_after).await);
    assert_eq!(status(&house, &created_after).await, Status::Error);
    ended_by(&house, &created_after, &bad).await;
    let waited = house.dispatcher.jobs().run_and_wait(after(&[&bad]), PATIENCE).await.unwrap_err();
    let Error::Failed { error, .. } = waited else { panic!("{waited}") };
    assert_eq!(error.kind, ErrorKind::Prerequisite);
    hand.finish(&good).await;
    released(&house.redis).await;
    assert_eq!(status(&house, &created_before).await, Status::Error);
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prerequisite_that_is_given_twice_counts_once() {
    let (house, hand) = by_hand().await;
    let first = house.start(spec("1")).await;
    let job = house.start(after(&[&first, &first])).await;
    assert_eq!(status(&house, &job).await, Status::WaitingForPrerequisites);
    hand.finish(&first).await;
    hand.finish(&job).await;
    released(&house.redis).await;
    assert_eq!(hand.times(&job).await, 1);
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_of_200_runs_in_order() {
    let house = House::open(2).await;
    let mut chain = vec![create(&house, spec("1")).await];
    for _ in 1..200 {
        chain.push(create(&house, after(&[chain.last().unwrap()])).await);
    }
    // The last is started first, so that nothing but the relations can make the order.
    for job in chain.iter().rev() {
        begin(&house, job).await;
    }
    house.dispatcher.jobs().wait(CONTEXT, &chain[199], PATIENCE).await.unwrap();
    let history = history(&house.redis).await;
    for pair in chain.windows(2) {
        assert!(when(&history, &pair[0], Status::Finished) < when(&history, &pair[1], Status::Started));
    }
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_job_waits_for_300() {
    let house = House::open(2).await;
    let creations = (0..300).map(|_| house.dispatcher.jobs().create(spec("1")));
    let many: Vec<JobId> = futures_util::future::try_join_all(creations).await.unwrap();
    let job = house.start(JobSpec { prerequisites: many.clone(), ..spec("2") }).await;
    assert_eq!(status(&house, &job).await, Status::WaitingForPrerequisites);
    futures_util::future::join_all(many.iter().map(|id| begin(&house, id))).await;
    assert_eq!(house.dispatcher.jobs().wait(CONTEXT, &job, PATIENCE).await.unwrap().output, "2");
    let history = history(&house.redis).await;
    let began = when(&history, &job, Status::Started);
    assert!(many.iter().all(|id| when(&history, id, Status::Finished) < began));
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_runs_a_job_and_waits_waits_for_its_prerequisites_too() {
    let house = House::open(2).await;
    let slow = house.start(spec("sleep(0.2); 1")).await;
    let result = house.dispatcher.jobs().run_and_wait(JobSpec { script: "2".into(), ..after(&[&slow]) }, PATIENCE).await.unwrap();
    assert_eq!(result.output, "2");
    let history = history(&house.redis).await;
    assert!(when(&history, &slow, Status::Finished) < when(&history, &result.job_id, Status::Started));
    let fails = house.start(spec("sleep(0.2); throw \"no\"")).await;
    let failed = house.dispatcher.jobs().run_and_wait(after(&[&fails]), PATIENCE).await.unwrap_err();
    let Error::Failed { error, .. } = failed else { panic!("{failed}") };
    assert!(error.kind == ErrorKind::Prerequisite && error.message.contains(fails.as_str()), "{error:?}");
}
