use std::collections::HashMap;

use redis::Pipeline;

use crate::Error;
use crate::jobs::attempts::all;
use crate::jobs::codec::{SHOWN, job};
use crate::library::fcall::Function;
use crate::value::Text;
use crate::views::Jobs;
use hero_model::{Job, JobId};
use hero_service::away;

const FUNCTION: Function = Function("summary");

/// The most jobs that one call reads.
const MAX_JOBS_PER_CALL: usize = 128;
/// After this many bytes, a call reads no further job.
const MAX_BYTES_PER_CALL: usize = 256 * 1024;
/// The longest value in a summary.
const MAX_VALUE_BYTES: usize = 1024;
impl Jobs<'_> {
    /// Returns the first of these jobs, at least one, as lists show them: without long values, which `truncated` names.
    pub(crate) async fn summaries(self, jobs: &[JobId]) -> Result<Vec<Option<Job>>, Error> {
        Ok(self.read(jobs, &SHOWN, MAX_VALUE_BYTES, MAX_BYTES_PER_CALL).await?.0)
    }

    /// Returns a few fields of these jobs. Other fields, and values that are longer than `longest`, count as unset.
    pub async fn parts(self, jobs: &[JobId], fields: &[&str], longest: usize) -> Result<Vec<Option<Job>>, Error> {
        let mut parts = Vec::with_capacity(jobs.len());
        while parts.len() < jobs.len() {
            parts.extend(self.first_parts(&jobs[parts.len()..], fields, longest).await?.0);
        }
        Ok(parts)
    }

    /// Like [`Self::parts`], but returns only the first of these jobs, at least one, and the number of bytes read.
    pub(crate) async fn first_parts(self, jobs: &[JobId], fields: &[&str], longest: usize) -> Result<(Vec<Option<Job>>, usize), Error> {
        self.read(jobs, fields, longest, MAX_BYTES_PER_CALL.max(longest)).await
    }

    /// Returns a job whose values have at most this many bytes; for a larger job, the number of its bytes.
    pub async fn within(self, id: &JobId, bytes: usize) -> Result<Option<Result<Job, usize>>, Error> {
        let Some(job) = self.read(std::slice::from_ref(id), &SHOWN, bytes, bytes).await?.0.into_iter().flatten().next() else {
            return Ok(None);
        };
        if job.truncated.is_empty() {
            let earlier = if job.attempt > 0 { self.earlier_attempts(id).await? } else { Vec::new() };
            return Ok(Some(Ok(Job { attempts: all(earlier, &job), ..job })));
        }
        let mut sizes = Pipeline::with_capacity(SHOWN.len());
        for field in SHOWN {
            sizes.cmd("HSTRLEN").arg(self.0.keys.job(id)).arg(field);
        }
        let sizes: Vec<usize> = self.0.commands.pipeline(&sizes).await?;
        Ok(Some(Err(sizes.iter().sum())))
    }

    async fn read(self, jobs: &[JobId], fields: &[&str], short: usize, most: usize) -> Result<(Vec<Option<Job>>, usize), Error> {
        let jobs = &jobs[..jobs.len().min(MAX_JOBS_PER_CALL)];
        if jobs.is_empty() {
            return Ok((Vec::new(), 0));
        }
        let mut call = self.0.call(&FUNCTION);
        call.arg(short).arg(most).arg(fields.len()).arg(fields);
        for job in jobs {
            call.arg(job.as_str());
        }
        let answers: Vec<Vec<Text>> = self.0.commands.function(&call).await?;
        if answers.is_empty() || answers.len() > jobs.len() {
            return Err(super::unexpected("summary", &answers.len()));
        }
        let bytes = answers.iter().flatten().map(Text::bytes).sum();
        // The first value of an answer lists the fields that are not whole.
        let at = fields.iter().position(|field| *field == "env_vars");
        let masked = at.map_or(0, |at| answers.iter().filter_map(|answer| Some(answer.get(at + 1)?.bytes())).sum());
        let (jobs, fields) = (jobs.to_vec(), fields.iter().map(ToString::to_string).collect::<Vec<_>>());
        let read = away(masked, move || jobs.iter().zip(answers).map(|(id, answer)| summary(id, &fields, answer)).collect());
        Ok((read.await.ok_or(Error::Closed)?, bytes))
    }
}

fn summary(id: &JobId, fields: &[String], answer: Vec<Text>) -> Option<Job> {
    let mut values = answer.into_iter();
    let partial = values.next()?.0.unwrap_or_default();
    let values: HashMap<String, Text> =
        fields.iter().zip(values).filter(|(_, value)| value.0.is_some()).map(|(field, value)| (field.clone(), value)).collect();
    let mut job = job(id, values);
    // The parts of an error are one value of the job.
    job.truncated = partial.split_whitespace().map(|field| if field.starts_with("error_") { "error" } else { field }.to_owned()).collect();
    job.truncated.dedup();
    Some(job)
}
