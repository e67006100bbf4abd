//! The life of a schedule on one server, from creation to deletion.

use super::*;

/// Milliseconds.
const HOUR: i64 = 3_600_000;

#[tokio::test]
async fn cron_and_intervals_fire_when_they_are_due_and_not_before() {
    let redis = Redis::start().await;
    let mut town = Town::on(&redis).await;
    let job = JobSpec { name: Some("n".into()), args: Some(serde_json::json!({"a": 1}).into()), ..spec("1") };
    let of_interval = town.create(ScheduleSpec { job, ..every(90.0) }).await;
    // Some hours ahead, so that it is not due meanwhile.
    let hour = (town.store.clock().now().as_millis() / HOUR + 6) % 24;
    let of_cron = town.create(by_cron(&format!("0 {hour} * * *"))).await;
    town.tick().await;
    assert!(town.all_jobs().await.is_empty());
    let interval = town.schedule(&of_interval).await;
    let due = |run: u64| interval.created_at.plus(Duration::from_secs(90 * run));
    assert_eq!(interval.next_runs, (1..=5).map(due).collect::<Vec<_>>());

    town.pass(89).await;
    assert!(town.jobs(&of_interval).await.is_empty());
    town.pass(3).await;
    let jobs = town.jobs(&of_interval).await;
    assert_eq!(jobs.iter().map(occurrence).collect::<Vec<_>>(), [due(1)]);
    let job = &jobs[0];
    assert_eq!((job.status, job.name.as_deref(), &job.args), (Status::Dispatched, Some("n"), &Some(serde_json::json!({"a": 1}).into())));
    let interval = town.schedule(&of_interval).await;
    assert_eq!((interval.runs, &interval.last_job, interval.last_run), (1, &Some(job.job_id.clone()), Some(due(1))));
    assert_eq!(interval.next_runs, (2..=6).map(due).collect::<Vec<_>>());

    let [first, ..] = town.schedule(&of_cron).await.next_runs[..] else { panic!("no next run") };
    assert_eq!((first.as_millis() % HOUR, first.as_millis() / HOUR % 24, town.jobs(&of_cron).await.len()), (0, hour, 0));
    town.pass(first.since(town.store.clock().now()).as_secs() + 1).await;
    assert_eq!(town.jobs(&of_cron).await.iter().map(occurrence).collect::<Vec<_>>(), [first]);
}

#[tokio::test]
async fn what_was_missed_is_left_out_or_made_up_for() {
    let redis = Redis::start().await;
    let mut town = Town::on(&redis).await;
    let mut ids = Vec::new();
    for (missed, missed_limit) in [(Missed::Skip, None), (Missed::Once, None), (Missed::All, None), (Missed::All, Some(7))] {
        let spec = ScheduleSpec { missed, missed_limit, overlap: hero::model::Overlap::Allow, ..every(120.0) };
        ids.push(town.create(spec).await);
    }
    let before = town.schedule(&ids[0]).await.created_at;
    town.pass(3600 + 60).await;
    for (id, jobs, left_out) in [(&ids[0], 0, 30), (&ids[1], 1, 29), (&ids[2], 30, 0), (&ids[3], 7, 23)] {
        let (made, schedule) = (town.jobs(id).await, town.schedule(id).await);
        assert_eq!((made.len(), schedule.runs, schedule.missed_runs), (jobs, jobs as u64, left_out), "{schedule:?}");
        // The newest of them, and the row goes on as if nothing had happened.
        let occurrences: Vec<Timestamp> = made.iter().map(occurrence).collect();
        let created = schedule.created_at;
        assert_eq!(occurrences, (31 - jobs..=30).map(|run| created.plus(Duration::from_secs(120 * run as u64))).collect::<Vec<_>>());
        assert_eq!(schedule.next_runs[0], created.plus(Duration::from_secs(120 * 31)));
        assert!(created >= before);
    }
}

