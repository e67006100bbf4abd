use std::collections::BTreeSet;

use redis::Pipeline;

use crate::Error;
use crate::library::fcall::Function;
use crate::views::{Actors, Queues};
use hero_model::{JobId, ScriptType};

const FUNCTION: Function = Function("control");

/// The number of queues that one pipeline checks.
const QUEUES_PER_PIPELINE: usize = 1000;

impl Queues<'_> {
    /// Returns the control queues that hold requests: those of these script types, of all types with counters, and of the actors of other
    /// programs.
    pub async fn control_queues(self, script_types: &BTreeSet<ScriptType>) -> Result<Vec<String>, Error> {
        let keys = &self.0.keys;
        let counted = self.0.members(&keys.types()).await?;
        let (mut types, mut queues) = (script_types.clone(), Vec::new());
        types.extend(counted.iter().filter_map(|key| keys.parse_stats(key)));
        for actor in Actors(self.0).lately().await?.iter().filter(|actor| actor.foreign) {
            queues.push(keys.control_instance(&actor.script_type, &actor.group, actor.instance));
            types.insert(actor.script_type.clone());
        }
        queues.extend(types.iter().map(|script_type| keys.control(script_type)));
        let mut filled = Vec::new();
        for queues in queues.chunks(QUEUES_PER_PIPELINE) {
            let mut exist = Pipeline::with_capacity(queues.len());
            for queue in queues {
                exist.cmd("EXISTS").arg(queue);
            }
            let exist: Vec<bool> = self.0.commands.pipeline(&exist).await?;
            filled.extend(queues.iter().zip(exist).filter(|(_, exists)| *exists).map(|(queue, _)| queue.clone()));
        }
        Ok(filled)
    }

    /// Processes the stop requests in control queues, and returns the jobs that this server runs and must stop itself.
    pub async fn control(self, queues: &[String]) -> Result<Vec<JobId>, Error> {
        // They are nearly always empty, and while jobs run, this check runs forty times a second. If this user of Redis may not read some
        // of the keys, the function reads the others.
        if matches!(self.0.commands.call::<u64>(redis::cmd("EXISTS").arg(queues)).await, Ok(0)) {
            return Ok(Vec::new());
        }
        let mut call = self.0.call(&FUNCTION);
        for queue in queues {
            call.arg(queue);
        }
        let ids: Vec<String> = self.0.commands.function(&call).await?;
        Ok(ids.iter().filter_map(|id| id.parse().ok()).collect())
    }
}
