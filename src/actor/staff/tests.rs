use std::sync::Mutex;

use super::*;
use crate::model::Output;
use crate::model::OutputFormat;

/// A staff of one actor that may run three concurrent jobs side by side, and the work it hands to its workers.
struct Shift {
    staff: Staff,
    workers: Arc<Mutex<Vec<mpsc::Receiver<Work>>>>,
}

impl Shift {
    fn new() -> Self {
        let workers: Arc<Mutex<Vec<mpsc::Receiver<Work>>>> = Arc::default();
        let all = workers.clone();
        let start_worker: StartWorker = Box::new(move |_, _| {
            let (work, incoming) = mpsc::channel(1);
            all.lock().unwrap().push(incoming);
            work
        });
        let post = Post { script_type: "sal".parse().unwrap(), group: "default".parse().unwrap(), instance: 1 };
        let mut staff = Staff::new(&[post], start_worker, 3, Holdings::default(), Arc::default());
        staff.note(Report::Ready { actor: 0, worker: 0 }, Timestamp::local());
        Self { staff, workers }
    }

    fn take(&mut self, job: &Claimed) {
        self.staff.take_in(job.clone(), Instant::now());
        self.staff.hand_out();
    }

    /// The work that a worker was handed and has not read.
    fn work(&self, worker: usize) -> Option<Work> {
        self.workers.lock().unwrap()[worker].try_recv().ok()
    }

    fn done(&mut self, worker: usize, job: &Claimed, outcome: Outcome) {
        let ended = Ended { outcome, ..Ended::released(job.job.clone(), job.claim, job.started_at) };
        let ran = Duration::from_secs(1);
        self.staff.note(Report::Done { actor: 0, worker, ended, ran, ready: true }, Timestamp::local());
    }

    fn ends(&mut self) -> Vec<Ended> {
        std::mem::take(&mut self.staff.ends)
    }
}

fn job(concurrent: bool) -> Claimed {
    Claimed {
        slot: 0,
        owned: false,
        job: JobId::random(),
        attempt: 1,
        claim: 1,
        started_at: Timestamp::local(),
        script: None,
        args: None,
        env_vars: None,
        timeout: None,
        caller_id: None,
        log_path: None,
        retry_backoff: None,
        failures: 0,
        queued_at: None,
        concurrent,
    }
}

fn finished() -> Outcome {
    Outcome::Finished(Output { text: "1".into(), format: OutputFormat::Json })
}

#[test]
fn what_must_run_alone_is_not_overtaken_by_what_was_on_its_way_when_it_was_given_back() {
    let (mut shift, first, alone, fourth) = (Shift::new(), job(true), job(false), job(true));
    shift.take(&first);
    shift.take(&alone);
    assert_eq!(shift.staff.room(), 1);
    // A turn is under way that asked for one more, when the one that must run alone has waited long enough.
    shift.staff.give_back_what_waits(true);
    shift.take(&fourth);
    assert!(shift.work(0).is_some_and(|work| work.job.job == first.job) && shift.workers.lock().unwrap().len() == 1, "it overtook");
    assert_eq!(shift.staff.room(), 0);
    shift.done(0, &first, finished());
    assert_eq!(shift.staff.room(), 0, "the fourth has it");
}

#[test]
fn jobs_that_are_given_back_together_come_back_in_the_order_in_which_they_were_taken() {
    let (mut shift, first, alone, fourth) = (Shift::new(), job(true), job(false), job(true));
    for job in [&first, &alone, &fourth] {
        shift.take(job);
    }
    shift.staff.give_back_what_waits(true);
    // Each goes to the front of its queue.
    assert_eq!(shift.ends().into_iter().map(|end| end.job).collect::<Vec<_>>(), [fourth.job, alone.job]);
    assert_eq!(shift.staff.room(), 0);
    shift.done(0, &first, finished());
    assert_eq!(shift.staff.room(), 1);
}

#[test]
fn a_job_of_one_actor_alone_gets_it_to_itself_although_others_could_run_beside_what_runs() {
    let (mut shift, first, own) = (Shift::new(), job(true), Claimed { owned: true, ..job(false) });
    shift.take(&first);
    shift.take(&own);
    shift.staff.give_back_what_waits(true);
    assert_eq!(shift.staff.room(), 0, "others would keep it waiting for ever");
}

