use super::create::digest;
use super::unexpected;
use crate::Error;
use crate::library::fcall::Function;
use crate::value::{Text, json};
use crate::views::Schedules;
use hero_model::{JobSpec, ScheduleId, ScheduleSpec, Timestamp};

const FUNCTION: Function = Function("schedule");

/// The most schedules of a context.
const MAX_SCHEDULES: usize = 10_000;

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
        call.arg(id.as_str()).arg(first.as_millis()).arg(MAX_SCHEDULES).arg(json(spec)).arg(created_at.to_string());
        let [key, of_params] = digests(asked).unwrap_or_default();
        call.arg(key).arg(of_params).arg(self.0.look());
        let answer = self.0.commands.function::<Vec<Text>>(&call).await?;
        match answer.first().and_then(|word| word.0.as_deref()) {
            Some("created") => Ok(Scheduling::Created),
            Some("exists") => Ok(Scheduling::Exists),
            Some("full") => Ok(Scheduling::Full(MAX_SCHEDULES)),
            _ => known(&answer)?.ok_or_else(|| unexpected("schedule", &answer)),
        }
    }
}

/// For a schedule with an idempotency key: the digest under which the key is stored, and a digest of the parameters. A job or a flow may
/// have the same key.
pub(super) fn digests(asked: &ScheduleSpec) -> Option<[String; 2]> {
    let caller = asked.job.caller_id.as_deref().unwrap_or(JobSpec::ANONYMOUS);
    Some([digest(&["schedule", caller, asked.idempotency_key.as_ref()?]), digest(&[&json(asked)])])
}

/// Reads the answer of an idempotency key that belongs to a schedule; `None` for any other answer.
pub(super) fn known(answer: &[Text]) -> Result<Option<Scheduling>, Error> {
    let text = |at: usize| answer.get(at).and_then(|text| text.0.as_deref());
    let id = text(1).and_then(|id| id.parse::<ScheduleId>().ok());
    let occurrence = answer.get(2).and_then(Text::parse).map(|ms: f64| Timestamp::from_millis(ms as i64));
    let known = match (text(0), id, occurrence) {
        (Some("same"), Some(id), Some(occurrence)) => Scheduling::Same(id, occurrence),
        (Some("reused"), Some(id), _) => Scheduling::Reused(id),
        (Some("same" | "reused"), ..) => return Err(unexpected("schedule", &answer)),
        _ => return Ok(None),
    };
    Ok(Some(known))
}