#[tokio::test]
async fn an_occurrence_that_finds_no_room_waits_for_it() {
    let redis = Redis::start().await;
    let mut town = Town::with_queues_of(&redis, 1).await;
    let id = town.create(ScheduleSpec { missed: Missed::Skip, ..every(20.0) }).await;
    let in_the_way = town.dispatcher.jobs().create(spec("1")).await.unwrap();
    town.dispatcher.jobs().start(CONTEXT, &in_the_way).await.unwrap();
    // Far longer than the time after which an occurrence is missed where no server runs.
    for _ in 0..10 {
        town.pass(10).await;
    }
    assert_eq!(town.schedule(&id).await.runs, 0);
    town.dispatcher.jobs().delete(CONTEXT, &in_the_way).await.unwrap();
    town.tick().await;
    let schedule = town.schedule(&id).await;
    let jobs = town.jobs(&id).await;
    assert_eq!((jobs.len(), occurrence(&jobs[0])), (1, schedule.created_at.plus(Duration::from_secs(20))));
    // The others found it in their way.
    assert_eq!((schedule.runs, schedule.skipped_runs, schedule.missed_runs), (1, 4, 0));
}

#[tokio::test]
async fn schedules_without_room_are_not_in_the_way_of_others() {
    let redis = Redis::start().await;
    let mut town = Town::with_queues_of(&redis, 1).await;
    for _ in 0..300 {
        town.create(every(5.0)).await;
    }
    let other = town.create(ScheduleSpec { job: JobSpec { script_type: "sal".parse().unwrap(), ..spec("1") }, ..every(6.0) }).await;
    town.pass(7).await;
    assert_eq!(town.jobs(&other).await.len(), 1);
    assert_eq!(town.all_jobs().await.len(), 2);
}

#[tokio::test]
async fn a_schedule_ends_and_is_kept_for_a_week() {
    let redis = Redis::start().await;
    let mut town = Town::on(&redis).await;
    let end_at = Some(town.store.clock().now().plus(Duration::from_secs(25)));
    let id = town.create(ScheduleSpec { end_at, overlap: hero::model::Overlap::Queue, ..every(10.0) }).await;
    assert_eq!(town.schedule(&id).await.next_runs.len(), 2);
    for _ in 0..6 {
        town.pass(10).await;
    }
    let schedule = town.schedule(&id).await;
    assert_eq!((schedule.runs, schedule.next_runs.len()), (2, 0));
    town.pass(6 * 24 * 3600).await;
    assert_eq!(town.schedules().await.len(), 1);
    town.pass(24 * 3600).await;
    assert_eq!(town.schedules().await, []);
    assert_eq!(keys(&redis).await, Vec::<String>::new());
    assert_eq!(town.jobs(&id).await.len(), 2);
}

#[tokio::test]
async fn a_deleted_schedule_leaves_nothing_but_its_jobs() {
    let redis = Redis::start().await;
    let mut town = Town::on(&redis).await;
    let id = town.create(ScheduleSpec { overlap: hero::model::Overlap::Queue, ..every(10.0) }).await;
    town.pass(11).await;
    town.advance(10);
    town.dispatcher.schedules().delete(CONTEXT, &id).await.unwrap();
    town.tick().await;
    assert_eq!(town.jobs(&id).await.len(), 1);
    assert_eq!(keys(&redis).await, Vec::<String>::new());
    assert!(matches!(town.dispatcher.schedules().delete(CONTEXT, &id).await, Err(hero::dispatch::Error::NoSchedule(gone)) if gone == id));
}

