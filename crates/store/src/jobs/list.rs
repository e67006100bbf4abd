//! Lists of jobs, page by page.

mod page_start;
mod times;

use std::time::{Duration, Instant};

use super::filter::{self, Condition};
use super::of_status::{OfStatus, Since};
use crate::Error;
use crate::value::json;
use crate::views::{Jobs, Maintenance};
use hero_model::{Job, JobFilter, JobId, JobPage, Status, Timestamp};
use page_start::PageStart;
use times::Times;

/// The most jobs that are checked in vain for one page.
const MAX_CHECKED_IN_VAIN: usize = 20_000;
/// The number of jobs that one call checks.
const JOBS_PER_CALL: usize = 1024;
/// The longest time for which jobs are checked in vain for one page: a page with few jobs, or none, is better than a late one.
const MAX_TIME_IN_VAIN: Duration = Duration::from_millis(25);
/// The time limit applies if fewer than one in this many checked jobs pass.
const FEW_PASS_RATIO: usize = 8;
/// Reading an empty hour counts as checking this many jobs. Foreign programs may have listed any number of hours.
const EMPTY_HOUR: usize = 32;
/// The most jobs read at a time.
const MAX_JOBS_PER_READ: usize = 128;
/// The fewest jobs read at a time after the first ones, even if the page needs fewer: jobs that pass the functions may fail the whole
/// filter.
const MIN_JOBS_PER_READ: usize = 32;
/// The most bytes of compared fields that are read at once if they are too long to be read with the other fields.
const MAX_COMPARED_BYTES_PER_READ: usize = 16 * 1024 * 1024;
/// A filter ignores longer values, in bytes. Jobs created by hero have none.
pub(crate) const MAX_COMPARED_BYTES: usize = 1024 * 1024;

/// A page under construction.
struct Page {
    jobs: Vec<Job>,
    /// The number of jobs that still fit.
    limit: usize,
    /// The number of bytes of JSON that still fit.
    bytes: usize,
    /// The number of bytes that may still be read for comparisons.
    comparing: usize,
    /// The number of jobs read.
    read: usize,
    /// The number of jobs checked, including those in the page.
    looked_at: usize,
    /// The time spent on checks that found few jobs.
    in_vain: Duration,
}

impl Page {
    /// Takes a job if there is room. The first job always fits.
    fn take(&mut self, job: &Job) -> bool {
        let size = json(job).len() + 1;
        if self.limit == 0 || size > self.bytes && !self.jobs.is_empty() {
            return false;
        }
        (self.limit, self.bytes) = (self.limit - 1, self.bytes.saturating_sub(size));
        self.jobs.push(job.clone());
        true
    }

    /// The number of candidates to look for.
    fn wanted(&self) -> usize {
        self.limit.clamp(MIN_JOBS_PER_READ, MAX_JOBS_PER_READ)
    }

    /// Records that this many jobs were checked since a time, and how many of them came into the page.
    fn looked(&mut self, jobs: usize, came: usize, since: Instant) {
        self.looked_at += jobs;
        if came * FEW_PASS_RATIO < jobs {
            self.in_vain += since.elapsed();
        }
    }

    /// Whether the page is complete.
    fn is_over(&self) -> bool {
        let in_vain = self.looked_at - self.jobs.len().min(self.looked_at);
        // The first checks are made in any case, however slow Redis is.
        let long = in_vain > JOBS_PER_CALL && self.in_vain >= MAX_TIME_IN_VAIN;
        self.limit == 0 || self.comparing == 0 || in_vain >= MAX_CHECKED_IN_VAIN || long
    }

    fn ends(self, next: Option<PageStart>) -> JobPage {
        JobPage { jobs: self.jobs, next_cursor: next.map(|start| start.to_string()) }
    }
}

/// The result of filling a page from the index of a status.
enum Filled {
    /// The page is complete. The next one begins here.
    Done(Option<PageStart>),
    /// The index does not have all jobs of the status, or has too many: continue in the index by hour, from a position or from the newest
    /// job.
    ByHour(Option<(String, usize)>),
}

