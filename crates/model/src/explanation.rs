use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Attempt, JobId, Progress, Status, Timestamp};

/// Why a job is not running, as a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Nobody has started it.
    NotStarted,
    /// It is to run later.
    DueLater,
    /// An attempt failed, and the next one is due later.
    WaitingForRetry,
    /// Other jobs must finish first.
    WaitingForPrerequisites,
    /// The script of its parent must return first.
    WaitingForParent,
    /// Its predecessor and all its descendants must end first.
    WaitingForPredecessor,
    /// Its queue is paused.
    Paused,
    /// Its context, or its runner, waits for its turn to have actors.
    WaitingForTurn,
    /// No live actor takes from its queue.
    NoLiveActor,
    /// The actors that take from its queue take no more jobs, because they or their servers are ending.
    Draining,
    /// Its context runs its maximum number of jobs.
    AtConcurrencyCap,
    /// The actors that take from its queue have other jobs.
    AllActorsBusy,
    /// Its queue has actors, but nothing runs in its context: an actor is about to take the job, or all have just
    /// ended.
    WaitingForActor,
    /// It is in no queue: an actor may just have taken it.
    InNoQueue,
    /// It runs.
    Running,
    /// It has ended.
    Ended,
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(f)
    }
}

/// A job that another one waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitsFor {
    /// That job.
    pub job_id: JobId,
    /// Its status.
    pub status: Status,
}

/// Why a job has not ended, or how it ended, with the known facts. They are read one after another, so they are not of
/// one moment.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// The job.
    pub job_id: JobId,
    /// Its status.
    pub status: Status,
    /// Why it is not running, as a word.
    pub reason: Reason,
    /// The reason as a sentence.
    pub message: String,
    /// The jobs it waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting_for: Vec<WaitsFor>,
    /// When it is due.
    pub due_at: Option<Timestamp>,
    /// The Redis key of its queue.
    pub queue: Option<String>,
    /// How many jobs wait in that queue.
    pub depth: Option<u64>,
    /// Its position in that queue; 1 is taken next. Absent far back, and where callers take turns.
    pub position: Option<u64>,
    /// How many live actors take from that queue, without those whose server drains.
    pub actors: Option<u32>,
    /// How many jobs run in its context, without those of runners elsewhere.
    pub running: Option<u64>,
    /// How many jobs may run in its context.
    pub max_running: Option<u64>,
    /// The progress that its script reports.
    pub progress: Option<Progress>,
    /// Its attempts, including the one that runs or ran last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<Attempt>,
}

impl Explanation {
    /// Creates an explanation without details.
    pub fn new(job_id: JobId, status: Status, reason: Reason, message: impl Into<String>) -> Self {
        Self {
            job_id,
            status,
            reason,
            message: message.into(),
            waiting_for: Vec::new(),
            due_at: None,
            queue: None,
            depth: None,
            position: None,
            actors: None,
            running: None,
            max_running: None,
            progress: None,
            attempts: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_one_word_everywhere() {
        assert_eq!(Reason::AtConcurrencyCap.to_string(), "at_concurrency_cap");
        assert_eq!(serde_json::to_value(Reason::NoLiveActor).unwrap(), "no_live_actor");
    }
}
