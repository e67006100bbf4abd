use std::sync::Mutex;

use super::*;
use hero_model::Output;
use hero_model::OutputFormat;

/// A pool of one actor that may run three concurrent jobs side by side, and the work that its workers got.
struct TestPool {
    actors: ActorSet,
    workers: Arc<Mutex<Vec<mpsc::Receiver<Work>>>>,
}

impl TestPool {
    fn new() -> Self {
        Self::of(1)
    }

    /// A pool with this number of actors.
    fn of(actors: u32) -> Self {
        let workers: Arc<Mutex<Vec<mpsc::Receiver<Work>>>> = Arc::default();
        let all = workers.clone();
        let start_worker: StartWorker = Box::new(move |_, _| {
            let (work, incoming) = mpsc::channel(1);
            all.lock().unwrap().push(incoming);
            work
        });
        let registration = |instance| Registration { script_type: "sal".parse().unwrap(), group: "default".parse().unwrap(), instance };
        let registrations: Vec<Registration> = (1..=actors).map(registration).collect();
        let mut actors = ActorSet::new(&registrations, start_worker, 3, HeldLeases::default(), Arc::default());
        for actor in 0..registrations.len() {
            actors.handle_report(Report::Ready { actor, worker: 0 }, Timestamp::local());
        }
        Self { actors, workers }
    }

    fn take(&mut self, job: &Claimed) {
        self.actors.add_job(job.clone(), Instant::now());
        self.actors.assign();
    }

    /// Returns the work that a worker was sent and has not read.
    fn work(&self, worker: usize) -> Option<Work> {
        self.workers.lock().unwrap()[worker].try_recv().ok()
    }

    fn done(&mut self, worker: usize, job: &Claimed, end: AttemptEnd) {
        let ended = Ended::of(job.job.clone(), job.attempt, job.claim, job.started_at, end);
        let ran = Duration::from_secs(1);
        self.actors.handle_report(Report::Done { actor: 0, worker, ended: Box::new(ended), ran, ready: true }, Timestamp::local());
    }

    fn ends(&mut self) -> Vec<Ended> {
        std::mem::take(&mut self.actors.ends)
    }
}

fn job(concurrent: bool) -> Claimed {
    Claimed {
        actor_index: 0,
        pinned: false,
        job: JobId::random(),
        attempt: 1,
        claim: 1,
        started_at: Timestamp::local(),
        script: None,
        args: None,
        env_vars: None,
        timeout: Ok(None),
        caller_id: None,
        log_path: None,
        retry_backoff: None,
        failures: 0,
        queued_at: None,
        concurrent,
        speculation: None,
    }
}

fn finished() -> AttemptEnd {
    AttemptEnd::Finished(Output { text: "1".into(), format: OutputFormat::Json })
}

#[test]
fn an_actor_whose_engine_would_have_to_start_is_the_last_choice() {
    let (mut pool, first, second) = (TestPool::of(2), Claimed { actor_index: 1, ..job(false) }, job(false));
    pool.actors.handle_report(Report::EngineIdle { actor: 1, worker: 0 }, Timestamp::local());
    pool.take(&first);
    assert!(pool.work(0).is_some_and(|work| work.job.job == first.job) && pool.work(1).is_none(), "the other one was awake");
    pool.take(&second);
    assert!(pool.work(1).is_some_and(|work| work.job.job == second.job), "there was no other");
}

#[test]
fn an_exclusive_job_is_not_overtaken_when_it_is_requeued() {
    let (mut pool, first, alone, fourth) = (TestPool::new(), job(true), job(false), job(true));
    pool.take(&first);
    pool.take(&alone);
    assert_eq!(pool.actors.room(), 1);
    // A fetch that asked for one more job is under way when the job that must run alone has waited long enough.
    pool.actors.requeue_waiting(true);
    pool.take(&fourth);
    assert!(pool.work(0).is_some_and(|work| work.job.job == first.job) && pool.workers.lock().unwrap().len() == 1, "it overtook");
    assert_eq!(pool.actors.room(), 0);
    pool.done(0, &first, finished());
    assert_eq!(pool.actors.room(), 0, "the fourth has it");
}

#[test]
fn jobs_requeued_together_keep_their_order() {
    let (mut pool, first, alone, fourth) = (TestPool::new(), job(true), job(false), job(true));
    for job in [&first, &alone, &fourth] {
        pool.take(job);
    }
    pool.actors.requeue_waiting(true);
    // Each goes to the front of its queue.
    assert_eq!(pool.ends().into_iter().map(|end| end.job).collect::<Vec<_>>(), [fourth.job, alone.job]);
    assert_eq!(pool.actors.room(), 0);
    pool.done(0, &first, finished());
    assert_eq!(pool.actors.room(), 1);
}

