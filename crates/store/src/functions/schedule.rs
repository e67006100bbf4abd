use super::create::digest;
use super::unexpected;
use crate::Error;
use crate::codec::json;
use crate::fcall::Function;
use crate::views::Schedules;
use hero_model::{JobSpec, ScheduleId, ScheduleSpec, Timestamp};

const FUNCTION: Function = Function("schedule");

/// The most schedules of a context.
const MOST: usize = 10_000;

/// The result of storing a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scheduling {
    /// It is stored.
    Created,
    /// Another schedule has its id.
    Exists,
    /// The limit of schedules of the context, which is this, is reached.
    Full(usize),
    /// The idempotency key belongs to this schedule, which was created with the same parameters and waits for this occurrence.
    Same(ScheduleId, Timestamp),
    /// The idempotency key belongs to this schedule, which was created with other parameters.
    Reused(ScheduleId),
}

impl Schedules<'_> {
    /// Stores a schedule with its first occurrence, unless its idempotency key belongs to one. `asked` has the parameters of its creator,
    /// without later additions.
    pub async fn schedule(
        self,
        id: &ScheduleId,
        (asked, spec): (&ScheduleSpec, &ScheduleSpec),
        created_at: Timestamp,
        first: Timestamp,
    ) -> Result<Scheduling, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(id.as_str()).arg(first.as_millis()).arg(MOST).arg(json(spec)).arg(created_at.to_string());
        let caller = asked.job.caller_id.as_deref().unwrap_or(JobSpec::ANONYMOUS);
        match &asked.idempotency_key {
            // A job or a flow may have the same key.
            Some(key) => call.arg(digest(&["schedule", caller, key])).arg(digest(&[&json(asked)])),
            None => call.arg("").arg(""),
        };
        call.arg(self.0.look());
        let answer = self.0.commands.function::<Vec<String>>(&call).await?;
        let known = |id: &String| id.parse::<ScheduleId>().ok();
        match answer.as_slice() {
            [word] if word == "created" => Ok(Scheduling::Created),
            [word] if word == "exists" => Ok(Scheduling::Exists),
            [word] if word == "full" => Ok(Scheduling::Full(MOST)),
            [word, id] if word == "reused" => known(id).map(Scheduling::Reused).ok_or_else(|| unexpected("schedule", &answer)),
            [word, id, occurrence] if word == "same" => {
                let occurrence = occurrence.parse().ok().map(|ms: f64| Timestamp::from_millis(ms as i64));
                known(id).zip(occurrence).map(|(id, at)| Scheduling::Same(id, at)).ok_or_else(|| unexpected("schedule", &answer))
            }
            _ => Err(unexpected("schedule", &answer)),
        }
    }
}
