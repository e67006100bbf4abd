//! Measures the cost of logins, flows, and a server with many contexts and identities.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::time::sleep;

use super::load::{HOME, IN_FLIGHT, Load, Run, STUCK_AFTER};
use super::usage::{Meter, Tree};
use super::{Measuring, UNTIL_REST};
use crate::cli::local_server::{LocalServer, TempDir};
use crate::client::{Client, Options, Reconnect};
use crate::model::{ContextLimits, FlowJobSpec, FlowSpec, JobId, JobSpec, PrivateKey, Role};
use crate::server::run::OPERATOR_SOCKET;

/// The number of turns of a comparison, so that other load on the machine affects both sides equally. Shorter turns do
/// that better.
const COMPARISON_TURNS: u64 = 100;
/// The number of turns of flows, each with the same number of jobs.
const FLOW_TURNS: usize = 5;
/// The maximum number of identities of the server watched at rest. It has a tenth as many contexts.
const MAX_IDENTITIES: u64 = 10_000;
/// The arguments of a separate server with login. It has no other callers, and rests sooner than others.
const LOGIN: [&str; 5] = ["--login", "--calls-per-second", "0", "--engine-idle", "1s"];

/// The cost of login for a caller that waits for one job after another.
#[derive(Debug, Serialize)]
pub(super) struct Login {
    /// The medians without login, with login but no audit log, and with both, which is the default.
    pub(super) none_ms: f64,
    pub(super) unrecorded_ms: f64,
    pub(super) recorded_ms: f64,
    /// `unrecorded_ms` and `recorded_ms`, each divided by `none_ms`.
    pub(super) ratios: [f64; 2],
}

/// The cost of jobs in a flow, compared to separate jobs with the same dependencies.
#[derive(Debug, Serialize)]
pub(super) struct Flows {
    /// The number of jobs that run at once: each waits for the job this far before it.
    pub(super) width: usize,
    pub(super) jobs: usize,
    /// The time from creation to the last end, divided by the number of jobs, in ms: medians.
    pub(super) plain_ms: f64,
    pub(super) flow_ms: f64,
    /// The median of the ratios of turns.
    pub(super) ratio: f64,
    /// Processor time of the server with its Redis and engines: that of flows divided by that of plain jobs.
    pub(super) cpu_ratio: Option<f64>,
}

/// A server with many contexts and identities.
#[derive(Debug, Serialize)]
pub(super) struct Contexts {
    pub(super) contexts: u64,
    pub(super) identities: u64,
    /// The time from start to ready line, with and without contexts and identities.
    pub(super) start_s: f64,
    pub(super) empty_start_s: f64,
    /// The memory at rest with engines and Redis, with and without contexts and identities.
    pub(super) pss_mb: f64,
    pub(super) empty_pss_mb: f64,
    pub(super) cpu_percent: f64,
}

/// A server of a comparison, and its load. The server is dropped before its directory.
struct Compared {
    load: Load,
    server: LocalServer,
    _data: TempDir,
}

impl Measuring<'_> {
    /// Compares run-and-wait of one caller on servers with and without login, in turns.
    pub(super) async fn login(&self, pools: &[&str]) -> anyhow::Result<Login> {
        let unlimited = ["--calls-per-second", "0"];
        let variants: [&[&str]; 3] = [&[], &["--login", "--audit=false"], &["--login"]];
        let mut compared = Vec::new();
        for variant in variants {
            let data = TempDir::new()?;
            let server = self.start(&data, &[pools, &unlimited, variant].concat()).await?;
            let client = match variant {
                [] => Client::connect_with(&server.url, Options { reconnect: Reconnect::NEVER, ..Options::default() }).await?,
                _ => caller(&data, &server).await?,
            };
            let load = Load::new(vec![client], &self.steps);
            load.run_and_wait(1, 100).await?;
            compared.push(Compared { load, server, _data: data });
        }
        let mut times: [Vec<Duration>; 3] = Default::default();
        for turn in 0..COMPARISON_TURNS {
            for at in 0..compared.len() {
                let at = (at + usize::try_from(turn)?) % compared.len();
                times[at].extend(compared[at].load.run_and_wait(1, (self.bench.jobs / 10 / COMPARISON_TURNS).max(20)).await?.times());
            }
        }
        let [none_ms, unrecorded_ms, recorded_ms] = times.map(|times| Run::of(times).quantile_ms(0.5));
        for Compared { load, server, .. } in compared {
            drop(load);
            server.stop().await?;
        }
        Ok(Login { none_ms, unrecorded_ms, recorded_ms, ratios: [unrecorded_ms / none_ms, recorded_ms / none_ms] })
    }

    /// Compares dependent jobs as separate jobs and as a flow, in turns.
    pub(super) async fn flows(&self, load: &Load, tree: Option<Tree>) -> anyhow::Result<Vec<Flows>> {
        let mut measured = Vec::new();
        let jobs = usize::try_from((self.bench.jobs / 10).clamp(20, 1000))?;
        for width in [1, 10] {
            let (mut plain, mut flow, mut cpu) = (Vec::new(), Vec::new(), [Some(0.0); 2]);
            for _ in 0..FLOW_TURNS {
                let meter = Meter::start(tree);
                plain.push(load.run_plain(jobs, width).await?);
                add(&mut cpu[0], meter.stop().server);
                let meter = Meter::start(tree);
                flow.push(load.run_flow(jobs, width).await?);
                add(&mut cpu[1], meter.stop().server);
            }
            let ratios = plain.iter().zip(&flow).map(|(plain, flow)| flow.as_secs_f64() / plain.as_secs_f64()).collect();
            let each_ms = |times: &[Duration]| median(times.iter().map(|time| time.as_secs_f64() * 1e3 / jobs as f64).collect());
            let (plain_ms, flow_ms) = (each_ms(&plain), each_ms(&flow));
            let cpu_ratio = cpu[0].zip(cpu[1]).map(|(plain, flow)| flow / plain);
            measured.push(Flows { width, jobs, plain_ms, flow_ms, ratio: median(ratios), cpu_ratio });
        }
        Ok(measured)
    }

    /// Starts a server with many contexts and identities, and watches it at rest.
    pub(super) async fn contexts(&self) -> anyhow::Result<Contexts> {
        let data = TempDir::new()?;
        let server = self.start_on_private_redis(&data, &LOGIN).await?;
        server.stop().await?;
        let (empty_start_s, empty_pss_mb, _) = self.rested(&data).await?;
        let server = self.start_on_private_redis(&data, &LOGIN).await?;
        let operator = operator(&data).await?;
        let load = Load::new(vec![operator], &self.steps);
        let identities = (self.bench.jobs / 2).min(MAX_IDENTITIES);
        let contexts = identities / 10;
        let fill = async |_, number: u64| {
            let client = load.client(0);
            let identity = client.create_identity(Some(&PrivateKey::random().public_key()), &[]).await?;
            if number < contexts {
                let context = client.create_context(None, &[identity.identity_id], ContextLimits::default()).await?;
                client.set_role(identity.identity_id, Role::Caller, context.context_id, true).await?;
            }
            Ok(())
        };
        load.share(IN_FLIGHT / 4, identities, fill).await?;
        drop(load);
        server.stop().await?;
        let (start_s, pss_mb, cpu_percent) = self.rested(&data).await?;
        Ok(Contexts { contexts, identities, start_s, empty_start_s, pss_mb, empty_pss_mb, cpu_percent })
    }

    /// Returns the start time in s, the memory in MB after it, and the percentage of one core used at rest.
    async fn rested(&self, data: &TempDir) -> anyhow::Result<(f64, f64, f64)> {
        let begun = Instant::now();
        let server = self.start_on_private_redis(data, &LOGIN).await?;
        let start = begun.elapsed().as_secs_f64();
        // Wait until engines have ended and unused memory was given back.
        sleep(2 * UNTIL_REST).await;
        let tree = Tree::of(server.pid());
        let (meter, watched) = (Meter::start(Some(tree)), Instant::now());
        sleep(Duration::from_secs(self.bench.rest.max(1))).await;
        let cpu = meter.stop().server.unwrap_or_default() / watched.elapsed().as_secs_f64() * 100.0;
        let pss = tree.pss()? as f64 / f64::from(1 << 20);
        server.stop().await?;
        Ok((start, pss, cpu))
    }
}

