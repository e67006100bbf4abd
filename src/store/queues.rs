use redis::{Pipeline, RedisResult};

use super::{Error, Store};
use crate::keys::Keys;
use crate::model::{ContextId, JobId, Priority, Queue, QueueInfo, Target};

/// How many queues are looked at by one pipeline.
const AT_ONCE: usize = 256;
/// How many jobs, of those that are taken first, a job is looked for among.
const LOOKED_AT: usize = 10_000;
/// Where the leases of jobs that run here end; behind them are those of jobs that are away (`leases.lua`).
const LAST_HERE: &str = "(100000000000000";

/// Where a job stands in its queue, and why it may have to wait there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuePosition {
    /// The key of the queue.
    pub queue: String,
    /// How many jobs wait in it.
    pub depth: u64,
    /// How many of them are taken first, itself included; unknown far back, and where callers take turns.
    pub position: Option<u64>,
    /// Whether the queue is paused.
    pub paused: bool,
    /// How many jobs run in the context, without those that are away.
    pub running: u64,
}

/// The key of a queue in context 0 of a Redis of its own, for examples.
pub fn queue_name(queue: &Queue) -> String {
    Keys::standalone(ContextId(0)).work(queue)
}

impl Store {
    /// The name under which a queue is paused, in all its priorities.
    pub(super) fn base(&self, queue: &Queue) -> String {
        self.keys().work(&Queue { priority: Priority::Normal, ..queue.clone() })
    }

    /// Every work queue that holds something or is paused, and the type queue of every live actor. Of more than 20,000 some are left out
    /// ([`Store::overfull`] says so).
    pub async fn queues(&self) -> Result<Vec<QueueInfo>, Error> {
        let actors = self.actors().await?;
        let [queues, fair, paused] = [self.keys().queues(), self.keys().fair(), self.keys().paused()];
        let (mut names, fair, resting) = tokio::try_join!(self.members(&queues), self.members(&fair), self.members(&paused))?;
        names.extend(fair.into_iter().chain(resting));
        names.extend(actors.iter().map(|actor| {
            let (script_type, priority) = (actor.script_type.clone(), Priority::Normal);
            self.keys().work(&Queue { script_type, target: Target::Type, priority })
        }));
        let queues: Vec<(String, Queue)> =
            names.into_iter().filter_map(|name| Some((name.clone(), self.keys().parse_work(&name)?))).collect();
        let mut states: Vec<RedisResult<Option<u64>>> = Vec::with_capacity(queues.len() * 4);
        for queues in queues.chunks(AT_ONCE) {
            let mut look = Pipeline::with_capacity(queues.len() * 4);
            for (name, queue) in queues {
                look.cmd("LLEN").arg(name).cmd("GET").arg(self.keys().fair_part(name, "held"));
                look.cmd("SISMEMBER").arg(&paused).arg(self.base(queue)).cmd("HGET").arg(self.keys().left(name)).arg("all");
            }
            // A key that is no list belongs to another program.
            look.ignore_errors();
            states.extend(self.0.commands.each(&look).await?);
        }
        let listed = queues.into_iter().zip(states.chunks(4)).filter_map(|((name, queue), state)| {
            let [Ok(length), sorted, paused, left] = state else { return None };
            let number = |answer: &RedisResult<Option<u64>>| answer.as_ref().ok().copied().flatten().unwrap_or(0);
            let depth = (length.unwrap_or(0) + number(sorted)).saturating_sub(number(left));
            let actors = u32::try_from(actors.iter().filter(|actor| actor.takes_from(&queue)).count()).unwrap_or(u32::MAX);
            let paused = matches!(paused, Ok(Some(1)));
            let (group, instance) = (queue.target.group().cloned(), queue.target.instance());
            Some(QueueInfo { name, script_type: queue.script_type, group, instance, priority: queue.priority, depth, actors, paused })
        });
        Ok(listed.filter(|queue| queue.depth > 0 || queue.actors > 0 || queue.paused).collect())
    }

    /// How a job stands in a queue; its position only if that is asked for. What it says of several keys is not of one moment.
    pub async fn queue_position(&self, job: &JobId, queue: &Queue, position: bool) -> Result<QueuePosition, Error> {
        let name = self.keys().work(queue);
        let mut look = Pipeline::new();
        look.cmd("LLEN").arg(&name);
        look.cmd("GET").arg(self.keys().fair_part(&name, "held")).cmd("SISMEMBER").arg(self.keys().paused()).arg(self.base(queue));
        look.cmd("ZCOUNT").arg(self.keys().leases()).arg("-inf").arg(LAST_HERE);
        look.cmd("HGET").arg(self.keys().left(&name)).arg("all");
        if position {
            look.cmd("LPOS").arg(&name).arg(job.as_str()).arg("RANK").arg(-1).arg("MAXLEN").arg(LOOKED_AT);
        }
        look.ignore_errors();
        let answers: Vec<RedisResult<Option<u64>>> = self.0.commands.each(&look).await?;
        let number = |at: usize| answers.get(at).and_then(|answer| answer.as_ref().ok().copied().flatten());
        let (length, sorted, left) = (number(0).unwrap_or(0), number(1).unwrap_or(0), number(4).unwrap_or(0));
        // Sorted jobs are taken first, but in which order the callers come is not known; nor is where those lie that were stopped.
        let position = number(5).filter(|_| sorted == 0 && left == 0).map(|at| length.saturating_sub(at));
        Ok(QueuePosition {
            queue: name,
            depth: (length + sorted).saturating_sub(left),
            position,
            paused: number(2) == Some(1),
            running: number(3).unwrap_or(0),
        })
    }
}
