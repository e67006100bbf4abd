use redis::Pipeline;

use crate::Error;
use crate::contexts::{DATABASES_PER_PIPELINE, Databases, answered, in_database};
use crate::library::fcall::{Function, list};
use crate::value::Text;
use hero_model::{ContextId, Timestamp};

const FUNCTION: Function = Function("pending");

/// The pending work of a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pending {
    /// The time at which something is due; nothing if nothing is.
    pub due: Option<Timestamp>,
    /// Whether the given queues hold jobs.
    pub work: bool,
    /// The number of its keys.
    pub keys: u64,
    /// The time from which the context must be open for messages that are under way; nothing if none are. For them it
    /// needs no pools.
    pub messages: Option<Timestamp>,
}

impl Databases {
    /// Returns the pending work of each of these contexts, as far as Redis has such databases. `queues` are keys of queues in each of them.
    /// A context that cannot be read has an error.
    pub async fn pending(&self, ids: &[ContextId], queues: &[String]) -> Result<Vec<(ContextId, Result<Pending, Error>)>, Error> {
        let mut pending = Vec::with_capacity(ids.len());
        for part in ids.chunks(DATABASES_PER_PIPELINE) {
            let mut pipeline = Pipeline::new();
            for id in part {
                self.choose(&mut pipeline, *id);
                let mut call = self.of.0.call_of(&FUNCTION, *id);
                call.arg(list(queues));
                pipeline.add_command(self.link.function_command(call));
            }
            let answers = self.asked(&mut pipeline).await?;
            for (id, answers) in part.iter().zip(answers.chunks(2)) {
                let of_context = || -> Result<Pending, Error> {
                    let (due, work, keys, messages): (Text, u8, u64, Text) = answered(&answers[1])?;
                    let time = |text: Text| text.parse().map(Timestamp::from_millis);
                    Ok(Pending { due: time(due), work: work == 1, keys, messages: time(messages) })
                };
                pending.extend(in_database(&answers[0], of_context).map(|pending| (*id, pending)));
            }
        }
        Ok(pending)
    }
}