#[tokio::test]
async fn a_schedule_that_is_deleted_while_it_fires_is_gone() {
    let redis = Redis::start().await;
    let mut town = Town::on(&redis).await;
    for _ in 0..30 {
        let mut ids = Vec::new();
        for _ in 0..10 {
            ids.push(town.create(every(5.0)).await);
        }
        town.advance(6);
        let dispatcher = town.dispatcher.clone();
        let deleting = async { futures_util::future::join_all(ids.iter().map(|id| dispatcher.schedules().delete(CONTEXT, id))).await };
        let (ticked, deleted) = tokio::join!(town.scheduler.tick(), deleting);
        ticked.unwrap();
        deleted.into_iter().for_each(|deleted| deleted.unwrap());
        assert_eq!(keys(&redis).await, Vec::<String>::new());
    }
    assert!(town.all_jobs().await.values().all(|jobs| jobs.len() == 1));
}

#[tokio::test]
async fn what_foreign_programs_spoil_harms_no_other_schedule() {
    let redis = Redis::start().await;
    let mut town = Town::on(&redis).await;
    let (lost, strange, newer) = (town.create(every(5.0)).await, town.create(every(5.0)).await, town.create(every(5.0)).await);
    let good = town.create(every(6.0)).await;
    let _: i64 = redis.run(&["DEL", &format!("hero:schedule:{lost}")]).await;
    let _: i64 = redis.run(&["HSET", &format!("hero:schedule:{strange}"), "spec", "{"]).await;
    let spec = r#"{"job":{"script":"1"},"every":5,"of_the_future":1}"#;
    let _: i64 = redis.run(&["HSET", &format!("hero:schedule:{newer}"), "spec", spec]).await;
    let _: i64 = redis.run(&["ZADD", "hero:meta:schedules", "1", "no id"]).await;
    town.pass(7).await;
    assert_eq!(town.all_jobs().await.into_keys().collect::<Vec<_>>(), [good.as_str()]);
    // What cannot be read stays: a newer version may know it.
    let score: Option<f64> = redis.run(&["ZSCORE", "hero:meta:schedules", newer.as_str()]).await;
    assert!(score.is_some());
    let score: Option<f64> = redis.run(&["ZSCORE", "hero:meta:schedules", lost.as_str()]).await;
    assert_eq!(score, None);
    town.dispatcher.schedules().delete(CONTEXT, &strange).await.unwrap();
}

#[tokio::test]
async fn a_context_has_a_bounded_number_of_schedules() {
    let redis = Redis::start().await;
    let town = Town::on(&redis).await;
    for from in (0..10_000).step_by(1000) {
        let members: Vec<String> =
            (from..from + 1000).flat_map(|at| ["9e12".to_owned(), format!("00000000-0000-4000-8000-{at:012}")]).collect();
        let words: Vec<&str> = ["ZADD", "hero:meta:schedules"].into_iter().chain(members.iter().map(String::as_str)).collect();
        let _: i64 = redis.run(&words).await;
    }
    let refused = town.dispatcher.schedules().create(every(5.0)).await.unwrap_err();
    assert!(matches!(&refused, hero::dispatch::Error::Full { what, .. } if what.contains("10000 schedules")), "{refused}");
}

#[tokio::test]
async fn with_skip_an_outage_of_seconds_fires_nothing_and_the_next_occurrence_is_met() {
    let redis = Redis::start().await;
    let mut town = Town::on(&redis).await;
    town.tick().await;
    let skipping = town.create(ScheduleSpec { missed: Missed::Skip, ..every(20.0) }).await;
    let making_up = town.create(every(20.0)).await;
    // The server is gone when the occurrence comes, and another one is there eight seconds later.
    town.scheduler = Scheduler::new(town.store.clone());
    town.pass(28).await;
    let ran = async |town: &Town, id| (town.schedule(id).await.runs, town.schedule(id).await.missed_runs);
    assert_eq!((ran(&town, &skipping).await, ran(&town, &making_up).await), ((0, 1), (1, 0)));
    // The server was there when this one came, however late it is fired.
    town.pass(13).await;
    assert_eq!((ran(&town, &skipping).await, ran(&town, &making_up).await), ((1, 1), (1, 0)));
}
