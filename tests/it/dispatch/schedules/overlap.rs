//! Occurrences that are due before the previous job has ended.

use hero::model::Overlap;

use super::*;

#[tokio::test]
async fn skip_leaves_occurrences_out_until_the_job_has_ended() {
    let redis = Redis::start().await;
    let mut town = Town::on(&redis).await;
    let id = town.create(every(10.0)).await;
    town.pass(11).await;
    town.pass(10).await;
    town.pass(10).await;
    let jobs = town.jobs(&id).await;
    let schedule = town.schedule(&id).await;
    assert_eq!((jobs.len(), schedule.runs, schedule.skipped_runs, schedule.missed_runs), (1, 1, 2, 0));
    assert_eq!(schedule.next_runs[0], schedule.created_at.plus(Duration::from_secs(40)));
    town.stop(&jobs[0]).await;
    town.pass(10).await;
    assert_eq!(town.jobs(&id).await.len(), 2);
    // A job that is gone has ended, too.
    town.dispatcher.jobs().delete(CONTEXT, &town.jobs(&id).await[1].job_id).await.unwrap();
    town.pass(10).await;
    assert_eq!((town.schedule(&id).await.runs, town.schedule(&id).await.skipped_runs), (3, 2));
}

#[tokio::test]
async fn allow_has_jobs_run_side_by_side() {
    let redis = Redis::start().await;
    let mut town = Town::on(&redis).await;
    let id = town.create(ScheduleSpec { overlap: Overlap::Allow, ..every(10.0) }).await;
    for _ in 0..3 {
        town.pass(10).await;
    }
    town.pass(1).await;
    let jobs = town.jobs(&id).await;
    assert_eq!((jobs.len(), town.schedule(&id).await.skipped_runs), (3, 0));
    assert!(jobs.iter().all(|job| job.status == Status::Dispatched));
}

#[tokio::test]
async fn queue_has_each_job_wait_for_the_one_before() {
    let redis = Redis::start().await;
    let mut town = Town::on(&redis).await;
    let id = town.create(ScheduleSpec { overlap: Overlap::Queue, ..every(10.0) }).await;
    for _ in 0..3 {
        town.pass(10).await;
    }
    town.pass(1).await;
    let status = |jobs: &[Job]| jobs.iter().map(|job| job.status).collect::<Vec<_>>();
    let jobs = town.jobs(&id).await;
    assert_eq!(status(&jobs), [Status::Dispatched, Status::WaitingForPrerequisites, Status::WaitingForPrerequisites]);
    town.stop(&jobs[0]).await;
    crate::support::until("the next in line", || async {
        town.store.jobs().release_relatives(128).await.unwrap();
        (status(&town.jobs(&id).await) == [Status::Error, Status::Dispatched, Status::WaitingForPrerequisites]).then_some(())
    })
    .await;
    // One that is gone is waited for no longer.
    for job in &jobs[1..] {
        town.stop(job).await;
    }
    for job in &jobs {
        town.dispatcher.jobs().delete(CONTEXT, &job.job_id).await.unwrap();
    }
    town.pass(10).await;
    assert_eq!(status(&town.jobs(&id).await), [Status::Dispatched]);
}

#[tokio::test]
async fn a_bounded_number_of_jobs_waits() {
    let redis = Redis::start().await;
    let mut town = Town::on(&redis).await;
    let id = town.create(ScheduleSpec { overlap: Overlap::Queue, missed: Missed::All, missed_limit: Some(1000), ..every(1.0) }).await;
    town.pass(151).await;
    let schedule = town.schedule(&id).await;
    assert_eq!(schedule.runs, 100);
    assert!(schedule.skipped_runs >= 50, "{schedule:?}");
    // An end makes room for one more.
    town.stop(&town.jobs(&id).await[0]).await;
    town.pass(1).await;
    assert_eq!(town.schedule(&id).await.runs, 101);
}

#[tokio::test]
async fn what_a_foreign_program_spoils_of_a_schedule_does_not_stop_it() {
    let redis = Redis::start().await;
    let mut town = Town::on(&redis).await;
    let id = town.create(ScheduleSpec { overlap: Overlap::Queue, missed: Missed::All, missed_limit: Some(1000), ..every(1.0) }).await;
    let _: i64 = redis.run(&["HSET", &format!("hero:schedule:{id}"), "runs", "many"]).await;
    let _: () = redis.run(&["SET", &format!("hero:schedule:{id}:waiting"), "x"]).await;
    town.pass(3).await;
    assert_eq!((town.schedule(&id).await.runs, town.jobs(&id).await.len()), (3, 3));
}

#[tokio::test]
async fn what_a_foreign_program_adds_to_the_jobs_that_wait_is_passed_in_steps() {
    let redis = Redis::start().await;
    let mut town = Town::on(&redis).await;
    let id = town.create(ScheduleSpec { overlap: Overlap::Queue, ..every(10.0) }).await;
    let key = format!("hero:schedule:{id}:waiting");
    let add = "for number = 1, 450 do redis.call('RPUSH', ARGV[1], 'none') end";
    let _: Option<String> = redis.run(&["EVAL", add, "0", &key]).await;
    let length = async || redis.run::<u64>(&["LLEN", &key]).await;
    for left in [250, 50 + 1] {
        town.pass(10).await;
        assert_eq!(length().await, left);
    }
    let schedule = town.schedule(&id).await;
    assert_eq!((schedule.runs, schedule.skipped_runs), (1, 1));
}
