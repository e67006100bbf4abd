use std::time::Duration;

use rand::seq::IndexedRandom as _;
use redis::Cmd;

use crate::jobs::codec::JobView;
use crate::jobs::ended::{AttemptEnd, Ended};
use crate::layouts::LayoutQueues;
use crate::library::fcall::{Function, list, word_if};
use crate::value::{Text, json};
use crate::views::{Jobs, Limits, Maintenance, Queues};
use crate::{Audience, Claimed, Error};
use hero_model::{Json, ScriptType, Status, Timestamp};

const FUNCTION: Function = Function("fetch");
/// The variant for full memory: Redis refuses the first function then, and this one needs very little.
const WHEN_FULL: Function = Function("fetch_when_full");

/// While memory is full, a pool takes one job in this time, because the queued jobs may be what fills it.
const PAUSE_WHEN_FULL: Duration = Duration::from_secs(1);

/// The answer of the function, as its header describes it.
type Answer = (Vec<String>, Vec<Vec<Text>>, Vec<String>, u8, u8, u8, u8, i64, Vec<String>);

/// An actor that takes jobs, with its free room.
#[derive(Debug, Clone, PartialEq)]
pub struct ActorRoom {
    /// Its name: `type:group:instance`.
    pub actor: String,
    /// The number of jobs that it can take now.
    pub room: usize,
}

impl ActorRoom {
    /// Returns the script type and group of its actor.
    fn pool(&self) -> &str {
        self.actor.rsplit_once(':').map_or(&*self.actor, |(pool, _)| pool)
    }
}

/// The request of a pool: ends to record, and room for jobs.
#[derive(Debug)]
pub struct Fetch<'a> {
    /// The script type of the pool.
    pub script_type: &'a ScriptType,
    /// Attempts that ended since the last fetch; at most 128.
    pub ends: &'a [Ended],
    /// Its actors.
    pub actors: &'a [ActorRoom],
    /// The queues to read, in the order of service, each with the number of its actor (from 1), or 0.
    pub queues: &'a [(String, usize)],
}

impl Fetch<'_> {
    /// Redis takes no jobs for a call that was sent this long ago, because its caller no longer waits. `request.LATE` in the library.
    pub const MAX_CALL_AGE: Duration = Duration::from_millis(5500);
}

/// The result of a fetch.
#[derive(Debug, Default)]
pub struct Fetched {
    /// The current status of the job of each ended attempt, or nothing if another claim holds the job.
    pub statuses: Vec<Option<Status>>,
    /// Jobs to run.
    pub taken: Vec<Claimed>,
    /// Whether the queues hold more jobs that were not checked.
    pub more: bool,
    /// Whether queues of instances still hold jobs.
    pub instances_left: bool,
}

