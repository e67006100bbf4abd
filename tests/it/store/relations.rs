//! Relations, by calls to the functions.

use hero::model::{JobId, JobSpec, Output, OutputFormat, Status};
use hero::store::{AttemptEnd, Created, Ended, NewJob, Store};

use crate::support::Redis;

pub(super) fn job(spec: JobSpec) -> NewJob {
    NewJob {
        id: JobId::random(),
        spec: JobSpec { script: "40 + 2".into(), ..spec },
        start: true,
        waited: false,
        occurrence: None,
        flow: None,
    }
}

pub(super) async fn create(store: &Store, spec: JobSpec) -> (JobId, Status) {
    let job = job(spec);
    let id = job.id.clone();
    match store.jobs().create(job).await.unwrap() {
        Created::Created(status) => (id, status),
        other => panic!("{other:?}"),
    }
}

pub(super) async fn fetch(store: &Store, ends: &[Ended], room: usize) -> Vec<JobId> {
    let fetched = super::fetch(store, ends, room).await;
    fetched.taken.into_iter().map(|claimed| claimed.job).collect()
}

pub(super) fn ended(id: &JobId) -> Ended {
    let outcome = AttemptEnd::Finished(Output { text: "42".into(), format: OutputFormat::Json });
    Ended::of(id.clone(), 1, 1, hero::model::Timestamp::local(), outcome)
}

pub(super) async fn release(store: &Store) {
    while store.jobs().release_relatives(128).await.unwrap() {}
}

pub(super) async fn now(store: &Store, id: &JobId) -> Status {
    store.jobs().get(id).await.unwrap().unwrap().status
}

#[tokio::test]
async fn a_family_runs_in_order_and_leaves_nothing_behind() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let (parent, status) = create(&store, JobSpec::default()).await;
    assert_eq!(status, Status::Dispatched);
    let (child, status) = create(&store, JobSpec { parent_id: Some(parent.clone()), ..JobSpec::default() }).await;
    assert_eq!(status, Status::WaitingForPrerequisites);
    let (grandchild, _) = create(&store, JobSpec { parent_id: Some(child.clone()), ..JobSpec::default() }).await;
    let (continuation, _) = create(&store, JobSpec { predecessor_id: Some(parent.clone()), ..JobSpec::default() }).await;
    let (dependent, _) = create(&store, JobSpec { prerequisites: vec![continuation.clone(), parent.clone()], ..JobSpec::default() }).await;
    for id in [&parent, &child, &grandchild, &continuation, &dependent] {
        assert_eq!(fetch(&store, &[], 9).await, std::slice::from_ref(id));
        fetch(&store, &[ended(id)], 0).await;
        release(&store).await;
        assert_eq!(now(&store, id).await, Status::Finished);
    }
    let left: Vec<String> = redis.run(&["KEYS", "hero:rel:*"]).await;
    assert!(left.is_empty(), "{left:?}");
    let left: Vec<String> = redis.run(&["ZRANGE", "hero:q:watched", "0", "-1"]).await;
    assert!(left.is_empty(), "{left:?}");
    for id in [&parent, &child, &grandchild, &continuation, &dependent] {
        let ttl: i64 = redis.run(&["TTL", &format!("hero:job:{id}")]).await;
        assert!(ttl > 0, "{ttl}");
    }
}

#[tokio::test]
async fn a_job_that_waits_for_itself_is_refused() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let unstarted = |spec| NewJob { start: false, ..job(spec) };
    let existing = unstarted(JobSpec::default());
    let id = existing.id.clone();
    assert_eq!(store.jobs().create(existing).await.unwrap(), Created::Created(Status::Created));
    let middle = unstarted(JobSpec { prerequisites: vec![id.clone()], ..JobSpec::default() });
    let between = middle.id.clone();
    assert_eq!(store.jobs().create(middle).await.unwrap(), Created::Created(Status::Created));
    let bad = unstarted(JobSpec { prerequisites: vec![between], dependents: vec![id.clone()], ..JobSpec::default() });
    assert!(matches!(store.jobs().create(bad).await.unwrap(), Created::Cycle(_)));
    // A continuation of its own parent would wait for its own end.
    let bad = unstarted(JobSpec { parent_id: Some(id.clone()), predecessor_id: Some(id.clone()), ..JobSpec::default() });
    assert!(matches!(store.jobs().create(bad).await.unwrap(), Created::Cycle(_)));
    let (one, two) = (JobId::random(), JobId::random());
    let entry = |id: &JobId, other: &JobId| NewJob {
        id: id.clone(),
        ..unstarted(JobSpec { job_id: Some(id.clone()), prerequisites: vec![other.clone()], ..JobSpec::default() })
    };
    let answers = store.jobs().create_all_or_none(&[entry(&one, &two), entry(&two, &one)]).await.unwrap();
    assert!(answers.iter().any(|answer| matches!(answer, Created::Cycle(_))), "{answers:?}");
    assert!(store.jobs().get(&one).await.unwrap().is_none());
}

