//! A follower that reconnects sees the same events as one that stays connected.

use std::collections::BTreeMap;
use std::time::Duration;

use hero::model::{ErrorKind, JobError, JobId, JobSpec, Output, OutputFormat, Status};
use hero::store::{ActorRoom, AttemptEnd, Ended, Fetch, NewJob, Store};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::*;

const JOBS: usize = 5000;
const BATCH: usize = 100;

/// Creates and runs jobs without engines: some fail, some of these are tried again, some are requeued first.
async fn work(store: Store, mut random: StdRng) -> Vec<JobId> {
    let (script_type, queues) = ("osis".parse().unwrap(), [("hero:q:work:type:osis".to_owned(), 0)]);
    let actors = [ActorRoom { actor: "osis:default:1".into(), room: BATCH }];
    let (mut ids, mut ends) = (Vec::new(), Vec::new());
    loop {
        if ids.len() < JOBS {
            let new = |_| {
                let spec = JobSpec { script: "40 + 2".into(), retries: u32::from(random.random_bool(0.2)), ..JobSpec::default() };
                NewJob { id: JobId::random(), spec, start: true, waited: true, occurrence: None, flow: None }
            };
            let new: Vec<NewJob> = (0..BATCH).map(new).collect();
            store.jobs().create_all_or_none(&new).await.unwrap();
            ids.extend(new.into_iter().map(|job| job.id));
        }
        let fetched =
            store.queues().fetch(&Fetch { script_type: &script_type, ends: &ends, actors: &actors, queues: &queues }).await.unwrap();
        ends = fetched
            .taken
            .into_iter()
            .map(|job| {
                let outcome = match random.random_range(0..10) {
                    0..=6 => AttemptEnd::Finished(Output { text: "42".into(), format: OutputFormat::Json }),
                    7..=8 => AttemptEnd::Failed { error: JobError::new(ErrorKind::Script, "no"), retry_in: Duration::ZERO },
                    _ => AttemptEnd::Requeued,
                };
                Ended::of(job.job, job.attempt, job.claim, job.started_at, outcome)
            })
            .collect();
        let promoted = store.jobs().promote(BATCH).await.unwrap();
        if ids.len() >= JOBS && ends.is_empty() && promoted.handled == 0 && store.queues().list().await.unwrap().is_empty() {
            return ids;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_who_breaks_off_at_random_places_sees_every_change_of_5000_jobs_once_and_in_order() {
    let mut random = crate::support::random();
    let (house, server, client) = open(0).await;
    // Its end is the last change of all.
    let marker = create(&client, json!(["0"])).await;
    let first: Vec<(String, BTreeMap<String, String>)> = house.redis.run(&["XRANGE", "hero:events", "-", "+"]).await;
    let mut cursor = json!(first[0].0);
    let worker = tokio::spawn({
        let (store, client, marker) = (house.store.clone(), client.clone(), marker.clone());
        let random = StdRng::seed_from_u64(random.random());
        async move {
            let ids = work(store, random).await;
            client.ok("stop_job", json!([marker])).await;
            ids
        }
    });

    // Every piece comes over a connection of its own, which breaks in the middle of what is sent.
    let (mut seen, mut breaks): (Vec<[String; 3]>, usize) = (Vec::new(), 0);
    'breaks: loop {
        let connection = server.connect().await;
        let mut items = connection.subscribe("subscribe_events", json!({"cursor": cursor})).await.unwrap();
        for _ in 0..random.random_range(0..1000) {
            let item = items.next().await;
            let text = |field: &str| item[field].as_str().unwrap_or_else(|| panic!("{item}")).to_owned();
            seen.push([text("cursor"), text("job_id"), text("status")]);
            cursor = item["cursor"].clone();
            if item["job_id"] == marker {
                break 'breaks;
            }
        }
        breaks += 1;
    }
    let ids = worker.await.unwrap();
    assert!(breaks >= 5, "only {breaks} breaks");

    let all: Vec<(String, BTreeMap<String, String>)> = house.redis.run(&["XRANGE", "hero:events", "-", "+"]).await;
    let all: Vec<[String; 3]> = all.into_iter().map(|(cursor, event)| [cursor, event["job"].clone(), event["status"].clone()]).collect();
    assert!(seen == all[1..], "seen were {} changes, and there were {}", seen.len(), all.len() - 1);
    let mut of_job: BTreeMap<&str, Vec<Status>> = BTreeMap::new();
    for [_, job, status] in &seen {
        of_job.entry(job).or_default().push(status.parse().unwrap());
    }
    for id in &ids {
        let lives = &of_job[id.as_str()];
        assert!(lives[0] == Status::Dispatched && lives.last().unwrap().is_final(), "{id}: {lives:?}");
        assert_eq!(lives.iter().filter(|status| status.is_final()).count(), 1, "{id}: {lives:?}");
        for pair in lives.windows(2) {
            let follows = match pair[0] {
                Status::Dispatched => &[Status::Started][..],
                Status::Started => &[Status::Finished, Status::Error, Status::Scheduled, Status::Dispatched],
                Status::Scheduled => &[Status::Dispatched],
                _ => &[],
            };
            assert!(follows.contains(&pair[1]), "{id}: {lives:?}");
        }
    }
    assert_eq!((ids.len(), of_job.len()), (JOBS, JOBS + 1));
}
