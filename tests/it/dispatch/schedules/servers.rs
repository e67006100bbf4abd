//! Schedules with several servers, and with servers that die.

use std::collections::BTreeSet;

use hero::model::Overlap;
use rand::Rng as _;

use super::*;
use crate::support::{PATIENCE, Process, random, until};

/// A schedule that creates a job for every occurrence, whatever happens.
fn faithful(spec: ScheduleSpec) -> ScheduleSpec {
    ScheduleSpec { overlap: Overlap::Allow, missed: Missed::All, missed_limit: Some(1000), ..spec }
}

/// That every schedule has one job for each occurrence from its first to its last: how many there are.
async fn one_job_each(town: &Town) -> usize {
    let jobs = town.all_jobs().await;
    let mut occurrences = 0;
    for schedule in town.schedules().await {
        let made: Vec<Timestamp> = jobs.get(schedule.schedule_id.as_str()).into_iter().flatten().map(occurrence).collect();
        let once: BTreeSet<Timestamp> = made.iter().copied().collect();
        assert_eq!(made.len(), once.len(), "an occurrence was fired twice: {schedule:?}");
        assert_eq!((schedule.runs, schedule.missed_runs, schedule.skipped_runs), (made.len() as u64, 0, 0), "{schedule:?}");
        let period = schedule.every.map_or(1000, |every| every.duration().as_millis() as i64);
        let (first, next) = (made[0], schedule.next_runs[0]);
        let since = first.since(schedule.created_at).as_millis() as i64;
        assert!(since <= period, "the first occurrence is lost: {schedule:?}");
        assert!(made.windows(2).all(|pair| pair[1].as_millis() - pair[0].as_millis() == period), "an occurrence is lost: {made:?}");
        assert_eq!(next.as_millis() - made[made.len() - 1].as_millis(), period, "the last occurrence is lost");
        occurrences += made.len();
    }
    occurrences
}

#[tokio::test(flavor = "multi_thread")]
async fn two_servers_fire_no_occurrence_twice_and_lose_none() {
    let (redis, mut random) = (Redis::start().await, random());
    let (mut a, mut b) = (Town::on(&redis).await, Town::on(&redis).await);
    for _ in 0..10 {
        for spec in [every(1.0), every(2.5), by_cron("* * * * * *")] {
            a.create(faithful(spec)).await;
        }
    }
    for _ in 0..40 {
        // One clock goes ahead of the other, and then the other way round.
        let seconds = random.random_range(0..5);
        let (first, second) = if random.random() { (&a, &b) } else { (&b, &a) };
        first.advance(seconds + 2);
        second.advance(seconds);
        let (of_a, of_b) = tokio::join!(a.scheduler.tick(), b.scheduler.tick());
        of_a.unwrap();
        of_b.unwrap();
    }
    tokio::join!(a.tick(), b.tick());
    let occurrences = one_job_each(&a).await;
    assert!(occurrences > 1000, "{occurrences}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_round_that_is_cut_off_anywhere_fires_no_occurrence_twice_and_loses_none() {
    let (redis, mut random) = (Redis::start().await, random());
    let mut town = Town::on(&redis).await;
    for _ in 0..40 {
        town.create(faithful(every(1.0))).await;
    }
    for _ in 0..60 {
        town.advance(1);
        let _ = tokio::time::timeout(Duration::from_micros(random.random_range(0..20_000)), town.scheduler.tick()).await;
    }
    // What a round sent before it was cut off may come later, and pass for another server that is at it.
    let all_fired = async |town: &Town| {
        let now = town.store.clock().now();
        town.schedules().await.iter().all(|schedule| schedule.next_runs[0].as_millis() > now.as_millis())
    };
    tokio::time::timeout(PATIENCE, async {
        while !all_fired(&town).await {
            town.tick().await;
        }
    })
    .await
    .expect("every occurrence is fired at last");
    let occurrences = one_job_each(&town).await;
    assert!(occurrences >= 40 * 59, "{occurrences}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_while_it_fires_loses_no_occurrence_and_fires_none_twice() {
    let (redis, mut random) = (Redis::start().await, random());
    let mut town = Town::on(&redis).await;
    // Nobody takes these jobs, so all there is to do is to make them.
    let job = JobSpec { group: Some("nobody".parse().unwrap()), ..spec("1") };
    for _ in 0..200 {
        town.create(faithful(ScheduleSpec { job: job.clone(), ..every(1.0) })).await;
    }
    let made = async || redis.run::<u64>(&["LLEN", "hero:q:work:type:osis:group:nobody"]).await;
    let data = tempfile::tempdir().unwrap();
    for round in 0..5 {
        let place = data.path().join(round.to_string());
        let mut server = Process::serve(&place, &["--redis", &redis.url(), "--pool", "osis=1"]).await;
        // In the middle of the occurrences of some second.
        let enough = made().await + 200 + random.random_range(1..400);
        until("so many jobs", || async { (made().await >= enough).then_some(()) }).await;
        server.kill().await;
    }
    town.tick().await;
    let occurrences = one_job_each(&town).await;
    assert!(occurrences >= 1000, "{occurrences}");
}
