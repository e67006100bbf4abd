use std::sync::Arc;

use tokio::sync::watch;

use super::ended::{AttemptEnd, Ended};
use hero_model::Timestamp;

/// A longer output is recorded by a fetch, so that those of one call are no load for Redis.
const MAX_OUTPUT_BYTES: usize = 8 * 1024;

/// The runner's side of a job that runs before it is stored.
#[derive(Debug, Clone)]
pub struct SpeculativeRun(Arc<watch::Sender<State>>);

#[derive(Debug)]
struct State {
    phase: Phase,
    /// The end, while it waits for the creator.
    ended: Option<Ended>,
    /// Whether the run waits until the job is stored.
    wanted: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Unstored,
    /// The run is over, and its result is stored together with the job.
    Returned,
    /// The job is being stored as a started one.
    Storing,
    /// It is stored, and started at this time.
    Stored(Timestamp),
    /// It is stored with its result.
    Finished,
    /// The run was in vain.
    Dropped,
}

/// A run of a job that is not stored.
impl Default for SpeculativeRun {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(State { phase: Phase::Unstored, ended: None, wanted: false })))
    }
}

/// For its creator.
impl SpeculativeRun {
    /// Waits until the run is over, or waits for its job to be stored.
    pub(super) async fn ends_or_waits(&self) {
        // The sender is here.
        let _ = self.0.subscribe().wait_for(|state| state.ended.is_some() || state.wanted).await;
    }

    /// Records that its job is being stored. Returns its result, if it is stored with the job.
    pub(super) fn begin_storing(&self) -> Option<Ended> {
        let mut result = None;
        self.0.send_if_modified(|state| {
            match state.phase {
                Phase::Returned => result = state.ended.take(),
                _ => state.phase = Phase::Storing,
            }
            false
        });
        result
    }

    /// Records that its job is stored as a started one. Calls `first` before anybody learns of it, with an end to be recorded.
    pub(super) fn set_started(&self, at: Timestamp, first: impl FnOnce(Option<Ended>)) {
        self.0.send_modify(|state| {
            state.phase = Phase::Stored(at);
            first(state.ended.take().map(|ended| Ended { started_at: at, ..ended }));
        });
    }

    /// Records that its job is stored with its result.
    pub(super) fn set_finished(&self) {
        self.0.send_modify(|state| state.phase = Phase::Finished);
    }

    /// Records that its job is not stored, unless that has been decided. Returns whether the run was in vain. Calls `stop` if it may still
    /// go on.
    pub(super) fn give_up(&self, stop: impl FnOnce()) -> bool {
        self.0.send_if_modified(|state| {
            match state.phase {
                Phase::Stored(_) | Phase::Finished | Phase::Dropped => return false,
                Phase::Unstored | Phase::Storing => stop(),
                // The pool has seen its end.
                Phase::Returned => {}
            }
            state.phase = Phase::Dropped;
            true
        })
    }
}

/// For those who run it.
impl SpeculativeRun {
    /// Hands over the result of a run that is over, to be stored together with its job. Returns false if the result is to be
    /// [recorded](Self::record) as any other.
    pub fn hand_over(&self, ended: &Ended) -> bool {
        let is_short = matches!(&ended.end, AttemptEnd::Finished(output) if output.text.len() <= MAX_OUTPUT_BYTES);
        self.0.send_if_modified(|state| {
            let is_taken = is_short && !ended.logged && state.phase == Phase::Unstored;
            if is_taken {
                (state.phase, state.ended) = (Phase::Returned, Some(ended.clone()));
            }
            is_taken
        })
    }

    /// Returns the end of a run if it is to be recorded now. If its job is still being stored, the pool gets it later
    /// ([`DirectJob::Ended`](crate::DirectJob::Ended)); if it is not stored as a started one, nobody records the end.
    pub fn record(&self, ended: Ended) -> Option<Ended> {
        let mut to_record = None;
        self.0.send_if_modified(|state| match state.phase {
            Phase::Unstored | Phase::Storing => {
                state.ended = Some(ended);
                true
            }
            Phase::Stored(at) => {
                to_record = Some(Ended { started_at: at, ..ended });
                false
            }
            Phase::Returned | Phase::Finished | Phase::Dropped => false,
        });
        to_record
    }

    /// Whether its job is stored as a started one, so that the run has a lease.
    pub fn is_stored(&self) -> bool {
        matches!(self.0.borrow().phase, Phase::Stored(_))
    }

    /// Whether nobody needs the run any more: its result is with its creator, or it was in vain.
    pub fn is_over(&self) -> bool {
        matches!(self.0.borrow().phase, Phase::Returned | Phase::Finished | Phase::Dropped)
    }

    /// Whether something in the run waits until the job is stored.
    pub fn waits(&self) -> bool {
        let state = self.0.borrow();
        state.wanted && matches!(state.phase, Phase::Unstored | Phase::Storing)
    }

    /// Has the job stored, and waits for it. Returns false if it is not stored as a started one, so that the run may have no effect.
    pub async fn stored(&self) -> bool {
        self.0.send_if_modified(|state| !std::mem::replace(&mut state.wanted, true));
        let mut changes = self.0.subscribe();
        let decided = changes.wait_for(|state| !matches!(state.phase, Phase::Unstored | Phase::Storing)).await;
        decided.is_ok_and(|state| matches!(state.phase, Phase::Stored(_)))
    }
}

/// Two handles are equal if they are of the same run.
impl PartialEq for SpeculativeRun {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Waits until the job of an attempt is stored, if the attempt began before that. Returns false if it is not stored as a started job: then
/// the attempt may have no effect.
pub async fn may_have_effects(speculation: Option<&SpeculativeRun>) -> bool {
    match speculation {
        Some(run) => run.stored().await,
        None => true,
    }
}