impl Queues<'_> {
    /// Records how attempts ended and takes new jobs, in one round trip. Waiters of this server are notified.
    ///
    /// After an error it is unknown whether the ends were recorded. They may be sent again, and are refused the second time. Jobs may have
    /// been taken that this server does not know of: [`Queues::list_leases`] finds them.
    pub async fn fetch(self, fetch: &Fetch<'_>) -> Result<Fetched, Error> {
        Ok(self.fetch_with(fetch, &LayoutQueues::default(), false).await?.0)
    }

    /// A [`Queues::fetch`] in which the callers of jobs take turns: the queues of the type and the group are sorted by caller, and each
    /// caller gives one job at a time, the oldest first.
    ///
    /// All other fetches take sorted jobs in this order, too.
    pub async fn fair_fetch(self, fetch: &Fetch<'_>) -> Result<Fetched, Error> {
        Ok(self.fetch_with(fetch, &LayoutQueues::default(), true).await?.0)
    }

    /// A fetch, fair or not, that also imports jobs of other layouts into hero's queues if room is left; then `more` is set.
    ///
    /// Only an import costs a second round trip.
    pub async fn fetch_and_import(self, fetch: &Fetch<'_>, layout_queues: &LayoutQueues, fair: bool) -> Result<Fetched, Error> {
        let (mut fetched, importable) = self.fetch_with(fetch, layout_queues, fair).await?;
        if importable {
            let wanted: usize = fetch.actors.iter().map(|actor| actor.room).sum();
            match self.import(fetch.script_type, layout_queues, wanted.saturating_sub(fetched.taken.len())).await {
                Ok(found) => fetched.more |= found,
                // The result of the fetch must not get lost. The next fetch finds the remaining jobs.
                Err(error) => tracing::debug!(%error, "taking jobs of other layouts failed"),
            }
        }
        Ok(fetched)
    }

    /// Fetches, and returns whether room was left although a queue of another layout holds jobs.
    async fn fetch_with(self, fetch: &Fetch<'_>, layout_queues: &LayoutQueues, fair: bool) -> Result<(Fetched, bool), Error> {
        let store = &self.0;
        let now = store.clock.now();
        let call = self.encode_fetch(&FUNCTION, fetch, fetch.actors, layout_queues, fair, now);
        let audience = self.0.inbox.audience();
        let answer: Result<Answer, Error> = store.fetches.function(&call).await;
        let (statuses, taken, stopped, more, left_to_release, importable, instances_left, now, types) = match answer {
            Err(error) if error.out_of_memory() => {
                // The ends are recorded in any case. A free actor is chosen at random, because the waiting jobs may be for one actor alone.
                let free: Vec<usize> = (0..fetch.actors.len()).filter(|at| fetch.actors[*at].room > 0).collect();
                let free = free
                    .choose(&mut rand::rng())
                    .copied()
                    .filter(|free| store.memory_throttle.is_due(fetch.actors[*free].pool(), PAUSE_WHEN_FULL));
                let room = |(at, of_actor): (usize, &ActorRoom)| ActorRoom { room: usize::from(free == Some(at)), ..of_actor.clone() };
                let actors: Vec<ActorRoom> = fetch.actors.iter().enumerate().map(room).collect();
                let call = self.encode_fetch(&WHEN_FULL, fetch, &actors, &LayoutQueues::default(), fair, now);
                store.fetches.function(&call).await?
            }
            answer => answer?,
        };
        let now = Timestamp::from_millis(now);
        if more == 2 {
            // The call took long, or the clock of this server is wrong. The recorded ends count in either case.
            drop(Maintenance(self.0).set_clock().await);
        }
        let statuses: Vec<Option<Status>> = statuses.iter().map(|word| word.parse().ok()).collect();
        for (end, status) in fetch.ends.iter().zip(&statuses) {
            self.tell_waiters(end, *status, now, audience);
        }
        for job in stopped.iter().filter_map(|id| id.parse().ok()) {
            Jobs(self.0).tell_by_reading(job);
        }
        if left_to_release > 0 {
            store.releases.notify_one();
        }
        store.wake_ups.wake_all(&types);
        let taken = taken.into_iter().filter_map(|values| Claimed::from_fetch(values, now)).collect();
        Ok((Fetched { statuses, taken, more: more > 0, instances_left: instances_left == 1 }, importable == 1))
    }

    fn encode_fetch(
        self,
        function: &Function,
        fetch: &Fetch<'_>,
        actors: &[ActorRoom],
        layout_queues: &LayoutQueues,
        fair: bool,
        now: Timestamp,
    ) -> Cmd {
        let mut call = self.0.call_at(function, now);
        call.arg(self.0.periods.lease.as_millis() as u64).arg(fetch.script_type.as_str()).arg(fetch.ends.len());
        for end in fetch.ends {
            add_end(&mut call, end);
        }
        call.arg(list(actors.iter().map(|of_actor| &of_actor.actor)));
        for of_actor in actors {
            call.arg(of_actor.room);
        }
        call.arg(list(fetch.queues.iter().map(|(queue, _)| queue))).arg(list(fetch.queues.iter().map(|(_, actor)| actor)));
        call.arg(if fair { "fair" } else { "" }).arg(Limits(self.0).running());
        call.arg(layout_queues.queues.len());
        for key in layout_queues.keys() {
            call.arg(key);
        }
        call
    }

    /// Tells the waiters in this process about the end of a job, if it has ended.
    fn tell_waiters(self, end: &Ended, status: Option<Status>, now: Timestamp, audience: Audience) {
        let inbox = &self.0.inbox;
        if !inbox.awaits(&end.job) || !status.is_some_and(Status::is_final) {
            return;
        }
        let Some(job_end) = end.of_job(now) else { return Jobs(self.0).tell_by_reading(end.job.clone()) };
        if inbox.deliver(&end.job, &JobView::Ended(job_end), audience) {
            // Some waiters registered later. The job may run again by now, or this is the end that they wait for.
            Jobs(self.0).tell_by_reading(end.job.clone());
        }
    }
}

fn add_end(call: &mut Cmd, end: &Ended) {
    call.arg(end.job.as_str()).arg(end.claim).arg(end.usage.as_ref().map_or_else(String::new, json));
    let (word, format) = match &end.end {
        AttemptEnd::Finished(output) => ("finished", output.format.as_str()),
        AttemptEnd::Failed { .. } | AttemptEnd::Refused(_) => ("error", "-"),
        AttemptEnd::Crashed => ("crashed", "-"),
        AttemptEnd::Requeued => ("released", "-"),
    };
    call.arg(list([word, word_if("logged", end.logged), format]));
    match &end.end {
        AttemptEnd::Finished(output) => call.arg(&output.text),
        AttemptEnd::Failed { error, .. } | AttemptEnd::Refused(error) => {
            let number = |number: Option<u32>| number.map_or_else(String::new, |number| number.to_string());
            call.arg(error.kind.as_str()).arg(&error.message).arg(number(error.line)).arg(number(error.column));
            call.arg(if error.stack.is_empty() { String::new() } else { json(&error.stack) });
            call.arg(error.limit.map_or("", |limit| limit.as_str())).arg(error.data.as_ref().map_or("", Json::as_str));
            match &end.end {
                AttemptEnd::Failed { retry_in, .. } => call.arg(u64::try_from(retry_in.as_millis()).unwrap_or(u64::MAX)),
                _ => call.arg("-"),
            }
        }
        AttemptEnd::Crashed | AttemptEnd::Requeued => call,
    };
}
