//! Records of job attempts, and of work that scripts and schedules start.

use std::time::Duration;

use super::*;
use crate::support::{DEADLY, DEADLY_LEVELS, pool_settings, spec};
use hero::actor::PoolSettings;
use hero::model::{JobSpec, Seconds};

/// A house with one actor whose attempts are recorded.
async fn hired() -> (Ground, Audit, House) {
    hired_with(|_| {}).await
}

/// The same, changed.
async fn hired_with(change: impl FnOnce(&mut PoolSettings)) -> (Ground, Audit, House) {
    let (ground, mut house) = (Ground::new(), House::empty().await);
    let audit = ground.open();
    let mut settings = PoolSettings { audit: audit.clone(), ..pool_settings(house.redis.directory(), 1) };
    change(&mut settings);
    house.hire(settings).await;
    (ground, audit, house)
}

#[tokio::test(flavor = "multi_thread")]
async fn each_attempt_is_a_record_with_actor_outcome_and_duration() {
    let (ground, audit, house) = hired().await;
    let long = JobSpec { timeout: Seconds::new(0.2), ..spec("loop {}") };
    let wanted: [(JobSpec, &str, &str); 4] = [
        (spec("40 + 2"), "ok", "finished"),
        (spec("nonsense()"), "failed", "script"),
        (long, "failed", "timeout"),
        (spec("throw 1"), "failed", "script"),
    ];
    let mut expected = Vec::new();
    for (spec, outcome, end) in wanted {
        let id = house.dispatcher.jobs().create(spec).await.unwrap();
        house.dispatcher.jobs().start(CONTEXT, &id).await.unwrap();
        let _ = house.dispatcher.jobs().wait(CONTEXT, &id, PATIENCE).await;
        expected.push((format!("job:{id}"), outcome.to_owned(), end.to_owned()));
    }
    let entries = until("all records", || async {
        audit.written().await;
        let entries: Vec<Entry> = ground.entries().into_iter().filter(|entry| entry.what == "execute").collect();
        (entries.len() == expected.len()).then_some(entries)
    });
    let entries = entries.await;
    let found: Vec<(String, String, String)> =
        entries.iter().map(|entry| (entry.object.clone().unwrap(), entry.outcome.clone(), entry.end.clone().unwrap())).collect();
    assert_eq!(found, expected);
    assert!(entries.iter().all(|entry| entry.who == "actor:osis:default:1" && entry.attempt == Some(1) && entry.context == Some(CONTEXT)));
    assert!(entries.iter().all(|entry| entry.caller.as_deref() == Some("anonymous")), "{entries:?}");
    assert!(entries[2].duration_ms.unwrap() >= 200, "{entries:?}");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attempts_that_crash_are_records_one_each() {
    let (ground, audit, house) = hired_with(|settings| settings.engine.limits.call_levels = DEADLY_LEVELS).await;
    let ended = house.run(DEADLY).await.unwrap_err();
    assert!(ended.to_string().contains("died") || ended.to_string().contains("crash"), "{ended}");
    audit.written().await;
    let ends: Vec<(u32, String)> = ground
        .entries()
        .into_iter()
        .filter(|entry| entry.what == "execute")
        .map(|entry| (entry.attempt.unwrap(), entry.end.unwrap()))
        .collect();
    assert_eq!(ends, [(1, "crashed".to_owned()), (2, "crashed".to_owned()), (3, "crashed".to_owned())]);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_requeued_job_is_recorded() {
    let (ground, audit, house) = hired_with(|settings| settings.grace = Duration::from_millis(50)).await;
    let id = house.start(spec("job::progress(1); loop {}")).await;
    // A job that is requeued before its actor has it has not been tried.
    let reports = async || house.dispatcher.jobs().job(CONTEXT, &id).await.ok()?.progress;
    until("it runs", reports).await;
    house.close().await;
    audit.written().await;
    let entry = ground.entries().into_iter().rfind(|entry| entry.what == "execute").unwrap();
    assert_eq!((entry.object, entry.end.as_deref()), (Some(format!("job:{id}")), Some("given_back")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_a_script_starts_is_recorded_as_created_by_that_job() {
    let (ground, audit, house) = hired().await;
    let parent = house.start(spec(r#"job::spawn(#{ script: "1" })"#)).await;
    let ended = house.dispatcher.jobs().wait(CONTEXT, &parent, PATIENCE).await.unwrap();
    let child = ended.output.trim_matches('"').to_owned();
    audit.written().await;
    let entry = ground.entries().into_iter().find(|entry| entry.what == "spawn").unwrap();
    assert_eq!((entry.who, entry.object, &*entry.outcome), (format!("job:{parent}"), Some(format!("job:{child}")), "ok"));
    house.close().await;
}
