use std::ops::RangeInclusive;

use super::unexpected;
use crate::model::JobId;
use crate::store::codec::Text;
use crate::store::fcall::Function;
use crate::store::filter::Condition;
use crate::store::{Error, Store};

const FAILED: Function = Function("find_failed");
const LIVE: Function = Function("find_open");
const CLEAN: Function = Function("clean_status_index");

/// Where a job stands among others of its status: since when it is in the index of an hour, in milliseconds, and its id.
pub(in crate::store) type Since = (i64, JobId);

/// What a look through the jobs of a status found.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::store) struct OfStatus {
    /// Jobs that may pass, the newest first.
    pub(in crate::store) jobs: Vec<Since>,
    /// Where to go on; nothing at the end.
    pub(in crate::store) next: Option<Since>,
}

/// How many jobs that have not ended are looked at for a page: they have to be sorted.
const MOST_LIVE: usize = 4096;

impl Store {
    /// Looks for jobs that may pass a filter among those that ended in error, from one on and within a time. Nothing: some of them may not be known.
    pub(in crate::store) async fn failed(
        &self,
        from: Option<&Since>,
        times: &RangeInclusive<i64>,
        look_at: usize,
        wanted: usize,
        conditions: &[Condition],
    ) -> Result<Option<OfStatus>, Error> {
        let mut call = self.0.call(&FAILED);
        add_place(&mut call, from);
        call.arg(times.end()).arg(times.start()).arg(look_at).arg(wanted);
        Condition::add(conditions, &mut call);
        of_status("find_failed", &self.0.commands.function::<Vec<Text>>(&call).await?)
    }

    /// The same among those of a status that has not ended, where those are few. Nothing: they are many, or stand in no set.
    pub(in crate::store) async fn live(
        &self,
        status: &str,
        from: Option<&Since>,
        wanted: usize,
        conditions: &[Condition],
    ) -> Result<Option<OfStatus>, Error> {
        let mut call = self.0.call(&LIVE);
        add_place(&mut call, from);
        call.arg(status).arg(MOST_LIVE).arg(wanted);
        Condition::add(conditions, &mut call);
        of_status("find_open", &self.0.commands.function::<Vec<Text>>(&call).await?)
    }

    /// One step through an index by status, `error` or `left`, which takes out what is not of it any more. Gives where to go on, or nothing at the end.
    ///
    /// `whole`: a walk through all hours has put in what was missing.
    pub async fn clean_status_index(&self, status: &str, from: usize, whole: bool) -> Result<Option<usize>, Error> {
        /// How many one call looks at.
        const CHUNK: usize = 256;
        let mut call = self.0.call(&CLEAN);
        call.arg(status).arg(from).arg(CHUNK).arg(if whole { "whole" } else { "" });
        let (looked, gone): (usize, usize) = self.0.commands.function(&call).await?;
        Ok((looked == CHUNK).then_some(from + looked - gone))
    }
}

fn add_place(call: &mut redis::Cmd, from: Option<&Since>) {
    match from {
        Some((time, id)) => call.arg(time).arg(id.as_str()),
        None => call.arg("").arg(""),
    };
}

fn of_status(function: &'static str, answer: &[Text]) -> Result<Option<OfStatus>, Error> {
    let since = |pair: &[Text]| Some((pair[0].parse()?, pair[1].parse()?));
    match answer {
        [word] if matches!(word.0.as_deref(), Some("partial" | "many")) => Ok(None),
        [_, time, id, jobs @ ..] => {
            let next = since(&[time.clone(), id.clone()]);
            Ok(Some(OfStatus { jobs: jobs.chunks_exact(2).filter_map(since).collect(), next }))
        }
        _ => Err(unexpected(function, &answer.len())),
    }
}