/// The filter of a list, with the fields and conditions that it compares.
struct Search<'a> {
    filter: &'a JobFilter,
    fields: Vec<&'static str>,
    conditions: Vec<Condition>,
    times: Times,
}

impl Jobs<'_> {
    /// Returns a page of jobs, the newest first. Foreign jobs are listed once an actor or the indexer has seen them.
    ///
    /// The page ends with `limit` jobs, with `bytes` of JSON, or after many other jobs were checked. Long values are left out.
    ///
    /// Jobs that ended in error, and jobs that have not ended if these are few, are found without checking others. Jobs outside of the time
    /// bounds are never checked. Of all others only so many are checked that the page comes soon, even if it is empty.
    pub async fn list(self, filter: &JobFilter, cursor: Option<&str>, limit: usize, bytes: usize) -> Result<Option<JobPage>, Error> {
        let start = match cursor.map(str::parse) {
            None => None,
            Some(Ok(start)) => Some(start),
            Some(Err(())) => return Ok(None),
        };
        let mut page =
            Page { jobs: Vec::new(), limit, bytes, comparing: MAX_COMPARED_BYTES_PER_READ, read: 0, looked_at: 0, in_vain: Duration::ZERO };
        let times = Times::of(self.0, filter).await?;
        let search = Search { filter, fields: filter::fields(filter), conditions: filter::conditions(filter), times };
        let has_own = |status: &Status| !matches!(status, Status::Finished | Status::WaitingForPrerequisites);
        let (since, status) = match (start, filter.status.filter(has_own)) {
            (Some(PageStart::Hour(hour, end)), _) => {
                let next = self.list_by_hour(&mut page, &search, Some((hour, end))).await?;
                return Ok(Some(page.ends(next)));
            }
            // The cursor belongs to a list with another filter.
            (Some(PageStart::Since(_)), None) => return Ok(None),
            (Some(PageStart::Since(since)), status) => (Some(since), status),
            (None, status) => (None, status),
        };
        let filled = match status {
            Some(status) => self.list_of_status(&mut page, &search, status, since).await?,
            None => Filled::ByHour(None),
        };
        let next = match filled {
            Filled::Done(next) => next,
            Filled::ByHour(from) => self.list_by_hour(&mut page, &search, from).await?,
        };
        Ok(Some(page.ends(next)))
    }
}

impl Maintenance<'_> {
    /// Returns the hours in which jobs were created, the oldest first.
    pub async fn index_hours(self) -> Result<Vec<String>, Error> {
        let keys = self.0.members(&self.0.keys.hours()).await?;
        Ok(keys.iter().filter_map(|key| self.0.keys.parse_index(key)).map(ToOwned::to_owned).collect())
    }
}

