use std::collections::{BTreeMap, BTreeSet};

use crate::Error;
use crate::library::fcall::Function;
use crate::value::Text;
use crate::views::Runners;
use hero_model::{Runner, RunnerId, ScriptType};

const FUNCTION: Function = Function("runners_with_jobs");

/// The number of runners that one call checks, which takes two milliseconds.
const RUNNERS_PER_CALL: usize = 500;

impl Runners<'_> {
    /// Returns those of these runners that have jobs in their queues.
    pub async fn with_jobs(self, runners: &[Runner]) -> Result<BTreeSet<RunnerId>, Error> {
        let mut waiting = BTreeSet::new();
        for part in runners.chunks(RUNNERS_PER_CALL) {
            let mut of_types: BTreeMap<&ScriptType, Vec<String>> = BTreeMap::new();
            for runner in part {
                of_types.entry(&runner.script_type).or_default().push(runner.runner_id.to_string());
            }
            let mut call = self.0.call(&FUNCTION);
            for (script_type, numbers) in of_types {
                call.arg(script_type.as_str()).arg(numbers.join(" "));
            }
            let answer: Vec<Text> = self.0.commands.function(&call).await?;
            waiting.extend(answer.iter().filter_map(Text::parse::<RunnerId>));
        }
        Ok(waiting)
    }
}
