use super::unexpected;
use crate::Error;
use crate::library::fcall::Function;
use crate::value::Text;
use crate::views::{Messages, Runners};
use hero_model::{RunnerChange, RunnerId};

const FUNCTION: Function = Function("set_runner");

/// The result of creating or changing a runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunnerStored {
    /// It has this number.
    Stored(RunnerId),
    /// No runner has this number. Nothing was done.
    Missing,
    /// It would be a remote runner without an address. Nothing was done.
    Nowhere,
    /// Another runner has the topic, or may get it: this one. Nothing was done.
    Taken(RunnerId),
    /// The limit of runners is reached. Nothing was done.
    Full,
    /// There is no number left for it. Nothing was done.
    NoNumber,
}

/// Returns the given fields, by their names in Redis.
fn fields(change: &RunnerChange) -> impl Iterator<Item = (&'static str, String)> {
    [
        ("type", change.script_type.as_ref().map(ToString::to_string)),
        ("local", change.local.map(|local| local.to_string())),
        ("topic", change.topic.as_ref().map(ToString::to_string)),
        ("address", change.address.as_ref().map(ToString::to_string)),
        ("pubkey", change.pubkey.as_ref().map(ToString::to_string)),
        ("target_context", change.target_context.map(|context| context.to_string())),
        ("name", change.name.clone()),
    ]
    .into_iter()
    .filter_map(|(field, value)| Some((field, value?)))
}

impl Runners<'_> {
    /// Creates a runner, or changes the one with this number.
    pub async fn set(self, id: Option<RunnerId>, change: &RunnerChange) -> Result<RunnerStored, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(id.map_or(0, |id| id.0));
        for (field, value) in fields(change) {
            call.arg(field).arg(value);
        }
        let answer = Messages(self.0).numbered(&call).await?;
        match (answer.first().and_then(|word| word.0.as_deref()), answer.get(1).and_then(Text::parse)) {
            (Some("stored"), Some(id)) => Ok(RunnerStored::Stored(id)),
            (Some("missing"), _) => Ok(RunnerStored::Missing),
            (Some("nowhere"), _) => Ok(RunnerStored::Nowhere),
            (Some("taken"), Some(id)) => Ok(RunnerStored::Taken(id)),
            (Some("full"), _) => Ok(RunnerStored::Full),
            (Some("none" | "later"), _) => Ok(RunnerStored::NoNumber),
            _ => Err(unexpected("set_runner", &answer)),
        }
    }
}
