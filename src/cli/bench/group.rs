use std::time::{Duration, Instant};

use super::load::{HOME, IN_FLIGHT, Load, STUCK_AFTER};
use super::report::Group;
use super::{Measuring, Part};
use crate::model::{JobId, JobSpec};
use crate::store::Profile;

/// The number of jobs per call.
const JOBS_PER_CALL: usize = 1000;

impl Measuring<'_> {
    /// Creates and runs groups of jobs with and without dependencies.
    pub(super) async fn groups(&self, load: &Load, gauge: Option<&Profile>) -> anyhow::Result<Vec<Group>> {
        let mut groups = Vec::new();
        if !self.measures(Part::Groups) {
            return Ok(groups);
        }
        let jobs = self.bench.jobs;
        let related = self.bench.related();
        let shapes = [("bulk", load.specs(jobs)), ("chain", load.chain(related / 10)), ("fan_out", load.fan_out(related))];
        for (shape, specs) in shapes {
            if let Some(gauge) = gauge {
                gauge.reset().await?;
            }
            let (created, ids) = self.steps.step(&format!("creating: {}", told(shape)), 0, load.create_in_groups(&specs)).await?;
            let mut create_blocked_ms = None;
            if let Some(gauge) = gauge {
                create_blocked_ms = Some(gauge.longest_ms().await?);
                gauge.reset().await?;
            }
            let ran = self.steps.step(&format!("running: {}", told(shape)), 0, load.run_all(&ids, shape != "bulk")).await?;
            let run_blocked_ms = match gauge {
                Some(gauge) => Some(gauge.longest_ms().await?),
                None => None,
            };
            let per_s = |time: Duration| ids.len() as f64 / time.as_secs_f64();
            groups.push(Group {
                shape,
                jobs: ids.len() as u64,
                create_per_s: per_s(created),
                run_per_s: per_s(ran),
                create_blocked_ms,
                run_blocked_ms,
            });
        }
        Ok(groups)
    }
}

/// Describes a group of jobs for display.
fn told(shape: &str) -> &'static str {
    match shape {
        "chain" => "a chain of jobs",
        "fan_out" => "jobs that wait for one",
        _ => "jobs in groups of 1000",
    }
}

impl Load {
    /// Creates jobs in groups. Returns the time taken and their ids.
    pub(super) async fn create_in_groups(&self, specs: &[JobSpec]) -> anyhow::Result<(Duration, Vec<JobId>)> {
        let begun = Instant::now();
        let mut ids = Vec::with_capacity(specs.len());
        for group in specs.chunks(JOBS_PER_CALL) {
            ids.extend(self.client(0).create_jobs(group).await?);
        }
        Ok((begun.elapsed(), ids))
    }

    /// Returns jobs without dependencies.
    pub(super) fn specs(&self, jobs: u64) -> Vec<JobSpec> {
        (0..jobs).map(|_| self.job()).collect()
    }

    /// Returns jobs of which each waits for the one before.
    pub(super) fn chain(&self, jobs: u64) -> Vec<JobSpec> {
        let mut before: Option<JobId> = None;
        let link = |_| {
            let id = JobId::random();
            let prerequisites = before.replace(id.clone()).into_iter().collect();
            JobSpec { prerequisites, ..self.job_with(id) }
        };
        (0..jobs).map(link).collect()
    }

    /// Returns a job and others that all wait for it.
    pub(super) fn fan_out(&self, jobs: u64) -> Vec<JobSpec> {
        let root = JobId::random();
        let waiting = (0..jobs).map(|_| JobSpec { prerequisites: vec![root.clone()], ..self.job() });
        std::iter::once(self.job_with(root.clone())).chain(waiting).collect()
    }

    /// Starts jobs, the first of the list last, and returns the time until all have finished. The time counts from the
    /// first start, or with `from_last` from the last: the start of the job that all others wait for.
    pub(super) async fn run_all(&self, ids: &[JobId], from_last: bool) -> anyhow::Result<Duration> {
        let Some((first, others)) = ids.split_first() else { return Ok(Duration::ZERO) };
        let start = async |caller, number: u64| {
            self.client(caller).start_job(HOME, &others[usize::try_from(number)?]).await?;
            Ok(())
        };
        let mut begun = Instant::now();
        self.share(IN_FLIGHT, others.len() as u64, start).await?;
        if from_last {
            begun = Instant::now();
        }
        self.client(0).start_job(HOME, first).await?;
        // This job usually ends last, so few others need more than one request.
        let last = others.last().unwrap_or(first);
        self.client(0).wait_to_the_end(HOME, last, Some(STUCK_AFTER)).await?;
        self.check(ids).await?;
        Ok(begun.elapsed())
    }
}
