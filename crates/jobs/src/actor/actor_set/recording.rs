use super::ActorSet;
use crate::actor::handle::Running;
use hero_audit::{self as audit, Execution, Record, Who};
use hero_store::AttemptEnd;

/// Records attempts in the audit log: each that began here has one record, with its actor, its end and its duration.
impl ActorSet {
    /// Records the end of an attempt that an actor ran.
    pub(super) fn record(&self, actor: usize, run: &Running, ended: &AttemptEnd) {
        let (audit, context) = &self.audit;
        audit.note(|| {
            let (outcome, end) = match ended {
                // Another server has the job by now, or its end is recorded already.
                _ if run.lost => (audit::Outcome::Bad, "lost"),
                AttemptEnd::Finished(_) => (audit::Outcome::Ok, "finished"),
                AttemptEnd::Failed { error, .. } | AttemptEnd::Refused(error) => (audit::Outcome::Bad, error.kind.as_str()),
                AttemptEnd::Crashed => (audit::Outcome::Bad, "crashed"),
                AttemptEnd::Requeued => (audit::Outcome::Bad, "given_back"),
            };
            let duration_ms = Some(u64::try_from(run.began.elapsed().as_millis()).unwrap_or(u64::MAX));
            Record {
                context: Some(*context),
                object: Some(format!("job:{}", run.job)),
                caller: run.caller.clone(),
                execution: Some(Execution { attempt: run.attempt, end, duration_ms }),
                ..Record::new(Who::Actor(self.actors[actor].name.clone()), "execute", outcome)
            }
        });
    }
}
