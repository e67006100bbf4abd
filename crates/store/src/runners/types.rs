//! The runners of each script type. A message with a type as its topic goes to one of its runners, and they take turns.
//!
//! The list is cached until a revision shows that a runner has changed, so a message costs as much with ten thousand runners as with one.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use redis::Pipeline;
use tokio::sync::{Mutex, MutexGuard};

use crate::Error;
use crate::runners::runner;
use crate::value::{Fields, Text};
use crate::views::Runners;
use hero_model::{AddressTarget, ContextId, Name, Runner, RunnerId, ScriptType};

/// The list is read again after this time, because another program may have changed a runner without raising the revision.
const REREAD_INTERVAL: Duration = Duration::from_secs(60);
/// The list is read again after this time while the revision is spoilt, because it would not show a change.
const SPOILT_REREAD_INTERVAL: Duration = Duration::from_secs(1);
/// The most runners that are read: as many as `set_runner.lua` creates. And (below) the most in one pipeline.
const MOST_RUNNERS: usize = 10_000;
const RUNNERS_PER_PIPELINE: usize = 1000;
/// The number of runners that are tried, in case they changed meanwhile, before all are read again.
const MOST_TRIED: usize = 8;
/// The fields that are read of each runner.
const FIELDS: [&str; 5] = ["id", "type", "local", "address", "target_context"];

/// The cached runners of all types.
#[derive(Default)]
pub(crate) struct RunnerTypes(Mutex<CachedTypes>);

#[derive(Default)]
struct CachedTypes {
    /// The revision of the cache, and the time when it was read.
    read: Option<(Option<u64>, Instant)>,
    of_types: HashMap<ScriptType, OfType>,
}

/// The runners of one type.
#[derive(Default)]
struct OfType {
    /// Their numbers, in order.
    ids: Vec<RunnerId>,
    /// The contexts of this server in which some of them run their jobs.
    targets: BTreeSet<ContextId>,
    /// The number of turns taken so far.
    turns: usize,
}

impl OfType {
    /// Returns the runner whose turn it is, and those after it.
    fn take_turn(&mut self) -> Vec<RunnerId> {
        let at = self.turns % self.ids.len().max(1);
        self.turns = at + 1;
        self.ids[at..].iter().chain(&self.ids[..at]).take(MOST_TRIED).copied().collect()
    }
}

impl<'a> Runners<'a> {
    /// Returns the runner for a topic: the runner with this topic of its own, else the next in turn of all runners whose script type has
    /// this name.
    pub async fn for_topic(self, topic: &Name) -> Result<Option<Runner>, Error> {
        if let Some(runner) = self.with_topic(topic).await? {
            return Ok(Some(runner));
        }
        let Some(script_type) = as_type(topic) else { return Ok(None) };
        for anew in [false, true] {
            let Some(in_turn) = self.types(anew).await?.of_types.get_mut(&script_type).map(OfType::take_turn) else { break };
            for id in in_turn {
                // The runner may have changed meanwhile.
                let found = self.0.unspoilt(self.get(id).await)?;
                if let Some(runner) = found.filter(|runner| runner.script_type == script_type) {
                    return Ok(Some(runner));
                }
            }
        }
        Ok(None)
    }

    /// Whether there is a runner for a topic.
    pub async fn has_for_topic(self, topic: &Name) -> Result<bool, Error> {
        if self.with_topic(topic).await?.is_some() {
            return Ok(true);
        }
        let Some(script_type) = as_type(topic) else { return Ok(false) };
        Ok(self.types(false).await?.of_types.contains_key(&script_type))
    }

    /// Returns the contexts of this server to which runners of the script type of this name send their jobs.
    pub async fn targets_of_type(self, topic: &Name) -> Result<BTreeSet<ContextId>, Error> {
        let Some(script_type) = as_type(topic) else { return Ok(BTreeSet::new()) };
        Ok(self.types(false).await?.of_types.get(&script_type).map(|of_type| of_type.targets.clone()).unwrap_or_default())
    }

    /// Returns the runners of all types: current ones if read `anew`, else as of the last change. Other callers wait for the reading.
    async fn types(self, anew: bool) -> Result<MutexGuard<'a, CachedTypes>, Error> {
        let mut known = self.0.runner_types.0.lock().await;
        // The revision is read first, so that a change meanwhile has another one.
        let revision = self.revision().await?;
        let again = if revision.is_some() { REREAD_INTERVAL } else { SPOILT_REREAD_INTERVAL };
        if anew || known.read.is_none_or(|(read, at)| read != revision || at.elapsed() > again) {
            let mut of_types = self.read_types().await?;
            for (script_type, of_type) in &mut of_types {
                of_type.turns = known.of_types.get(script_type).map_or(0, |before| before.turns);
            }
            *known = CachedTypes { read: Some((revision, Instant::now())), of_types };
        }
        Ok(known)
    }

    async fn read_types(self) -> Result<HashMap<ScriptType, OfType>, Error> {
        let mut range = redis::cmd("ZRANGE");
        range.arg(self.0.keys.runners()).arg(0).arg(MOST_RUNNERS - 1);
        let listed: Vec<Text> = self.0.unspoilt(self.0.commands.call(&range).await)?;
        let ids: Vec<RunnerId> = listed.iter().filter_map(Text::parse).collect();
        let mut found: HashMap<ScriptType, OfType> = HashMap::new();
        for part in ids.chunks(RUNNERS_PER_PIPELINE) {
            let keys: Vec<String> = part.iter().map(|id| self.0.keys.runner(*id)).collect();
            let mut look = Pipeline::with_capacity(keys.len());
            for key in &keys {
                look.cmd("HMGET").arg(key).arg(&FIELDS);
            }
            for (id, values) in part.iter().zip(self.0.each_unspoilt::<Vec<Text>>(&keys, &mut look).await?) {
                let named = FIELDS.iter().zip(values).filter(|(_, value)| value.0.is_some());
                let fields = Fields(named.map(|(name, value)| ((*name).to_owned(), value)).collect());
                let Some(runner) = runner(*id, &fields).filter(|_| fields.get("id").is_some()) else { continue };
                let of_type = found.entry(runner.script_type).or_default();
                of_type.ids.push(*id);
                if runner.address.is_some_and(|address| matches!(address.target(), AddressTarget::Here)) {
                    of_type.targets.insert(runner.target_context);
                }
            }
        }
        Ok(found)
    }
}

/// Returns the script type that a topic names, if it names one.
fn as_type(topic: &Name) -> Option<ScriptType> {
    topic.as_str().parse().ok().filter(|_| RunnerId::of_group(topic).is_none())
}