#[test]
fn a_job_of_one_actor_alone_gets_it_to_itself_although_others_could_run_beside_what_runs() {
    let (mut pool, first, own) = (TestPool::new(), job(true), Claimed { pinned: true, ..job(false) });
    pool.take(&first);
    pool.take(&own);
    pool.actors.requeue_waiting(true);
    assert_eq!(pool.actors.room(), 0, "others would keep it waiting for ever");
}

#[test]
fn a_run_whose_lease_was_lost_is_stopped_and_its_end_is_not_recorded_while_the_next_attempt_goes_on() {
    let (mut pool, first) = (TestPool::new(), job(true));
    let second = Claimed { attempt: 2, claim: 2, ..first.clone() };
    pool.take(&first);
    let lost = pool.work(0).unwrap();
    pool.take(&second);
    let next = pool.work(1).unwrap();
    pool.actors.lose(&first.job, |claim| claim == 1);
    assert!(lost.stop.is_cancelled() && !next.stop.is_cancelled());
    let stopped = JobError::new(ErrorKind::Stopped, "stopped_by_request");
    pool.done(0, &first, AttemptEnd::Failed { error: stopped, retry_in: Duration::ZERO });
    assert!(pool.ends().is_empty());
    assert!(!pool.actors.leases().contains(&(first.job.clone(), 1)) && pool.actors.leases().contains(&(first.job.clone(), 2)));
    // A stop request applies to the current attempt.
    pool.actors.stop(&first.job, Instant::now());
    assert!(next.stop.is_cancelled());
    pool.done(1, &second, finished());
    assert_eq!(pool.ends().into_iter().map(|end| end.claim).collect::<Vec<_>>(), [2]);
}

#[test]
fn a_lost_claim_that_has_not_begun_is_dropped() {
    let (mut pool, first, alone) = (TestPool::new(), job(true), job(false));
    pool.take(&first);
    pool.take(&alone);
    pool.actors.lose(&alone.job, |claim| claim == 1);
    assert!(pool.actors.oldest_waiting().is_none() && pool.ends().is_empty());
    assert!(!pool.actors.leases().contains(&(alone.job, 1)));
}

#[test]
fn a_stop_that_comes_before_its_job_is_not_lost() {
    let (mut pool, first) = (TestPool::new(), job(true));
    pool.actors.stop(&first.job, Instant::now());
    pool.take(&first);
    assert!(pool.work(0).is_none());
    let ends = pool.ends();
    assert!(matches!(&ends[..], [Ended { end: AttemptEnd::Failed { error, .. }, .. }] if error.kind == ErrorKind::Stopped));
    // A stop request is dropped when nothing is on its way any more.
    pool.actors.stop(&first.job, Instant::now());
    pool.actors.forget_stops();
    pool.take(&Claimed { claim: 2, ..first });
    assert!(pool.work(0).is_some());
}

#[test]
fn a_stop_of_a_job_that_was_not_here_does_not_end_an_attempt_long_after_it() {
    let (mut pool, soon, late, now) = (TestPool::new(), job(true), job(true), Instant::now());
    pool.actors.stop(&soon.job, now);
    pool.actors.stop(&late.job, now);
    pool.actors.add_job(soon.clone(), now + Duration::from_secs(1));
    assert_eq!(pool.ends().into_iter().map(|end| end.job).collect::<Vec<_>>(), [soon.job]);
    pool.actors.add_job(late.clone(), now + Duration::from_secs(60));
    pool.actors.assign();
    assert!(pool.ends().is_empty() && pool.work(0).is_some_and(|work| work.job.job == late.job));
}

#[test]
fn a_lost_lease_of_an_ended_run_stops_no_other_run() {
    let (mut pool, first) = (TestPool::new(), job(false));
    pool.take(&first);
    let work = pool.work(0).unwrap();
    pool.done(0, &first, AttemptEnd::Crashed);
    // A renewal found the end that a fetch had just recorded, or was about to; meanwhile the job runs again here.
    let again = Claimed { claim: 2, ..first.clone() };
    pool.actors.lose(&first.job, |claim| claim == first.claim);
    assert!(!work.stop.is_cancelled());
    assert_eq!(pool.ends().len(), 1, "the end is recorded all the same");
    pool.take(&again);
    let running = pool.work(0).unwrap();
    pool.actors.lose(&first.job, |claim| claim == first.claim);
    assert!(!running.stop.is_cancelled());
    pool.actors.lose(&again.job, |claim| claim == again.claim);
    assert!(running.stop.is_cancelled(), "a claim that is lost is stopped");
}

