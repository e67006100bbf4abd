use super::unexpected;
use crate::codec::Text;
use crate::fcall::Function;
use crate::{Error, Store};
use hero_model::{Address, ContextId, Name, RunnerId, ScriptType, SignerKey};

const FUNCTION: Function = Function("set_runner");

/// What is to be known of a runner. What is not named stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunnerChange {
    /// The script type of its jobs.
    pub script_type: Option<ScriptType>,
    /// Whether it is a pool of this context.
    pub local: Option<bool>,
    /// What it is called.
    pub topic: Option<Name>,
    /// Where it is.
    pub address: Option<Address>,
    /// The key with which results of its jobs are signed.
    pub pubkey: Option<SignerKey>,
    /// The context at the other side.
    pub target_context: Option<ContextId>,
    /// What it is for.
    pub name: Option<String>,
}

/// What came of a runner that was to be made or changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunnerStored {
    /// It has this number.
    Stored(RunnerId),
    /// There is none with that number. Nothing was done.
    Missing,
    /// It would be elsewhere, but nobody said where. Nothing was done.
    Nowhere,
    /// Another one has the topic, or may get it: this one. Nothing was done.
    Taken(RunnerId),
    /// There are as many as may be. Nothing was done.
    Full,
    /// There is no number left for it. Nothing was done.
    NoNumber,
}

impl RunnerChange {
    fn fields(&self) -> impl Iterator<Item = (&'static str, String)> {
        [
            ("type", self.script_type.as_ref().map(ToString::to_string)),
            ("local", self.local.map(|local| local.to_string())),
            ("topic", self.topic.as_ref().map(ToString::to_string)),
            ("address", self.address.as_ref().map(ToString::to_string)),
            ("pubkey", self.pubkey.as_ref().map(ToString::to_string)),
            ("target_context", self.target_context.map(|context| context.to_string())),
            ("name", self.name.clone()),
        ]
        .into_iter()
        .filter_map(|(field, value)| Some((field, value?)))
    }
}

impl Store {
    /// Makes a runner, or changes the one that has this number.
    pub async fn set_runner(&self, id: Option<RunnerId>, change: &RunnerChange) -> Result<RunnerStored, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(id.map_or(0, |id| id.0));
        for (field, value) in change.fields() {
            call.arg(field).arg(value);
        }
        let answer = self.numbered(&call).await?;
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