impl Load {
    /// Returns the job that this one waits for, so that `width` jobs run at once.
    fn before(at: usize, width: usize) -> Option<usize> {
        at.checked_sub(width)
    }

    /// Creates jobs, starts them and waits for the last of them.
    async fn run_plain(&self, jobs: usize, width: usize) -> anyhow::Result<Duration> {
        let ids: Vec<JobId> = (0..jobs).map(|_| JobId::random()).collect();
        let spec = |at: usize| JobSpec {
            prerequisites: Self::before(at, width).map(|before| ids[before].clone()).into_iter().collect(),
            ..self.job_with(ids[at].clone())
        };
        let specs: Vec<JobSpec> = (0..jobs).map(spec).collect();
        let begun = Instant::now();
        self.client(0).create_jobs(&specs).await?;
        let start = async |_, number: u64| {
            self.client(0).start_job(HOME, &ids[usize::try_from(number)?]).await?;
            Ok(())
        };
        self.share(IN_FLIGHT, jobs as u64, start).await?;
        for last in ids.iter().rev().take(width) {
            self.client(0).wait_to_the_end(HOME, last, Some(STUCK_AFTER)).await?;
        }
        Ok(begun.elapsed())
    }

    /// Runs the same jobs as a flow.
    async fn run_flow(&self, jobs: usize, width: usize) -> anyhow::Result<Duration> {
        let name = |at: usize| format!("j{at:04}");
        let job = |at: usize| FlowJobSpec {
            script: self.job().script,
            depends_on: Self::before(at, width).map(name).into_iter().collect(),
            ..FlowJobSpec::default()
        };
        let jobs: BTreeMap<String, FlowJobSpec> = (0..jobs).map(|at| (name(at), job(at))).collect();
        let spec = FlowSpec { jobs, ..FlowSpec::default() };
        let begun = Instant::now();
        let flow = self.client(0).create_flow(&spec).await?;
        self.client(0).start_flow(HOME, flow).await?;
        self.client(0).wait_flow(HOME, flow, Some(STUCK_AFTER)).await?;
        Ok(begun.elapsed())
    }
}

/// Connects as the operator of the server with this data directory.
async fn operator(data: &TempDir) -> anyhow::Result<Client> {
    Ok(Client::connect(&format!("unix://{}", data.path().join(OPERATOR_SOCKET).display()), None).await?)
}

/// Connects as a caller to a server with login.
async fn caller(data: &TempDir, server: &LocalServer) -> anyhow::Result<Client> {
    let operator = operator(data).await?;
    let identity = operator.create_identity(None, &[]).await?.identity_id;
    operator.set_role(identity, Role::Caller, HOME, true).await?;
    let token = operator.create_token(identity, None, None).await?;
    let options = Options { token: Some(token.secret), reconnect: Reconnect::NEVER, ..Options::default() };
    Ok(Client::connect_with(&server.url, options).await?)
}

fn add(sum: &mut Option<f64>, more: Option<f64>) {
    *sum = sum.zip(more).map(|(sum, more)| sum + more);
}

/// Returns the median.
pub(super) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_unstable_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or_default()
}
