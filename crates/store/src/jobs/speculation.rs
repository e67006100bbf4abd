use std::time::Duration;

use super::direct_start::{DirectJob, Place, Reservation};
use super::ended::Ended;
use super::speculative_run::SpeculativeRun;
use crate::Claimed;
use hero_model::{JobId, Timestamp};

/// A job whose run takes longer is stored as a started one, and its run goes on.
const MAX_UNSTORED_TIME: Duration = Duration::from_millis(5);

/// The creator's side of a job that runs before it is stored. If the run is short, the job is stored once, with its result.
///
/// The function that stores the job decides as ever whether it may start. If it may not, or if the job is not stored at all, the run is
/// stopped and its result is dropped. Nobody has seen any of it, because a run has no effects before its job is stored.
#[derive(Debug)]
pub(crate) struct Speculation {
    place: Place,
    job: JobId,
    run: SpeculativeRun,
}

impl Speculation {
    /// Hands the job to the pool with the room.
    pub(crate) fn begin(room: Reservation, job: Claimed) -> Self {
        let (run, place) = (SpeculativeRun::default(), room.place().clone());
        place.note_undecided();
        let speculation = Self { place, job: job.job.clone(), run: run.clone() };
        room.fill(Claimed { speculation: Some(run), ..job });
        speculation
    }

    /// Waits until the job is to be stored: its run is over, or waits for that, or takes long.
    pub(crate) async fn is_due(&self) {
        // Too late is due as well.
        let _ = tokio::time::timeout(MAX_UNSTORED_TIME, self.run.ends_or_waits()).await;
    }

    /// Begins to store the job. Returns the result to store with it; without one it is to be stored as a started job.
    pub(crate) fn store(&self) -> Option<Ended> {
        self.run.begin_storing()
    }

    /// The pool and the actor.
    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// Records that the job is stored as a started one. Its run goes on, or its end is recorded as any other.
    pub(crate) fn started(self, at: Timestamp) {
        self.run.set_started(at, |ended| {
            // Before anybody learns of it: the end of the job gives the lease up.
            self.place.note_lease(&self.job, Claimed::FIRST_CLAIM);
            ended.into_iter().for_each(|ended| self.place.send(DirectJob::Ended(ended)));
        });
    }

    /// Records that the job is stored with the result of its run.
    pub(crate) fn finished(self) {
        self.run.set_finished();
    }
}

