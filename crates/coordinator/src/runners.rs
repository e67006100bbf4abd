use std::collections::BTreeSet;

use super::Error;
use super::known_nodes::KnownNodes;
use hero_jobs::dispatch::{self, Dispatcher, OpenContext};
use hero_model::{ContextId, Name, Runner, RunnerChange, RunnerId, RunnerPage, ScriptType};
use hero_store::{RunnerStored, Score};

/// Maximum length of the name of a runner, in bytes.
const MAX_NAME_BYTES: usize = 256;

/// The runners of all contexts of this server. Cheap to clone.
#[derive(Clone)]
pub struct Runners {
    dispatcher: Dispatcher,
    /// The nodes that are known here.
    known: Option<KnownNodes>,
}

impl Runners {
    /// Creates an interface to the runners of a dispatcher's contexts.
    pub const fn new(dispatcher: Dispatcher) -> Self {
        Self { dispatcher, known: None }
    }

    /// Refuses addresses of unknown nodes at once.
    #[must_use]
    pub fn with_known_nodes(self, known: KnownNodes) -> Self {
        Self { known: Some(known), ..self }
    }

    async fn store(&self, context: ContextId) -> Result<OpenContext, Error> {
        Ok(self.dispatcher.contexts().store(context).await?)
    }

    /// Creates a runner.
    pub async fn create(&self, context: ContextId, change: &RunnerChange) -> Result<Runner, Error> {
        self.set(context, None, change).await
    }

    /// Changes the given fields of a runner.
    pub async fn update(&self, context: ContextId, id: RunnerId, change: &RunnerChange) -> Result<Runner, Error> {
        self.set(context, Some(id), change).await
    }

    async fn set(&self, context: ContextId, id: Option<RunnerId>, change: &RunnerChange) -> Result<Runner, Error> {
        if let Some(name) = change.name.as_ref().filter(|name| name.len() > MAX_NAME_BYTES) {
            return Err(Error::Invalid { param: "name", message: format!("has {} bytes, the limit is {MAX_NAME_BYTES}", name.len()) });
        }
        if let (Some(known), Some(address)) = (&self.known, &change.address) {
            known.check(address)?;
        }
        self.check_script_type(context, id, change).await?;
        let missing = |id| Error::NoRunner { id, context };
        match (self.store(context).await?.runners().set(id, change).await?, id) {
            (RunnerStored::Stored(id), _) => self.get(context, id).await,
            (RunnerStored::Missing, Some(id)) => Err(missing(id)),
            (RunnerStored::Nowhere, _) => {
                let message = "a runner that is not local needs one, where it is; or say that it is local".to_owned();
                Err(Error::Invalid { param: "address", message })
            }
            (RunnerStored::Taken(other), _) => {
                let message = match self.store(context).await?.runners().get(other).await? {
                    Some(_) => format!(
                        "is that of runner {other} of context {context}, and leads there; choose another, or change that runner first"
                    ),
                    None => format!("is kept for the runner with the number {other}; choose another"),
                };
                Err(Error::Invalid { param: "topic", message })
            }
            (RunnerStored::NoNumber, _) => Err(Error::Full(format!("context {context} has no free runner numbers"))),
            (RunnerStored::Full | RunnerStored::Missing, _) => Err(Error::Full(format!("context {context} already has 10,000 runners"))),
        }
    }

    /// Refuses a local runner with an unknown script type. Another node knows its own types, and a runner of type
    /// `rust` is a program that may start at any time.
    async fn check_script_type(&self, context: ContextId, id: Option<RunnerId>, change: &RunnerChange) -> Result<(), Error> {
        let before = match id {
            Some(id) if change.local.is_some() || change.script_type.is_some() => Some(self.get(context, id).await?),
            _ => None,
        };
        let is_local = change.local.or(before.as_ref().map(|before| before.local)).unwrap_or(true);
        match change.script_type.as_ref().or(before.as_ref().map(|before| &before.script_type)) {
            Some(script_type) if is_local && script_type.as_str() != ScriptType::RUST => {
                Ok(self.dispatcher.jobs().check_script_type(context, script_type).await?)
            }
            _ => Ok(()),
        }
    }

    /// Returns a runner.
    pub async fn get(&self, context: ContextId, id: RunnerId) -> Result<Runner, Error> {
        self.store(context).await?.runners().get(id).await?.ok_or(Error::NoRunner { id, context })
    }

    /// Returns the runner with this topic, if there is one.
    pub async fn of_topic(&self, context: ContextId, topic: &Name) -> Result<Option<Runner>, Error> {
        Ok(self.store(context).await?.runners().with_topic(topic).await?)
    }

    /// Returns the contexts of this server to which runners of the script type of this name send jobs.
    pub async fn targets_of_type(&self, context: ContextId, topic: &Name) -> Result<BTreeSet<ContextId>, Error> {
        Ok(self.store(context).await?.runners().targets_of_type(topic).await?)
    }

    /// Returns a page of runners, in the order of their numbers. It may be short, or empty, before the last one.
    pub async fn list(&self, context: ContextId, cursor: Option<&str>, limit: usize) -> Result<RunnerPage, Error> {
        let store = self.store(context).await?;
        let after = cursor.map_or(Ok(Score::from(0)), |cursor| cursor.parse().map_err(|()| dispatch::Error::bad_page_cursor()))?;
        let (runners, next) = store.runners().list(after, limit).await?;
        let next_cursor = next.map(|score| score.to_string());
        Ok(RunnerPage { runners, next_cursor })
    }

    /// Deletes a runner. Its jobs stay in their queue, for another runner of that group.
    pub async fn delete(&self, context: ContextId, id: RunnerId) -> Result<(), Error> {
        if self.store(context).await?.runners().delete(id).await? { Ok(()) } else { Err(Error::NoRunner { id, context }) }
    }
}