#[test]
fn a_run_whose_lease_was_lost_is_stopped_and_its_end_is_not_recorded_while_the_next_attempt_goes_on() {
    let (mut shift, first) = (Shift::new(), job(true));
    let second = Claimed { attempt: 2, claim: 2, ..first.clone() };
    shift.take(&first);
    let lost = shift.work(0).unwrap();
    shift.take(&second);
    let held = shift.work(1).unwrap();
    shift.staff.lose(&first.job, |claim| claim == 1);
    assert!(lost.stop.is_cancelled() && !held.stop.is_cancelled());
    let stopped = JobError::new(ErrorKind::Stopped, "stopped_by_request");
    shift.done(0, &first, Outcome::Failed { error: stopped, retry_in: Duration::ZERO });
    assert!(shift.ends().is_empty());
    assert!(!shift.staff.holdings().contains(&(first.job.clone(), 1)) && shift.staff.holdings().contains(&(first.job.clone(), 2)));
    // Somebody who wants the job stopped means the attempt that counts.
    shift.staff.stop(&first.job, Instant::now());
    assert!(held.stop.is_cancelled());
    shift.done(1, &second, finished());
    assert_eq!(shift.ends().into_iter().map(|end| end.claim).collect::<Vec<_>>(), [2]);
}

#[test]
fn a_lost_claim_that_has_not_begun_is_dropped() {
    let (mut shift, first, alone) = (Shift::new(), job(true), job(false));
    shift.take(&first);
    shift.take(&alone);
    shift.staff.lose(&alone.job, |claim| claim == 1);
    assert!(shift.staff.oldest_waiting().is_none() && shift.ends().is_empty());
    assert!(!shift.staff.holdings().contains(&(alone.job, 1)));
}

#[test]
fn a_stop_that_comes_before_its_job_is_not_lost() {
    let (mut shift, first) = (Shift::new(), job(true));
    shift.staff.stop(&first.job, Instant::now());
    shift.take(&first);
    assert!(shift.work(0).is_none());
    let ends = shift.ends();
    assert!(matches!(&ends[..], [Ended { outcome: Outcome::Failed { error, .. }, .. }] if error.kind == ErrorKind::Stopped));
    // When nothing is on its way any more, it is not kept.
    shift.staff.stop(&first.job, Instant::now());
    shift.staff.expect_nothing();
    shift.take(&Claimed { claim: 2, ..first });
    assert!(shift.work(0).is_some());
}

#[test]
fn a_stop_of_a_job_that_was_not_here_does_not_end_an_attempt_long_after_it() {
    let (mut shift, soon, late, now) = (Shift::new(), job(true), job(true), Instant::now());
    shift.staff.stop(&soon.job, now);
    shift.staff.stop(&late.job, now);
    shift.staff.take_in(soon.clone(), now + Duration::from_secs(1));
    assert_eq!(shift.ends().into_iter().map(|end| end.job).collect::<Vec<_>>(), [soon.job]);
    shift.staff.take_in(late.clone(), now + Duration::from_secs(60));
    shift.staff.hand_out();
    assert!(shift.ends().is_empty() && shift.work(0).is_some_and(|work| work.job.job == late.job));
}

#[test]
fn what_is_said_to_be_lost_of_a_run_that_has_ended_stops_nobody() {
    let (mut shift, first) = (Shift::new(), job(false));
    shift.take(&first);
    let work = shift.work(0).unwrap();
    shift.done(0, &first, Outcome::Crashed);
    // A renewal found the end that a turn had just recorded, or was about to; meanwhile the job runs again here.
    let again = Claimed { claim: 2, ..first.clone() };
    shift.staff.lose(&first.job, |claim| claim == first.claim);
    assert!(!work.stop.is_cancelled());
    assert_eq!(shift.ends().len(), 1, "the end is recorded all the same");
    shift.take(&again);
    let running = shift.work(0).unwrap();
    shift.staff.lose(&first.job, |claim| claim == first.claim);
    assert!(!running.stop.is_cancelled());
    shift.staff.lose(&again.job, |claim| claim == again.claim);
    assert!(running.stop.is_cancelled(), "a claim that is lost is stopped");
}