/// Unless the job is stored as a started one or with its result, the run was in vain.
impl Drop for Speculation {
    fn drop(&mut self) {
        let stop = || self.place.send(DirectJob::Dropped(self.job.clone(), self.run.clone()));
        if self.run.give_up(stop) {
            self.place.distrust();
        }
        self.place.decide();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tokio::sync::mpsc;

    use super::*;
    use crate::jobs::direct_start::DirectStarts;
    use crate::{AttemptEnd, DirectStart};
    use hero_model::{JobSpec, Output, OutputFormat, ScriptType};

    /// A pool that runs jobs before they are stored.
    struct TestPool {
        direct_starts: DirectStarts,
        script_type: ScriptType,
        direct_start: Arc<DirectStart>,
        messages: mpsc::UnboundedReceiver<DirectJob>,
        leases: Leases,
    }

    /// The leases that the pool noted, each as its job and claim.
    type Leases = Arc<Mutex<Vec<(JobId, u32)>>>;

    impl TestPool {
        fn new() -> Self {
            let (direct_starts, leases) = (DirectStarts::default(), Leases::default());
            let (script_type, noted): (ScriptType, _) = ("osis".parse().unwrap(), leases.clone());
            let note: crate::NotedLease = Box::new(move |job, claim| noted.lock().unwrap().push((job.clone(), claim)));
            let (direct_start, messages) = direct_starts.open(&script_type, vec!["osis:default:1".into()], Vec::new(), Some(note));
            direct_start.set_room(8);
            Self { direct_starts, script_type, direct_start, messages, leases }
        }

        /// Begins the run of a new job.
        fn begin(&mut self) -> (Speculation, SpeculativeRun, Ended) {
            let room = self.direct_starts.reserve_to_speculate(&self.script_type).unwrap();
            let (id, at) = (JobId::random(), Timestamp::from_millis(1));
            let speculation = Speculation::begin(room, Claimed::from_start(&id, &JobSpec::default(), 0, at));
            let Ok(DirectJob::Start(Claimed { speculation: Some(run), job, .. })) = self.messages.try_recv() else { panic!("no start") };
            assert!(job == id && !self.direct_start.is_closed());
            let output = Output { text: "42".into(), format: OutputFormat::Json };
            (speculation, run, Ended::of(id, 1, 1, at, AttemptEnd::Finished(output)))
        }
    }

    #[tokio::test]
    async fn a_result_that_comes_before_its_job_is_stored_is_stored_with_it_and_recorded_by_nobody_else() {
        let mut pool = TestPool::new();
        let (speculation, run, ended) = pool.begin();
        assert!(run.hand_over(&ended));
        speculation.is_due().await;
        assert_eq!(speculation.store(), Some(ended.clone()));
        assert_eq!(run.record(ended), None);
        speculation.finished();
        assert!(pool.direct_start.is_closed() && pool.messages.try_recv().is_err() && pool.leases.lock().unwrap().is_empty());
        assert!(pool.direct_starts.reserve_to_speculate(&pool.script_type).is_some());
    }

    #[tokio::test]
    async fn an_end_that_comes_while_its_job_is_stored_is_recorded_once_the_job_has_its_lease() {
        let mut pool = TestPool::new();
        let (speculation, run, ended) = pool.begin();
        assert_eq!(speculation.store(), None);
        assert!(!run.hand_over(&ended), "it is too late for that");
        assert_eq!(run.record(ended.clone()), None);
        speculation.started(Timestamp::from_millis(7));
        assert_eq!(*pool.leases.lock().unwrap(), [(ended.job.clone(), 1)]);
        let Ok(DirectJob::Ended(recorded)) = pool.messages.try_recv() else { panic!("no end") };
        assert_eq!(recorded, Ended { started_at: Timestamp::from_millis(7), ..ended });
        assert!(run.stored().await && pool.direct_start.is_closed());
    }

    #[tokio::test]
    async fn a_run_that_goes_on_when_its_job_is_stored_is_recorded_as_any_other() {
        let mut pool = TestPool::new();
        let (speculation, run, ended) = pool.begin();
        let (waiting, goes_on) = (run.clone(), tokio::spawn(async move { run.stored().await }));
        speculation.is_due().await;
        assert_eq!(speculation.store(), None);
        speculation.started(Timestamp::from_millis(7));
        assert!(goes_on.await.unwrap());
        assert_eq!(waiting.record(ended).unwrap().started_at, Timestamp::from_millis(7));
    }

    #[tokio::test]
    async fn a_run_whose_job_is_not_stored_has_no_effect_and_is_stopped() {
        for stores in [false, true] {
            let mut pool = TestPool::new();
            let (speculation, run, ended) = pool.begin();
            if stores {
                assert_eq!(speculation.store(), None);
            }
            drop(speculation);
            assert!(!run.stored().await && !run.is_stored() && !run.hand_over(&ended));
            let Ok(DirectJob::Dropped(job, dropped)) = pool.messages.try_recv() else { panic!("nobody stops it") };
            assert_eq!((&job, &dropped), (&ended.job, &run));
            assert_eq!(run.record(ended), None);
            assert!(pool.direct_start.is_closed() && pool.leases.lock().unwrap().is_empty());
        }
    }

    #[tokio::test]
    async fn a_pool_whose_run_was_in_vain_runs_nothing_before_it_is_stored_for_a_while() {
        for returns in [false, true] {
            let mut pool = TestPool::new();
            let (speculation, run, ended) = pool.begin();
            assert!(!returns || run.hand_over(&ended));
            drop(speculation);
            assert!(pool.direct_starts.reserve_to_speculate(&pool.script_type).is_none());
            assert!(pool.direct_starts.reserve(&pool.script_type).is_some());
        }
    }
}
