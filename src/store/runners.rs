use std::collections::HashMap;

use super::codec::Text;
use super::contexts::seconds;
use super::{Error, Store};
use crate::model::{ContextId, Runner, RunnerId, ScriptType, Timestamp};

impl Store {
    /// A runner, if there is one with this number. Other programs may have made it, too.
    pub async fn runner(&self, id: RunnerId) -> Result<Option<Runner>, Error> {
        Ok(self.hashes([self.keys().runner(id)]).await?.first().and_then(|fields| runner(id, fields)))
    }

    /// Runners behind this number, in order, at most `limit`.
    pub async fn runners(&self, after: u32, limit: usize) -> Result<Vec<Runner>, Error> {
        let mut range = redis::cmd("ZRANGE");
        range.arg(self.keys().runners()).arg(format!("({after}")).arg("+inf").arg("BYSCORE").arg("LIMIT").arg(0).arg(limit);
        let ids: Vec<Text> = self.0.commands.call(&range).await?;
        let ids: Vec<RunnerId> = ids.iter().filter_map(Text::parse).collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let hashes = self.hashes(ids.iter().map(|id| self.keys().runner(*id))).await?;
        Ok(ids.into_iter().zip(hashes).filter_map(|(id, fields)| runner(id, &fields)).collect())
    }

    /// Counts up with each runner that is made, changed or deleted by hero.
    pub async fn runner_revision(&self) -> Result<u64, Error> {
        let revision: Text = self.0.commands.call(redis::cmd("HGET").arg(self.keys().revisions()).arg("runners")).await?;
        Ok(revision.parse().unwrap_or(0))
    }
}

/// A runner as its hash has it. What cannot be read counts as not there; without a type it is one of the default type.
fn runner(id: RunnerId, fields: &HashMap<String, Text>) -> Option<Runner> {
    if fields.is_empty() {
        return None;
    }
    let text = |name: &str| fields.get(name).and_then(|text| text.0.as_deref()).filter(|text| !text.is_empty());
    let time = |name| seconds(fields.get(name)).unwrap_or(Timestamp::from_millis(0));
    Some(Runner {
        runner_id: id,
        script_type: text("type").and_then(|name| name.parse().ok()).unwrap_or_else(ScriptType::osis),
        local: matches!(text("local"), None | Some("true" | "True" | "1")),
        topic: text("topic").and_then(|topic| topic.parse().ok()).unwrap_or_else(|| id.group()),
        address: text("address").and_then(|address| address.parse().ok()),
        pubkey: text("pubkey").and_then(|key| key.parse().ok()),
        target_context: ContextId(text("target_context").and_then(|context| context.parse().ok()).unwrap_or(0)),
        name: text("name").map(str::to_owned),
        created_at: time("created_at"),
        updated_at: time("updated_at"),
    })
}
