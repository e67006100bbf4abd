use std::time::Duration;

use rand::seq::IndexedRandom as _;
use redis::Cmd;

use crate::codec::{JobEnd, JobView, Text, json};
use crate::fcall::{Function, list, word_if};
use crate::layouts::LayoutQueues;
use crate::views::{Jobs, Limits, Maintenance, Queues};
use crate::{Audience, Claimed, Error};
use hero_model::{ErrorKind, JobError, JobId, JobResult, Json, Output, ScriptType, Status, Timestamp, Usage};

const FUNCTION: Function = Function("fetch");
/// The same while memory is full: Redis refuses the first one then, and this one takes next to nothing.
const WHEN_FULL: Function = Function("fetch_when_full");

/// While memory is full, a pool takes one job in this time: the jobs in the queues may be what fills it.
const PAUSE_WHEN_FULL: Duration = Duration::from_secs(1);

/// What the function gives, as its header says.
type Answer = (Vec<String>, Vec<Vec<Text>>, Vec<String>, u8, u32, u8, u8, i64);

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq)]
pub enum AttemptEnd {
    /// The script returned.
    Finished(Output),
    /// The script failed, was stopped, or ran out of time.
    Failed {
        /// Why.
        error: JobError,
        /// How long to wait before the next attempt, if there is one left.
        retry_in: Duration,
    },
    /// The hash says what cannot be run, now or later: it is not tried again.
    Refused(JobError),
    /// The engine died.
    Crashed,
    /// The actor leaves and requeues the job as if it had not taken it.
    Requeued,
}

impl AttemptEnd {
    /// The end in a word, for the log.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Finished(_) => "finished",
            Self::Failed { error, .. } => match error.kind {
                ErrorKind::Timeout => "timed out",
                ErrorKind::Stopped => "stopped",
                _ => "failed",
            },
            Self::Refused(_) => "refused",
            Self::Crashed => "crashed",
            Self::Requeued => "requeued",
        }
    }
}

/// An attempt that ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// The job.
    pub job: JobId,
    /// The number of the attempt, as waiters are told.
    pub attempt: u32,
    /// The claim, as it was taken; only the one that holds the lease is believed.
    pub claim: u32,
    /// When it began.
    pub started_at: Timestamp,
    /// Whether it logged anything.
    pub logged: bool,
    /// What it used.
    pub usage: Option<Usage>,
    /// How it ended.
    pub end: AttemptEnd,
}

impl Ended {
    /// An attempt that logged nothing and whose use is not known.
    pub fn of(job: JobId, attempt: u32, claim: u32, started_at: Timestamp, end: AttemptEnd) -> Self {
        Self { job, attempt, claim, started_at, logged: false, usage: None, end }
    }
}

/// An actor that takes jobs, and for how many it has room.
#[derive(Debug, Clone, PartialEq)]
pub struct ActorRoom {
    /// Its name: `type:group:instance`.
    pub actor: String,
    /// How many jobs it can take now.
    pub room: usize,
}

impl ActorRoom {
    /// The script type and group of its actor.
    fn pool(&self) -> &str {
        self.actor.rsplit_once(':').map_or(&*self.actor, |(pool, _)| pool)
    }
}

/// What a pool reports and what it wants.
#[derive(Debug)]
pub struct Fetch<'a> {
    /// The script type of the pool.
    pub script_type: &'a ScriptType,
    /// Attempts that ended since the last fetch; at most 128.
    pub ends: &'a [Ended],
    /// Its actors.
    pub actors: &'a [ActorRoom],
    /// The queues to look into in the order of service, each with the actor it belongs to (from 1), or 0.
    pub queues: &'a [(String, usize)],
}

impl Fetch<'_> {
    /// Redis takes no jobs for whoever asked so long ago: nobody waits for the answer any more. `request.LATE` in the library.
    pub const LATE: Duration = Duration::from_millis(5500);
}

/// What a fetch gave.
#[derive(Debug, Default)]
pub struct Fetched {
    /// For each ended attempt the status of its job now, or nothing when somebody else holds the job.
    pub statuses: Vec<Option<Status>>,
    /// Jobs to run.
    pub taken: Vec<Claimed>,
    /// Whether the queues hold more that was not looked at.
    pub more: bool,
    /// Whether queues of instances among them still hold something.
    pub instances_left: bool,
}

