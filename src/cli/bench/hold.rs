//! Measures how long a single function blocks Redis when it handles many jobs at once.

use std::collections::BTreeMap;

use serde::Serialize;

use super::coordinator::median;
use super::load::{HOME, IN_FLIGHT, Load, STUCK_AFTER};
use super::{Measuring, gauge};
use crate::cli::local_server::TempDir;
use crate::client::{Error, code};
use crate::model::{FlowId, FlowJobSpec, FlowSpec, JobId, JobSpec};
use crate::store::Profile;

/// The shapes of groups to create. Each job relates to one of the existing jobs.
const SHAPES: [&str; 8] = ["plain", "chain", "children", "after", "continuations", "keyed", "dependents", "children_after"];
/// The number of repetitions.
const REPETITIONS: usize = 9;
/// The number of jobs from which on all repetitions are done.
const MIN_JOBS_FOR_ALL_REPETITIONS: u64 = 1000;

/// An operation, and the times that its functions blocked Redis.
#[derive(Debug, Serialize)]
pub(super) struct Held {
    /// The created group (`plain`, `chain`, `children` and `continuations` of others, `after` others, `keyed`, with
    /// `dependents` among others, `children_after`, a `flow`) or the operation (`start_flow`, `release` of waiting
    /// jobs, `stop_flow`).
    pub(super) what: &'static str,
    /// The number of jobs.
    pub(super) jobs: usize,
    /// The slowest function.
    pub(super) function: String,
    /// Its longest call, ms.
    pub(super) longest_ms: f64,
    /// The median over all repetitions of its longest call, ms.
    pub(super) median_ms: f64,
    /// For each function its longest call, and the median over all repetitions of its longest call, ms.
    pub(super) functions: BTreeMap<String, [f64; 2]>,
}

/// For each operation the longest call of each function, ms, per repetition.
type Times = BTreeMap<&'static str, Vec<BTreeMap<String, f64>>>;

impl Measuring<'_> {
    /// Measures on a separate server, so that its Redis does nothing else.
    pub(super) async fn held(&self) -> anyhow::Result<Vec<Held>> {
        let directory = TempDir::new()?;
        let server = self.start_on_private_redis(&directory, &[]).await?;
        let gauge = gauge(directory.path()).await?;
        gauge.remember_more().await?;
        let load = Load::new(self.connect(&server.url).await?, &self.steps);
        let jobs = usize::try_from(self.bench.jobs.min(MIN_JOBS_FOR_ALL_REPETITIONS))?;
        let related = usize::try_from(self.bench.related())?;
        let rounds = if self.bench.jobs < MIN_JOBS_FOR_ALL_REPETITIONS { 1 } else { REPETITIONS };
        let mut times = Times::new();
        let measuring = async {
            for round in 0..rounds {
                load.hold(&gauge, &mut times, jobs, related, round).await?;
            }
            anyhow::Ok(())
        };
        self.steps.step("doing much at once", 0, measuring).await?;
        drop((load, gauge));
        server.stop().await?;
        Ok(times.into_iter().map(|(what, times)| Held::of(what, if what == "release" { related } else { jobs }, &times)).collect())
    }
}

impl Held {
    fn of(what: &'static str, jobs: usize, times: &[BTreeMap<String, f64>]) -> Self {
        let mut functions: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        times.iter().flatten().for_each(|(function, ms)| functions.entry(function.clone()).or_default().push(*ms));
        let both = |times: Vec<f64>| [times.iter().copied().fold(0.0, f64::max), median(times)];
        let functions: BTreeMap<String, [f64; 2]> = functions.into_iter().map(|(function, times)| (function, both(times))).collect();
        let longest = functions.iter().max_by(|(_, one), (_, other)| one[1].total_cmp(&other[1]));
        let (function, [longest_ms, median_ms]) = longest.map(|(function, times)| (function.clone(), *times)).unwrap_or_default();
        Self { what, jobs, function, longest_ms, median_ms, functions }
    }
}

impl Load {
    /// Does each operation once, and records its times.
    async fn hold(&self, gauge: &Profile, times: &mut Times, jobs: usize, related: usize, round: usize) -> anyhow::Result<()> {
        for shape in SHAPES {
            let others = self.client(0).create_jobs(&self.specs(jobs as u64)).await?;
            let specs = self.shape(shape, &others, round);
            gauge.reset().await?;
            self.client(0).create_jobs(&specs).await?;
            times.entry(shape).or_default().push(gauge.longest_of_functions_ms().await?);
        }
        gauge.reset().await?;
        let flow = self.waiting_flow(jobs).await?;
        times.entry("flow").or_default().push(gauge.longest_of_functions_ms().await?);
        gauge.reset().await?;
        self.client(0).start_flow(HOME, flow).await?;
        times.entry("start_flow").or_default().push(gauge.longest_of_functions_ms().await?);
        gauge.reset().await?;
        self.client(0).stop_flow(HOME, flow).await?;
        match self.client(0).wait_flow(HOME, flow, Some(STUCK_AFTER)).await {
            Err(Error::Rpc(stopped)) if stopped.code == code::JOB_STOPPED => {}
            ended => drop(ended?),
        }
        times.entry("stop_flow").or_default().push(gauge.longest_of_functions_ms().await?);
        self.client(0).delete_flow(HOME, flow).await?;
        let waiting = self.fan_out(related as u64);
        let (_, ids) = self.create_in_groups(&waiting).await?;
        let start = async |caller, number: u64| {
            self.client(caller).start_job(HOME, &ids[usize::try_from(number)? + 1]).await?;
            Ok(())
        };
        self.share(IN_FLIGHT, ids.len() as u64 - 1, start).await?;
        gauge.reset().await?;
        self.client(0).start_job(HOME, &ids[0]).await?;
        self.check(&ids).await?;
        times.entry("release").or_default().push(gauge.longest_of_functions_ms().await?);
        Ok(())
    }

    /// Returns a group with one job for each of these others.
    fn shape(&self, shape: &str, others: &[JobId], round: usize) -> Vec<JobSpec> {
        if shape == "chain" {
            return self.chain(others.len() as u64);
        }
        let one = |(at, other): (usize, &JobId)| {
            let job = self.job();
            match shape {
                "children" => JobSpec { parent_id: Some(other.clone()), ..job },
                "after" => JobSpec { prerequisites: vec![other.clone()], ..job },
                "continuations" => JobSpec { predecessor_id: Some(other.clone()), ..job },
                "keyed" => JobSpec { idempotency_key: Some(format!("{round}:{at}")), ..job },
                "dependents" => JobSpec { dependents: vec![other.clone()], ..job },
                "children_after" => {
                    JobSpec { prerequisites: vec![other.clone()], parent_id: Some(others[(at + 1) % others.len()].clone()), ..job }
                }
                _ => job,
            }
        };
        others.iter().enumerate().map(one).collect()
    }

    /// Creates a flow in which all jobs but one wait for a job that runs until it is stopped.
    async fn waiting_flow(&self, jobs: usize) -> anyhow::Result<FlowId> {
        let name = |at: usize| format!("j{at:04}");
        let job = |at: usize| FlowJobSpec {
            script: if at == 0 { "sleep(300)".to_owned() } else { self.job().script },
            depends_on: (at > 0).then(|| name(0)).into_iter().collect(),
            ..FlowJobSpec::default()
        };
        let jobs: BTreeMap<String, FlowJobSpec> = (0..jobs).map(|at| (name(at), job(at))).collect();
        Ok(self.client(0).create_flow(&FlowSpec { jobs, ..FlowSpec::default() }).await?)
    }
}
