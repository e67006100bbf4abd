use super::codec::json;
use super::{Error, JobFilter, JobPage, Store};
use crate::model::{Job, JobId};

/// At most so many jobs are looked at for one page,
const LOOKED_AT: usize = 10_000;
/// so many at a time,
const CHUNK: usize = 128;
/// and so many bytes of what filters compare are read.
const COMPARED_AT_ONCE: usize = 16 * 1024 * 1024;
/// A filter does not see what is longer. No job that was created here has more.
pub(super) const COMPARED: usize = 1024 * 1024;

/// A page that is being filled.
struct Page {
    jobs: Vec<Job>,
    /// How many more jobs may come,
    limit: usize,
    /// and how many bytes of JSON.
    bytes: usize,
    /// How many more bytes may be read to compare.
    comparing: usize,
}

impl Page {
    /// Takes a job, unless there is no room. The first always finds some.
    fn take(&mut self, job: &Job) -> bool {
        let size = json(job).len() + 1;
        if size > self.bytes && !self.jobs.is_empty() {
            return false;
        }
        (self.limit, self.bytes) = (self.limit - 1, self.bytes.saturating_sub(size));
        self.jobs.push(job.clone());
        true
    }
}

impl Store {
    /// A page of jobs, newest first. Foreign jobs are in it once an actor or the indexer has seen them.
    ///
    /// It ends when it holds `limit` jobs, or `bytes` of JSON, or many others had to be looked at. What is long is not in it.
    pub async fn list(&self, filter: &JobFilter, cursor: Option<&str>, limit: usize, bytes: usize) -> Result<Option<JobPage>, Error> {
        let hours = self.index_hours().await?;
        let (mut hour, mut end) = match cursor.map(parse_cursor) {
            None => (hours.last().cloned().unwrap_or_default(), usize::MAX),
            Some(Some((hour, end))) => (hour, end),
            Some(None) => return Ok(None),
        };
        let (mut page, mut looked, fields) = (Page { jobs: Vec::new(), limit, bytes, comparing: COMPARED_AT_ONCE }, 0, filter.fields());
        loop {
            while end > 0 {
                let room = if fields.is_empty() { page.limit.clamp(16, CHUNK) } else { CHUNK };
                let (start, ids) = self.index_page(&hour, end, room).await?;
                looked += ids.len();
                // Each with its place, where the page goes on if it ends before it.
                let ids = ids.into_iter().enumerate().rev().filter_map(|(at, id)| Some((start + at + 1, id.0?.parse().ok()?)));
                if let Some(end) = self.fill(&mut page, ids.collect(), filter, &fields).await? {
                    return Ok(Some(JobPage { jobs: page.jobs, next_cursor: Some(format!("{hour}-{end}")) }));
                }
                end = start;
                if looked >= LOOKED_AT || page.limit == 0 || page.comparing == 0 {
                    let more = end > 0 || hours.first().is_some_and(|first| *first < hour);
                    return Ok(Some(JobPage { jobs: page.jobs, next_cursor: more.then(|| format!("{hour}-{end}")) }));
                }
            }
            match hours.iter().rev().find(|earlier| **earlier < hour) {
                Some(earlier) => (hour, end) = (earlier.clone(), usize::MAX),
                None => return Ok(Some(JobPage { jobs: page.jobs, next_cursor: None })),
            }
        }
    }

    /// Puts those of some jobs that pass the filter into a page. Gives the place of the first that is left for the next.
    async fn fill(
        &self,
        page: &mut Page,
        mut ids: Vec<(usize, JobId)>,
        filter: &JobFilter,
        fields: &[&str],
    ) -> Result<Option<usize>, Error> {
        let only_ids = |ids: &[(usize, JobId)]| -> Vec<JobId> { ids.iter().map(|(_, id)| id.clone()).collect() };
        let mut behind = None;
        if !fields.is_empty() {
            let mut compared: Vec<Option<Job>> = Vec::with_capacity(ids.len());
            while compared.len() < ids.len() && page.comparing > 0 {
                let (parts, bytes) = self.first_parts(&only_ids(&ids[compared.len()..]), fields, COMPARED).await?;
                compared.extend(parts);
                page.comparing = page.comparing.saturating_sub(bytes);
            }
            behind = ids.get(compared.len()).map(|(place, _)| *place);
            let mut parts = compared.into_iter();
            ids.retain(|_| parts.next().flatten().is_some_and(|part| filter.admits(&part)));
        }
        let mut rest = &ids[..];
        while let [(next, _), ..] = rest {
            if page.limit == 0 {
                return Ok(Some(*next));
            }
            let wanted = &rest[..rest.len().min(page.limit)];
            let summaries = self.summaries(&only_ids(wanted)).await?;
            for ((place, _), summary) in wanted.iter().zip(&summaries) {
                if let Some(job) = summary
                    && !page.take(job)
                {
                    return Ok(Some(*place));
                }
            }
            rest = &rest[summaries.len()..];
        }
        Ok(behind)
    }
}

/// A cursor `{hour}-{end}`: the next job is the one before `end` in that hour's index.
fn parse_cursor(cursor: &str) -> Option<(String, usize)> {
    let (hour, end) = cursor.split_once('-')?;
    let valid = hour.len() == 10 && hour.bytes().all(|byte| byte.is_ascii_digit());
    Some((valid.then(|| hour.to_owned())?, end.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_of_nonsense_is_refused() {
        assert_eq!(parse_cursor("2026112110-5"), Some(("2026112110".into(), 5)));
        for bad in ["", "x", "2026112110", "2026112110-x", "20261121-5", "*-1"] {
            assert_eq!(parse_cursor(bad), None, "{bad}");
        }
    }
}
