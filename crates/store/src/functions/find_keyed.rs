use super::create::created;
use super::create_flow::{self, known as known_flow};
use super::schedule::{self, known as known_schedule};
use super::{Created, FlowCreated, NewJob, Scheduling};
use crate::library::fcall::Function;
use crate::value::Text;
use crate::views::{Flows, Jobs, Schedules};
use crate::{Error, Inner};
use hero_model::{FlowSpec, JobSpec, ScheduleSpec};

const FUNCTION: Function = Function("find_keyed");

/// Maximum number of keys that one call looks up. Redis does nothing else meanwhile.
const KEYS_PER_CALL: usize = 200;

impl Jobs<'_> {
    /// Returns for each of these jobs what an earlier call with its idempotency key created, as [`create`](Self::create) does. It works
    /// while Redis is full.
    pub async fn find_keyed(self, jobs: &[NewJob]) -> Result<Vec<Option<Created>>, Error> {
        let mut found = Vec::with_capacity(jobs.len());
        for jobs in jobs.chunks(KEYS_PER_CALL) {
            let mut call = self.0.call(&FUNCTION);
            call.arg("job");
            for job in jobs {
                let [key, of_params] = job.digests().unwrap_or_default();
                let caller = job.spec.caller_id.as_deref().unwrap_or_default();
                call.arg(key).arg(of_params).arg(caller).arg(job.spec.idempotency_key.as_deref().unwrap_or_default());
            }
            for answer in self.0.commands.function::<Vec<Vec<Text>>>(&call).await? {
                found.push(if answer.is_empty() { None } else { created(&answer)? });
            }
        }
        Ok(found)
    }
}

impl Flows<'_> {
    /// Returns what an earlier call with the idempotency key of this flow created, as [`create`](Self::create) does. It works while Redis is
    /// full.
    pub async fn find_keyed(self, spec: &FlowSpec) -> Result<Option<FlowCreated>, Error> {
        let caller_id = spec.caller_id.as_deref().unwrap_or(JobSpec::ANONYMOUS);
        let Some(digests) = create_flow::digests(spec, caller_id) else { return Ok(None) };
        known_flow(&one(self.0, "flow", digests).await?)
    }
}

impl Schedules<'_> {
    /// Returns what an earlier call with the idempotency key of this schedule created, as [`schedule`](Self::schedule) does. It works while
    /// Redis is full.
    pub async fn find_keyed(self, asked: &ScheduleSpec) -> Result<Option<Scheduling>, Error> {
        let Some(digests) = schedule::digests(asked) else { return Ok(None) };
        known_schedule(&one(self.0, "schedule", digests).await?)
    }
}

/// Looks up one key.
async fn one(store: &Inner, what: &str, [key, of_params]: [String; 2]) -> Result<Vec<Text>, Error> {
    let mut call = store.call(&FUNCTION);
    call.arg(what).arg(key).arg(of_params);
    Ok(store.commands.function::<Vec<Vec<Text>>>(&call).await?.pop().unwrap_or_default())
}
