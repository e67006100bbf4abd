use std::collections::BTreeMap;

use super::unexpected;
use crate::Error;
use crate::library::fcall::Function;
use crate::value::Text;
use crate::views::Queues;
use hero_model::{JobId, Name, ScriptType};

const FUNCTION: Function = Function("list_leases");

/// The approximate number of leases that one call checks.
const LEASES_PER_CALL: usize = 256;

impl Queues<'_> {
    /// Returns the leases of a pool of this server: every job that it holds in Redis, with the claim. A fetch whose answer got lost may
    /// have taken some.
    pub async fn list_leases(self, script_type: &ScriptType, group: &Name) -> Result<Vec<(JobId, u32)>, Error> {
        let (mut leases, mut from, pool) = (BTreeMap::new(), 0_u64, format!("{script_type}:{group}:"));
        loop {
            let mut call = self.0.call(&FUNCTION);
            call.arg(from).arg(LEASES_PER_CALL).arg(&pool);
            let answer: Vec<Text> = self.0.fetches.function(&call).await?;
            let (next, pairs) = answer.split_first().ok_or_else(|| unexpected("list_leases", &answer))?;
            leases.extend(pairs.chunks_exact(2).filter_map(|pair| Some((pair[0].parse()?, pair[1].parse()?))));
            from = next.parse().ok_or_else(|| unexpected("list_leases", &answer))?;
            if from == 0 {
                return Ok(leases.into_iter().collect());
            }
        }
    }
}
