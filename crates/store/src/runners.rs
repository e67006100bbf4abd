//! Runners, as they are stored.

pub(crate) mod types;

use redis::{Pipeline, RedisResult};

use super::Error;
use super::contexts::seconds;
use super::score::Score;
use super::value::{Fields, Text};
use crate::views::Runners;
use hero_model::{ContextId, Name, Priority, Queue, Runner, RunnerId, ScriptType, Target, Timestamp};

impl Runners<'_> {
    /// Returns the runner with this number, if there is one. Other programs may have created it, too.
    pub async fn get(self, id: RunnerId) -> Result<Option<Runner>, Error> {
        Ok(runner(id, &self.0.hash(&self.0.keys.runner(id)).await?))
    }

    /// Returns the runner with this topic: for `runner{n}` the runner with this number, else the runner that has the topic as its own.
    pub async fn with_topic(self, topic: &Name) -> Result<Option<Runner>, Error> {
        if let Some(id) = RunnerId::of_group(topic) {
            return self.get(id).await;
        }
        let mut get = redis::cmd("ZSCORE");
        get.arg(self.0.keys.topics()).arg(topic.as_str());
        let found: Option<f64> = self.0.commands.call(&get).await?;
        let Some(id) = found else { return Ok(None) };
        // Another program may have changed the runner.
        Ok(self.get(RunnerId(id as u32)).await?.filter(|runner| runner.topic == *topic))
    }

    /// Returns at most `limit` listed runners after this number, in order, and the place of the next page, if more are listed. Listed
    /// runners may be gone.
    pub async fn list(self, after: Score, limit: usize) -> Result<(Vec<Runner>, Option<Score>), Error> {
        let mut range = redis::cmd("ZRANGE");
        range.arg(self.0.keys.runners()).arg(after.beyond()).arg("+inf").arg("BYSCORE");
        range.arg("LIMIT").arg(0).arg(limit + 1).arg("WITHSCORES");
        let mut listed: Vec<(Text, f64)> = self.0.commands.call(&range).await?;
        let more = listed.len() > limit;
        listed.truncate(limit);
        let next = listed.last().filter(|_| more).map(|(_, score)| Score(*score));
        let ids: Vec<RunnerId> = listed.iter().filter_map(|(id, _)| id.parse()).collect();
        let hashes = self.0.hashes(ids.iter().map(|id| self.0.keys.runner(*id))).await?;
        Ok((ids.into_iter().zip(hashes).filter_map(|(id, fields)| runner(id, &fields)).collect(), next))
    }

    /// Whether the queues of each of these targets hold jobs, in the same order. Paused queues count as empty.
    pub async fn have_jobs(self, targets: &[(ScriptType, Target)]) -> Result<Vec<bool>, Error> {
        let mut look = Pipeline::new();
        for (script_type, target) in targets {
            let queue = |priority| Queue { script_type: script_type.clone(), target: target.clone(), priority };
            let mut queues: Vec<String> =
                [Priority::Urgent, Priority::Normal, Priority::Low].map(|priority| self.0.keys.work(&queue(priority))).into();
            queues.push(self.0.keys.work_prio_1(script_type, target));
            // Jobs may have been sorted by caller already.
            queues.extend(queues.clone().iter().map(|queue| self.0.keys.fair_part(queue, "ring")));
            look.cmd("EXISTS").arg(queues);
            look.cmd("SISMEMBER").arg(self.0.keys.paused()).arg(self.0.base(&queue(Priority::Normal)));
            // Jobs that other programs push for runners move on from there, even if the queue after it is paused.
            look.cmd("EXISTS").arg(self.0.keys.runner_queue(script_type));
        }
        if targets.is_empty() {
            return Ok(Vec::new());
        }
        // Another program may have changed the type of the set of paused queues.
        look.ignore_errors();
        let answers: Vec<RedisResult<u64>> = self.0.commands.each(&look).await?;
        let mut has_jobs = Vec::with_capacity(targets.len());
        for ((_, target), answers) in targets.iter().zip(answers.chunks(3)) {
            let [work, paused, runners] = answers else { return Err(Error::Closed) };
            let (work, runners) = (work.clone()? > 0, *target == Target::Type && runners.clone()? > 0);
            let is_paused = self.0.unspoilt_key(&self.0.keys.paused(), paused.clone())? == 1;
            has_jobs.push(runners || work && !is_paused);
        }
        Ok(has_jobs)
    }

    /// Returns the revision, which grows each time that hero creates, changes or deletes a runner. Nothing if another program has spoilt
    /// it: then any runner may have changed.
    pub async fn revision(self) -> Result<Option<u64>, Error> {
        let found = self.0.commands.call(redis::cmd("HGET").arg(self.0.keys.revisions()).arg("runners")).await.map(Some);
        let found: Option<Text> = self.0.unspoilt(found)?;
        Ok(found.and_then(|text| text.0.is_none().then_some(0).or_else(|| text.parse())))
    }
}

/// Reads a runner from its hash. Fields that cannot be read count as missing; without a type it has the default type.
pub(super) fn runner(id: RunnerId, fields: &Fields) -> Option<Runner> {
    if fields.is_empty() {
        return None;
    }
    let text = |name: &str| fields.get(name).and_then(|text| text.0.as_deref()).filter(|text| !text.is_empty());
    let time = |name| seconds(fields.get(name)).unwrap_or(Timestamp::from_millis(0));
    Some(Runner {
        runner_id: id,
        script_type: text("type").and_then(|name| name.parse().ok()).unwrap_or_default(),
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