impl Queues<'_> {
    /// Records how attempts ended and takes new jobs, in one round trip. Waiters of this server are told.
    ///
    /// After an error it is unknown whether the ends were recorded: they may be sent again, the second time they are
    /// refused. Jobs may have been taken of which this server does not know: [`Queues::list_leases`] finds them.
    pub async fn fetch(self, fetch: &Fetch<'_>) -> Result<Fetched, Error> {
        Ok(self.fetch_with(fetch, &LayoutQueues::default(), false).await?.0)
    }

    /// A [`Queues::fetch`] in which the callers of jobs take turns: the queues of the type and the group are sorted by caller, and each
    /// caller gives one job at a time. Within a caller the oldest comes first.
    ///
    /// Jobs that are sorted already are taken so by every other fetch, too.
    pub async fn fair_fetch(self, fetch: &Fetch<'_>) -> Result<Fetched, Error> {
        Ok(self.fetch_with(fetch, &LayoutQueues::default(), true).await?.0)
    }

    /// A fetch, fair or not, that also takes jobs of other layouts into our queues if there is room for more than was found; then
    /// there is more.
    ///
    /// That costs a second round trip, and only then.
    pub async fn fetch_and_import(self, fetch: &Fetch<'_>, layout_queues: &LayoutQueues, fair: bool) -> Result<Fetched, Error> {
        let (mut fetched, importable) = self.fetch_with(fetch, layout_queues, fair).await?;
        if importable {
            let wanted: usize = fetch.actors.iter().map(|actor| actor.room).sum();
            match self.import(fetch.script_type, layout_queues, wanted.saturating_sub(fetched.taken.len())).await {
                Ok(found) => fetched.more |= found,
                // What the fetch gave must not get lost; the next one finds what is left.
                Err(error) => tracing::debug!(%error, "taking jobs of other layouts failed"),
            }
        }
        Ok(fetched)
    }

    /// A fetch, and whether there was room left although a queue of another layout holds something.
    async fn fetch_with(self, fetch: &Fetch<'_>, layout_queues: &LayoutQueues, fair: bool) -> Result<(Fetched, bool), Error> {
        let store = &self.0;
        let now = store.clock.now();
        let call = self.encode_fetch(&FUNCTION, fetch, fetch.actors, layout_queues, fair, now);
        let audience = self.0.inbox.audience();
        let answer: Result<Answer, Error> = store.fetches.function(&call).await;
        let (statuses, taken, stopped, more, releases, importable, instances_left, now) = match answer {
            Err(error) if error.out_of_memory() => {
                // What ended is recorded all the same.
                // One of the free actors, by chance: the waiting jobs may be for one actor alone.
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
            // The call took long, or the clock of this server is wrong. What was recorded counts in either case.
            drop(Maintenance(self.0).set_clock().await);
        }
        let statuses: Vec<Option<Status>> = statuses.iter().map(|word| word.parse().ok()).collect();
        for (end, status) in fetch.ends.iter().zip(&statuses) {
            self.tell_waiters(end, *status, now, audience);
        }
        for job in stopped.iter().filter_map(|id| id.parse().ok()) {
            Jobs(self.0).tell_by_reading(job);
        }
        if releases > 0 {
            store.releases.notify_one();
        }
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

    /// Tells the waiters in this process how a job ended, if it did.
    fn tell_waiters(self, end: &Ended, status: Option<Status>, now: Timestamp, audience: Audience) {
        let inbox = &self.0.inbox;
        if !inbox.awaits(&end.job) || !status.is_some_and(Status::is_final) {
            return;
        }
        let job_end = match &end.end {
            AttemptEnd::Finished(output) => {
                let (text, format, id) = (output.text.clone(), Some(output.format.as_str()), end.job.clone());
                let times = [Some(end.started_at), Some(now.max(end.started_at))];
                JobEnd::Finished(JobResult::of(id, text, format, end.attempt, times, end.usage))
            }
            AttemptEnd::Failed { error, .. } | AttemptEnd::Refused(error) => JobEnd::Failed { error: error.clone(), attempt: end.attempt },
            AttemptEnd::Crashed | AttemptEnd::Requeued => return Jobs(self.0).tell_by_reading(end.job.clone()),
        };
        if inbox.deliver(&end.job, &JobView::Ended(job_end), audience) {
            // There are waiters that came later. The job may run again by now, or this is the end that they wait for.
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