#[tokio::test]
async fn a_chain_of_children_may_be_of_any_depth() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let (mut parent, _) = create(&store, JobSpec::default()).await;
    // Deeper than relations are followed where a cycle is possible.
    for _ in 0..4500 {
        let (child, status) = create(&store, JobSpec { parent_id: Some(parent), ..JobSpec::default() }).await;
        assert_eq!(status, Status::WaitingForPrerequisites);
        parent = child;
    }
}

#[tokio::test]
async fn a_job_that_is_refused_takes_no_place_of_another() {
    let redis = Redis::start().await;
    let store = redis.plan().with_room(2).store().await;
    let existing = NewJob { start: false, ..job(JobSpec::default()) };
    let id = existing.id.clone();
    assert_eq!(store.jobs().create(existing).await.unwrap(), Created::Created(Status::Created));
    let middle = NewJob { start: false, ..job(JobSpec { prerequisites: vec![id.clone()], ..JobSpec::default() }) };
    let between = middle.id.clone();
    assert_eq!(store.jobs().create(middle).await.unwrap(), Created::Created(Status::Created));
    // Three at once, of which one would wait for itself.
    let cycle = JobSpec { prerequisites: vec![between], dependents: vec![id], ..JobSpec::default() };
    let [first, second, third] = [JobSpec::default(), cycle, JobSpec::default()].map(|spec| store.jobs().create(job(spec)));
    let (first, second, third) = tokio::join!(first, second, third);
    assert!(matches!(second.unwrap(), Created::Cycle(_)));
    assert_eq!([first.unwrap(), third.unwrap()], [Created::Created(Status::Dispatched), Created::Created(Status::Dispatched)]);
    assert_eq!(store.jobs().create(job(JobSpec::default())).await.unwrap(), Created::Full(2));
}

#[tokio::test]
async fn jobs_that_are_stored_or_started_together_know_each_other_as_jobs_of_ours() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let is_unseen = async |id: &JobId| redis.run::<bool>(&["HEXISTS", &format!("hero:job:{id}"), "unseen"]).await;
    let created = async |spec: JobSpec| {
        let new = NewJob { start: false, ..job(spec) };
        let id = new.id.clone();
        assert_eq!(store.jobs().create(new).await.unwrap(), Created::Created(Status::Created));
        id
    };
    let (other, parent) = (created(JobSpec::default()).await, created(JobSpec::default()).await);
    let child = created(JobSpec { parent_id: Some(parent.clone()), ..JobSpec::default() }).await;
    // The first call goes alone; what comes meanwhile shares the next.
    let (first, second, third) = tokio::join!(store.jobs().start(&other), store.jobs().start(&parent), store.jobs().start(&child));
    for started in [first, second, third] {
        started.unwrap();
    }
    assert_eq!((now(&store, &parent).await, now(&store, &child).await), (Status::Dispatched, Status::WaitingForPrerequisites));
    assert!(!is_unseen(&parent).await);

    let named = job(JobSpec::default());
    let named = NewJob { spec: JobSpec { job_id: Some(named.id.clone()), ..named.spec.clone() }, ..named };
    let id = named.id.clone();
    let waits = job(JobSpec { prerequisites: vec![id.clone()], ..JobSpec::default() });
    let (first, second, third) =
        tokio::join!(store.jobs().create(job(JobSpec::default())), store.jobs().create(named), store.jobs().create(waits));
    assert_eq!((first.unwrap(), second.unwrap()), (Created::Created(Status::Dispatched), Created::Created(Status::Dispatched)));
    assert_eq!(third.unwrap(), Created::Created(Status::WaitingForPrerequisites));
    assert!(!is_unseen(&id).await);
}
