//! Work queues and the places of jobs in them.

pub(crate) mod peek;

use std::collections::BTreeMap;

use redis::{FromRedisValue, ParsingError, Pipeline, RedisResult, Value};

use super::value::Text;
use super::{Counters, Error, Inner};
use crate::keys::Keys;
use crate::views::{Actors, Queues};
use hero_model::{ContextId, JobId, Priority, Queue, QueueInfo, ScriptType, Target};

/// The number of queues that one pipeline reads.
const QUEUES_PER_PIPELINE: usize = 256;
/// The most jobs, from the first one to be taken, among which a job is searched.
const MAX_SEARCHED_JOBS: usize = 10_000;
/// The upper bound of the lease ends of jobs that run here. The leases of jobs that are away are beyond it (`leases.lua`).
const LAST_HERE: &str = "(100000000000000";

/// The position of a job in its queue, and the reasons why it may wait there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuePosition {
    /// The key of the queue.
    pub queue: String,
    /// The number of jobs that wait in it.
    pub depth: u64,
    /// The number of jobs that are taken first, this one included; unknown far back, and if callers take turns.
    pub position: Option<u64>,
    /// Whether the queue is paused.
    pub paused: bool,
    /// The number of jobs that run in the context, without those that are away.
    pub running: u64,
}

/// Returns the key of a queue in context 0 of a Redis that is no cluster, for examples.
pub fn queue_name(queue: &Queue) -> String {
    Keys::standalone(ContextId(0)).work(queue)
}

/// A number that another program may have written; nothing if it is invalid.
#[derive(Debug, Clone, Default)]
struct Number(Option<u64>);

/// Counts the jobs that wait in a queue, by the rule of `queues.waiting_in` in the functions: stale ids lower the count by half at most.
fn depth(length: u64, sorted: u64, left: u64) -> u64 {
    let all = length.saturating_add(sorted);
    all.saturating_sub(left).max(all / 2)
}

impl FromRedisValue for Number {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        Text::from_redis_value(value).map(|text| Self(text.parse()))
    }
}

impl Inner {
    /// Returns the name under which a queue is paused, in all its priorities.
    pub(super) fn base(&self, queue: &Queue) -> String {
        self.keys.work(&Queue { priority: Priority::Normal, ..queue.clone() })
    }
}

