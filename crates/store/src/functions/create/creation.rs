use std::sync::Weak;
use std::time::Duration;

use redis::Cmd;

use super::{Created, FUNCTION, JobOfFlow, NewJob, created};
use crate::batch::{Batch, Request, Weight};
use crate::jobs::codec::{JobView, fields};
use crate::jobs::direct_start::{Place, Reservation};
use crate::jobs::speculation::Speculation;
use crate::library::fcall::{list, word_if};
use crate::value::{Text, json};
use crate::{AttemptEnd, Claimed, Ended, Error, Inner, Push};
use hero_model::{JobId, ScriptType, Status, Timestamp};

/// A job to be stored, and its run if it runs already.
pub(crate) struct Creation {
    /// The job.
    pub(crate) job: NewJob,
    /// Its run.
    pub(crate) speculation: Option<Speculation>,
}

pub(crate) fn create_batch(store: Weak<Inner>) -> Batch<Creation, Created> {
    Batch::new(move |creations: Vec<Creation>| {
        let store = store.clone();
        async move {
            let (jobs, speculations): (Vec<NewJob>, Vec<_>) = creations.into_iter().map(|one| (one.job, one.speculation)).unzip();
            let answers = match store.upgrade() {
                Some(store) => store.create_with(&jobs, speculations, false).await,
                None => Err(Error::Closed),
            };
            (jobs.into_iter().map(|job| Creation { job, speculation: None }).collect(), answers)
        }
    })
}

impl Request for Creation {
    fn weight(&self) -> Weight {
        self.job.weight()
    }
}

/// How a job begins as it is stored.
pub(crate) enum Beginning {
    /// As it is, or in its queue.
    Queued,
    /// In an actor with room.
    Direct(Reservation),
    /// It runs already.
    Running(Speculation),
    /// It ran already, and returned.
    Returned(Speculation, Ended),
}

impl Beginning {
    fn place(&self) -> Option<&Place> {
        match self {
            Self::Queued => None,
            Self::Direct(room) => Some(room.place()),
            Self::Running(speculation) | Self::Returned(speculation, _) => Some(speculation.place()),
        }
    }

    fn ended(&self) -> Option<&Ended> {
        if let Self::Returned(_, ended) = self { Some(ended) } else { None }
    }
}

impl Inner {
    /// Runs a job before it is stored, if only its result can tell. Its caller must wait for it, and a pool that may do so must be free.
    pub(crate) fn speculate(&self, job: &NewJob) -> Option<Speculation> {
        let spec = &job.spec;
        let is_plain = job.waited && job.flow.is_none() && spec.log_path.is_none() && spec.retention.is_none() && job.may_start_at_once();
        if !is_plain || self.push != Push::Canonical || self.look() != "-" {
            return None;
        }
        let room = self.direct_starts.reserve_to_speculate(&spec.script_type)?;
        let claimed = Claimed::from_start(&job.id, spec, room.place().actor_index(), self.clock.now());
        Some(Speculation::begin(room, claimed))
    }

    /// Returns nothing for a job that must be sent again in a call of its own.
    pub(crate) async fn create_all(&self, jobs: &[NewJob], or_none: bool) -> Result<Vec<Option<Created>>, Error> {
        self.create_with(jobs, jobs.iter().map(|_| None).collect(), or_none).await
    }

    async fn create_with(
        &self,
        jobs: &[NewJob],
        speculations: Vec<Option<Speculation>>,
        or_none: bool,
    ) -> Result<Vec<Option<Created>>, Error> {
        let now = self.clock.now();
        let begin = |(job, speculation): (&NewJob, Option<Speculation>)| match speculation {
            Some(speculation) => match speculation.store() {
                Some(ended) => Beginning::Returned(speculation, ended),
                None => Beginning::Running(speculation),
            },
            // A job that is only in the shadow queue does not start here.
            None if self.push == Push::Legacy || !job.may_start_at_once() => Beginning::Queued,
            None => self.direct_starts.reserve(&job.spec.script_type).map_or(Beginning::Queued, Beginning::Direct),
        };
        let beginnings: Vec<Beginning> = jobs.iter().zip(speculations).map(begin).collect();
        let call = self.encode(jobs, or_none, &beginnings, now);
        self.memory.add(jobs.len(), &call);
        let wake = || {
            let queued = jobs.iter().zip(&beginnings).filter(|(job, beginning)| job.start && matches!(beginning, Beginning::Queued));
            queued.for_each(|(job, _)| self.wake_ups.wake(&job.spec.script_type));
        };
        let audience = self.inbox.audience();
        let answers: Result<Vec<Vec<Text>>, Error> = if or_none || jobs.iter().map(NewJob::weight).sum::<Weight>().is_heavy() {
            // A fetch must not wait until so much data has been sent.
            let answers = self.commands.function(&call).await;
            wake();
            answers
        } else {
            self.fetches.function_and_then(&call, wake).await
        };
        let mut started_at = Vec::new();
        let answers = match answers {
            Ok(mut answers) => {
                let followed = answers.pop_if(|answer| answer.first().and_then(|word| word.0.as_deref()) == Some("followed"));
                let followed = followed.and_then(|mut answer| answer.pop()?.parse::<u32>());
                followed.into_iter().for_each(|relations| self.relation_budget.pay(relations));
                started_at.extend(answers.iter().map(|answer| answer.get(2).and_then(Text::parse).map(Timestamp::from_millis)));
                answers.iter().map(|answer| created(answer)).collect::<Result<Vec<_>, _>>()
            }
            Err(error) => Err(error),
        };
        let answers = match answers {
            Ok(answers) => answers,
            Err(error) => {
                for (job, beginning) in jobs.iter().zip(&beginnings) {
                    match beginning.place() {
                        // The pool reports its room again.
                        Some(_) if error.not_done() => self.wake_ups.wake(&job.spec.script_type),
                        Some(place) => place.lost(),
                        None => {}
                    }
                }
                return Err(error);
            }
        };
        for (((job, answer), beginning), at) in jobs.iter().zip(&answers).zip(beginnings).zip(started_at) {
            let at = at.unwrap_or(now);
            match (beginning, answer) {
                (Beginning::Queued, _) => {}
                (Beginning::Direct(room), Some(Created::Created(Status::Started))) => {
                    let claimed = Claimed::from_start(&job.id, &job.spec, room.place().actor_index(), at);
                    room.fill(claimed);
                }
                (Beginning::Running(run), Some(Created::Created(Status::Started))) => run.started(at),
                (Beginning::Returned(run, ended), Some(Created::Created(Status::Finished))) => {
                    run.finished();
                    if let Some(end) = (Ended { started_at: at, ..ended }).of_job(at) {
                        self.inbox.deliver(&job.id, &JobView::Ended(end), audience);
                    }
                }
                // The pool reports its room again, and a run was in vain.
                (_, _) => self.wake_ups.wake(&job.spec.script_type),
            }
        }
        Ok(answers)
    }