#[test]
fn what_a_worker_that_failed_ran_ends_with_its_own_attempt_and_claim() {
    let (mut pool, now) = (TestPool::new(), Timestamp::local());
    pool.take(&Claimed { attempt: 2, claim: 5, ..job(true) });
    pool.take(&Claimed { attempt: 3, claim: 7, ..job(true) });
    pool.actors.handle_report(Report::Failed { actor: 0, worker: 0 }, now);
    pool.actors.requeue_running(now);
    let ends: Vec<(u32, u32, AttemptEnd)> = pool.ends().into_iter().map(|end| (end.attempt, end.claim, end.end)).collect();
    assert_eq!(ends, [(2, 5, AttemptEnd::Crashed), (3, 7, AttemptEnd::Requeued)]);
}

#[test]
fn what_a_job_that_arrives_costs_does_not_grow_with_those_that_wait() {
    let (mut pool, now, begun) = (TestPool::new(), Instant::now(), std::time::Instant::now());
    let many = 150_000;
    for _ in 0..many {
        pool.actors.add_job(job(false), now);
        pool.actors.stop(&JobId::random(), now);
    }
    // A scan of all waiting jobs for each of them would take minutes.
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    pool.actors.requeue_waiting(false);
    assert_eq!(pool.ends().len(), many);
}

#[test]
fn a_job_that_was_claimed_twice_and_waits_is_dropped_claim_by_claim() {
    let (mut pool, running, waits, now) = (TestPool::new(), job(false), job(false), Instant::now());
    pool.take(&running);
    pool.take(&waits);
    let own = Claimed { claim: 2, pinned: true, ..waits.clone() };
    pool.take(&own);
    // Only the later claim counts.
    assert!(!pool.actors.leases().contains(&(waits.job.clone(), 1)) && pool.actors.leases().contains(&(waits.job.clone(), 2)));
    pool.actors.stop(&waits.job, now);
    let ends: Vec<(JobId, u32)> = pool.ends().into_iter().map(|end| (end.job, end.claim)).collect();
    assert_eq!(ends, [(waits.job.clone(), 2)]);
    // No claim of it waits any more, so this stop is for a claim on its way.
    pool.actors.stop(&waits.job, now);
    pool.take(&Claimed { claim: 3, ..waits });
    assert_eq!(pool.ends().into_iter().map(|end| end.claim).collect::<Vec<_>>(), [3]);
}

#[test]
fn a_run_before_its_job_is_stored_neither_takes_nor_gives_up_the_lease_of_another_run_of_it() {
    let (mut pool, run) = (TestPool::of(2), SpeculativeRun::default());
    let early = Claimed { speculation: Some(run.clone()), ..job(false) };
    let stored = Claimed { actor_index: 1, speculation: None, ..early.clone() };
    pool.take(&early);
    assert!(!pool.actors.leases().contains(&(early.job.clone(), 1)));
    // It was queued instead of started, and is fetched before the pool learns that its run was in vain.
    pool.take(&stored);
    let (in_vain, real) = (pool.work(0).unwrap(), pool.work(1).unwrap());
    assert!(in_vain.stop.is_cancelled());
    pool.actors.drop_runs(&early.job, |other| *other == run);
    pool.done(0, &early, finished());
    assert!(!real.stop.is_cancelled() && pool.actors.leases().contains(&(early.job, 1)) && pool.ends().is_empty());
}

#[test]
fn a_run_that_waits_for_a_worker_while_its_job_is_dropped_is_forgotten() {
    let (mut pool, run) = (TestPool::new(), SpeculativeRun::default());
    let (first, early) = (job(false), Claimed { speculation: Some(run.clone()), ..job(false) });
    pool.take(&first);
    pool.take(&early);
    pool.actors.drop_runs(&early.job, |other| *other == run);
    pool.done(0, &first, finished());
    assert!(pool.work(0).is_some_and(|work| work.job.job == first.job) && pool.work(0).is_none());
    assert_eq!(pool.ends().into_iter().map(|end| end.job).collect::<Vec<_>>(), [first.job]);
}

#[test]
fn a_lease_that_was_lost_and_belongs_to_no_run_is_given_up() {
    let (mut pool, id) = (TestPool::new(), JobId::random());
    pool.actors.leases().add(&id, 1);
    pool.actors.lose_claim(&id, 1);
    assert!(!pool.actors.leases().contains(&(id, 1)));
}