impl Queues<'_> {
    /// Returns at most this many jobs that run with actors of hero, those whose leases end first.
    pub async fn leased(self, most: usize) -> Result<Vec<JobId>, Error> {
        let mut range = redis::cmd("ZRANGE");
        range.arg(self.0.keys.leases()).arg(0).arg(most.saturating_sub(1));
        let jobs: Vec<Text> = self.0.unspoilt(self.0.commands.call(&range).await)?;
        Ok(jobs.iter().filter_map(Text::parse).collect())
    }

    /// Returns the counters of every script type that the functions know.
    pub async fn counters(self) -> Result<BTreeMap<ScriptType, Counters>, Error> {
        let keys = self.0.members(&self.0.keys.types()).await?;
        let of = |key: String| Some((self.0.keys.parse_stats(&key)?, key));
        let keys: Vec<(ScriptType, String)> = keys.into_iter().filter_map(of).collect();
        let counted = self.0.hashes(keys.iter().map(|(_, key)| key.clone())).await?;
        let number = |(what, number): (String, Text)| Some((what, number.parse()?));
        let counters = keys.into_iter().zip(counted).filter(|(_, counted)| !counted.is_empty());
        Ok(counters.map(|((script_type, _), counted)| (script_type, counted.0.into_iter().filter_map(number).collect())).collect())
    }

    /// Returns every work queue that is not empty or is paused, and the type queue of every live actor. If there are more than 20,000, some
    /// are left out ([`Health::overfull`](crate::views::Health::overfull) says so).
    pub async fn list(self) -> Result<Vec<QueueInfo>, Error> {
        let actors = Actors(self.0).list().await?;
        let [queues, fair, paused] = [self.0.keys.queues(), self.0.keys.fair(), self.0.keys.paused()];
        let (mut names, fair, resting) = tokio::try_join!(self.0.members(&queues), self.0.members(&fair), self.0.members(&paused))?;
        names.extend(fair.into_iter().chain(resting));
        names.extend(actors.iter().map(|actor| {
            let (script_type, priority) = (actor.script_type.clone(), Priority::Normal);
            self.0.keys.work(&Queue { script_type, target: Target::Type, priority })
        }));
        let queues: Vec<(String, Queue)> =
            names.into_iter().filter_map(|name| Some((name.clone(), self.0.keys.parse_work(&name)?))).collect();
        let mut listed = Vec::with_capacity(queues.len());
        for queues in queues.chunks(QUEUES_PER_PIPELINE) {
            let mut look = Pipeline::with_capacity(queues.len() * 4);
            for (name, queue) in queues {
                look.cmd("LLEN").arg(name).cmd("GET").arg(self.0.keys.fair_part(name, "held"));
                look.cmd("SISMEMBER").arg(&paused).arg(self.0.base(queue)).cmd("HGET").arg(self.0.keys.left(name)).arg("all");
            }
            look.ignore_errors();
            let states: Vec<RedisResult<Number>> = self.0.commands.each(&look).await?;
            for ((name, queue), state) in queues.iter().zip(states.chunks(4)) {
                let [length, sorted, is_paused, left] = state else { return Err(Error::Closed) };
                // A key that is no list belongs to another program.
                let Some(Number(length)) = self.0.unspoilt_key(name, length.clone().map(Some))? else { continue };
                let Number(sorted) = self.0.unspoilt_key(&self.0.keys.fair_part(name, "held"), sorted.clone())?;
                let Number(is_paused) = self.0.unspoilt_key(&paused, is_paused.clone())?;
                let Number(left) = self.0.unspoilt_key(&self.0.keys.left(name), left.clone())?;
                let actors = u32::try_from(actors.iter().filter(|actor| actor.takes_from(queue)).count()).unwrap_or(u32::MAX);
                let depth = depth(length.unwrap_or(0), sorted.unwrap_or(0), left.unwrap_or(0));
                let paused = is_paused == Some(1);
                let (group, instance) = (queue.target.group().cloned(), queue.target.instance());
                let (name, script_type) = (name.clone(), queue.script_type.clone());
                listed.push(QueueInfo { name, script_type, group, instance, priority: queue.priority, depth, actors, paused });
            }
        }
        listed.retain(|queue| queue.depth > 0 || queue.actors > 0 || queue.paused);
        Ok(listed)
    }

    /// Returns the state of a job in a queue; its position only on request. Its values come from several keys, not from one moment.
    pub async fn position(self, job: &JobId, queue: &Queue, position: bool) -> Result<QueuePosition, Error> {
        let name = self.0.keys.work(queue);
        let mut look = Pipeline::new();
        look.cmd("LLEN").arg(&name);
        look.cmd("GET").arg(self.0.keys.fair_part(&name, "held")).cmd("SISMEMBER").arg(self.0.keys.paused()).arg(self.0.base(queue));
        look.cmd("ZCOUNT").arg(self.0.keys.leases()).arg("-inf").arg(LAST_HERE);
        look.cmd("HGET").arg(self.0.keys.left(&name)).arg("all");
        if position {
            look.cmd("LPOS").arg(&name).arg(job.as_str()).arg("RANK").arg(-1).arg("MAXLEN").arg(MAX_SEARCHED_JOBS);
        }
        look.ignore_errors();
        let keys = [
            name.clone(),
            self.0.keys.fair_part(&name, "held"),
            self.0.keys.paused(),
            self.0.keys.leases(),
            self.0.keys.left(&name),
            name.clone(),
        ];
        let answers = self.0.commands.each::<Number>(&look).await?;
        let numbers: Vec<Number> =
            keys.iter().zip(answers).map(|(key, answer)| self.0.unspoilt_key(key, answer)).collect::<Result<_, _>>()?;
        let number = |at: usize| numbers.get(at).and_then(|Number(number)| *number);
        let (length, sorted, left) = (number(0).unwrap_or(0), number(1).unwrap_or(0), number(4).unwrap_or(0));
        // Sorted jobs are taken first, but the order of their callers is unknown. So are the places of stopped jobs.
        let position = number(5).filter(|_| sorted == 0 && left == 0).map(|at| length.saturating_sub(at));
        let depth = depth(length, sorted, left);
        Ok(QueuePosition { queue: name, depth, position, paused: number(2) == Some(1), running: number(3).unwrap_or(0) })
    }
}