    /// Begins a call of the function. `way` says how it stores jobs, `most` how many may run, and how many be created per second.
    pub(crate) fn begin_create(&self, now: Timestamp, waits: Duration, way: [&'static str; 2], most: [usize; 2]) -> Cmd {
        let mut call = self.call_at(&FUNCTION, now);
        call.arg(self.bounds.queue_length()).arg(waits.as_millis() as u64).arg(self.periods.lease.as_millis() as u64);
        call.arg(list([way[0], way[1], self.look()])).arg(list(most));
        call
    }

    fn encode(&self, jobs: &[NewJob], or_none: bool, beginnings: &[Beginning], now: Timestamp) -> Cmd {
        let of_flow = jobs.iter().any(|job| job.flow.is_some());
        let waits = if of_flow { crate::views::Flows::UNSTARTED_FLOWS_WAIT } else { self.periods.keep_created };
        // The jobs of a flow were counted when the flow was created.
        let per_second = if of_flow { 0 } else { self.bounds.jobs_per_second() };
        let way = [word_if("all", or_none), word_if("shadows", self.push == Push::Both)];
        let mut call = self.begin_create(now, waits, way, [self.bounds.max_running(), per_second as usize]);
        call.arg(jobs.iter().enumerate().filter_map(|(at, job)| Some(job.occurrence.as_ref()?.argument(at + 1))).collect::<String>());
        let mut pools: Vec<(&ScriptType, &Place)> = Vec::new();
        for (job, beginning) in jobs.iter().zip(beginnings) {
            if let Some(place) = beginning.place()
                && !pools.iter().any(|(_, other)| other.is_beside(place))
            {
                pools.push((&job.spec.script_type, place));
            }
        }
        call.arg(pools.len());
        for (script_type, place) in pools {
            call.arg(script_type.as_str()).arg(place.queues());
        }
        call.arg(jobs.len());
        for (job, beginning) in jobs.iter().zip(beginnings) {
            self.encode_job(&mut call, job, beginning, &job.relations().collect::<Vec<_>>(), &[]);
        }
        call
    }

    /// Encodes a job for the function: its relations in both directions, and further fields.
    pub(crate) fn encode_job(
        &self,
        call: &mut Cmd,
        job: &NewJob,
        beginning: &Beginning,
        relations: &[(&'static str, &JobId)],
        further: &[(String, String)],
    ) {
        let spec = &job.spec;
        let shadow = job.shadow(&self.keys, self.push);
        let queue = shadow.clone().filter(|_| self.push == Push::Legacy).unwrap_or_else(|| self.keys.work(&job.queue()));
        call.arg(job.id.as_str()).arg(list([
            spec.script_type.as_str(),
            &queue,
            beginning.place().and_then(Place::actor).unwrap_or("-"),
            word_if("new", spec.job_id.is_none()),
            word_if("start", job.start),
            word_if("waited", job.waited),
            word_if("due", spec.run_at.is_some()),
            word_if("keyed", spec.idempotency_key.is_some()),
            word_if("related", !relations.is_empty()),
            word_if("returned", beginning.ended().is_some()),
        ]));
        if let Some(time) = spec.run_at {
            call.arg(time.as_millis());
        }
        if let Some([key, of_params]) = job.digests() {
            call.arg(key).arg(of_params);
        }
        if !relations.is_empty() {
            call.arg(relations.len());
        }
        for (relation, id) in relations {
            call.arg(*relation).arg(id.as_str());
        }
        if let Some(Ended { end: AttemptEnd::Finished(output), usage, .. }) = beginning.ended() {
            call.arg(&output.text).arg(output.format.as_str()).arg(usage.as_ref().map_or_else(String::new, json));
        }
        let mut fields = fields(spec, self.keys.context());
        if let Some(shadow) = shadow {
            // At the end, the job replies as the legacy layout requires, whichever actor ends it.
            fields.extend([("dialect", "legacy".into()), ("twin", shadow)]);
            if self.push == Push::Legacy {
                fields.push(("twin_only", "1".into()));
            }
        }
        if let Some(JobOfFlow { flow, caller, number }) = &job.flow {
            // Its hash in the runner layout is written with each change of the job.
            let key = self.keys.runner_job(*caller, *number);
            fields.extend([("dialect", "runner".into()), ("dialect_key", key), ("flow", flow.to_string())]);
        }
        call.arg((fields.len() + further.len()) * 2);
        for (field, value) in fields {
            call.arg(field).arg(value);
        }
        for (field, value) in further {
            call.arg(field).arg(value);
        }
    }
}