impl Jobs<'_> {
    /// Fills a page from the index of a status.
    async fn list_of_status(self, page: &mut Page, search: &Search<'_>, status: Status, mut from: Option<Since>) -> Result<Filled, Error> {
        loop {
            let (began, before) = (Instant::now(), page.jobs.len());
            let found = if status == Status::Error {
                self.find_failed(from.as_ref(), &search.times.everywhere(), JOBS_PER_CALL, page.wanted(), &search.conditions).await?
            } else {
                self.find_open(status.as_str(), from.as_ref(), page.limit.max(MIN_JOBS_PER_READ), &search.conditions).await?
            };
            let Some(OfStatus { jobs, next }) = found else { break };
            let jobs: Vec<(PageStart, JobId)> = jobs.into_iter().map(|since| (PageStart::Since(since.clone()), since.1)).collect();
            if let Some(behind) = self.fill(page, &jobs, search).await? {
                return Ok(Filled::Done(Some(behind)));
            }
            page.looked(if next.is_some() { JOBS_PER_CALL } else { jobs.len() }, page.jobs.len() - before, began);
            match next {
                Some(next) if !page.is_over() => from = Some(next),
                next => return Ok(Filled::Done(next.map(PageStart::Since))),
            }
        }
        let Some((time, _)) = from else { return Ok(Filled::ByHour(None)) };
        // Some jobs of the same moment may come twice, but none is left out.
        let hour = Timestamp::from_millis(time).hour();
        let end = self.position_of(&hour, time.saturating_add(1)).await?;
        Ok(Filled::ByHour(Some((hour, end))))
    }

    /// Fills a page from the index by hour. Returns the start of the next page.
    async fn list_by_hour(self, page: &mut Page, search: &Search<'_>, from: Option<(String, usize)>) -> Result<Option<PageStart>, Error> {
        let mut hours = Maintenance(self.0).index_hours().await?;
        hours.retain(|hour| search.times.reach(hour));
        let (mut hour, mut end) = match from {
            Some(start) => start,
            None => (hours.last().cloned().unwrap_or_default(), usize::MAX),
        };
        loop {
            let times = search.times.within(&hour);
            if end == usize::MAX && search.times.end_in(&hour) {
                end = self.position_of(&hour, times.end().saturating_add(1)).await?;
            }
            while end > 0 {
                let (began, before) = (Instant::now(), page.jobs.len());
                let found = self.find(&hour, end, JOBS_PER_CALL, page.wanted(), &search.conditions).await?;
                let jobs: Vec<(PageStart, JobId)> =
                    found.jobs.into_iter().map(|(position, id)| (PageStart::Hour(hour.clone(), position + 1), id)).collect();
                if let Some(behind) = self.fill(page, &jobs, search).await? {
                    return Ok(Some(behind));
                }
                let looked_at = if found.looked_at == 0 { EMPTY_HOUR } else { found.looked_at };
                page.looked(looked_at, page.jobs.len() - before, began);
                // All entries before this one are older.
                let is_past = found.time.is_some_and(|time| time < *times.start());
                end = if is_past { 0 } else { found.position };
                if page.is_over() {
                    let more = end > 0 || hours.first().is_some_and(|first| *first < hour);
                    return Ok(more.then_some(PageStart::Hour(hour, end)));
                }
            }
            match hours[..hours.partition_point(|earlier| *earlier < hour)].last() {
                Some(earlier) => (hour, end) = (earlier.clone(), usize::MAX),
                None => return Ok(None),
            }
        }
    }

    /// Adds those of some jobs that pass the filter to a page. Returns the start of the next page, if jobs are left.
    async fn fill(self, page: &mut Page, jobs: &[(PageStart, JobId)], search: &Search<'_>) -> Result<Option<PageStart>, Error> {
        let mut rest = jobs;
        while let [(next, _), ..] = rest {
            if page.limit == 0 || page.comparing == 0 {
                return Ok(Some(next.clone()));
            }
            // The first jobs usually fill the page.
            let most = if page.read == 0 { page.limit } else { page.limit.max(MIN_JOBS_PER_READ) };
            let wanted: Vec<JobId> = rest.iter().take(most).map(|(_, id)| id.clone()).collect();
            let summaries = self.summaries(&wanted).await?;
            page.read += summaries.len();
            // Long fields are cut off in them.
            let is_cut = |job: &Job| job.truncated.iter().any(|field| search.fields.contains(&field.as_str()));
            let cut: Vec<JobId> = summaries.iter().flatten().filter(|job| is_cut(job)).map(|job| job.job_id.clone()).collect();
            let mut compared: Vec<Option<Job>> = Vec::with_capacity(cut.len());
            while compared.len() < cut.len() && page.comparing > 0 {
                let (parts, bytes) = self.first_parts(&cut[compared.len()..], &search.fields, MAX_COMPARED_BYTES).await?;
                compared.extend(parts);
                page.comparing = page.comparing.saturating_sub(bytes);
            }
            let mut compared = compared.into_iter();
            for ((start, _), summary) in rest.iter().zip(&summaries) {
                let Some(job) = summary else { continue };
                let passes = if is_cut(job) {
                    let Some(whole) = compared.next() else { return Ok(Some(start.clone())) };
                    whole.is_some_and(|whole| search.filter.matches(&whole))
                } else {
                    search.filter.matches(job)
                };
                // An id that was used again may be there twice.
                let is_there = page.jobs.iter().any(|taken| taken.job_id == job.job_id);
                if passes && !is_there && !page.take(job) {
                    return Ok(Some(start.clone()));
                }
            }
            rest = &rest[summaries.len()..];
        }
        Ok(None)
    }
}
