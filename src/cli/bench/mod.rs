//! `hero bench`: measures the speed of a server through WebSocket, and its cost.

mod coordinator;
mod group;
mod hold;
mod load;
mod objects;
mod programs;
mod redis_cost;
mod report;
mod scripts;
mod step;
mod usage;

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use tokio::time::sleep;

use super::global::Global;
use super::interrupt::interruptible;
use super::local_server::{LocalServer, TempDir};
use super::output;
use crate::client::{Client, Options, Reconnect};
use crate::exit::Exit;
use crate::store::{Endpoint, Profile};
use load::Load;
use objects::Objects;
use redis_cost::RedisMeter;
use report::{Compat, Drain, Report, Rest, Submit, Waiting};
use scripts::{Python, Script};
use step::Steps;
use usage::{Meter, Tree};

/// Time after a start until the server is at rest.
const UNTIL_REST: Duration = Duration::from_secs(3);

/// Measures submitting, draining and run-and-wait of `40 + 2` jobs.
///
/// Without --server, starts and stops a separate server. On a given server, removes its jobs at the end.
#[derive(Debug, Args)]
pub(super) struct Bench {
    /// Number of jobs to submit and drain. Run-and-wait uses the same number, one caller a tenth of it
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(100..=10_000_000))]
    jobs: u64,
    /// Number of connections that share the calls
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=512))]
    connections: u16,
    /// Number of jobs that wait for one job. A tenth of it wait for each other in a chain [default: half of --jobs, at
    /// most 10000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(10..=90_000))]
    related: Option<u64>,
    /// Time to watch the server at rest, in seconds; 0 skips this
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    rest: u64,
    /// Use this Redis for the started server instead of a private one
    #[arg(long, value_name = "URL")]
    redis: Option<String>,
    /// Pools of the started server, as for `hero serve`
    #[arg(long = "pool", value_name = "TYPE[:GROUP]=N")]
    pools: Vec<String>,
    /// A program that runs scripts with Rhai alone, for comparison. `cargo build --release --example bare` builds it
    #[arg(long, value_name = "PROGRAM", value_hint = clap::ValueHint::FilePath)]
    bare: Option<PathBuf>,
    /// Only these measurements, separated by commas
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WHAT")]
    only: Vec<Part>,
}

/// The separate measurements. A server of others is only measured up to `groups`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// The server at rest
    Rest,
    /// Callers that wait for their jobs
    Waiting,
    /// Jobs submitted to running actors
    Submit,
    /// Jobs created in groups, jobs that wait for each other, and the times they block Redis
    Groups,
    /// Storing and finding objects
    Objects,
    /// Several scripts, compared to Python and Node.js processes
    Scripts,
    /// Empty jobs in Python
    Python,
    /// Draining a full queue
    Drain,
    /// The cost of the queues of other layouts
    Compat,
    /// The cost of login
    Login,
    /// The cost of flows, compared to jobs that wait for each other
    Flows,
    /// A server with half as many identities as --jobs, at most 10,000, and a tenth as many contexts. Always uses a
    /// private Redis, which has a database for each
    Contexts,
}

/// A measurement in progress.
struct Measuring<'a> {
    bench: &'a Bench,
    steps: Rc<Steps>,
}

impl Bench {
    /// Returns the number of jobs that wait for one.
    fn related(&self) -> u64 {
        self.related.unwrap_or((self.jobs / 2).min(10_000))
    }

    pub(super) async fn main(&self, global: &Global) -> anyhow::Result<Exit> {
        if cfg!(debug_assertions) {
            output::note("this is a debug build: its figures say nothing; use `make bench`");
        }
        let measuring = Measuring { bench: self, steps: Rc::new(Steps::new(global.json)) };
        let report = match global.named_server() {
            Some(server) => measuring.foreign(global, &server).await?,
            None => interruptible(Box::pin(measuring.own())).await?,
        };
        if global.json {
            output::json(&report)?
        } else {
            report.print()?
        }
        Ok(Exit::Ok)
    }
}

impl Measuring<'_> {
    /// Measures a server of others. Removes its jobs afterwards, even when interrupted.
    async fn foreign(&self, global: &Global, server: &str) -> anyhow::Result<Report> {
        let mut clients = Vec::new();
        for _ in 0..self.bench.connections {
            clients.push(global.connect_for(Duration::ZERO).await?);
        }
        let load = Load::new(clients, &self.steps).tidy();
        let measured = interruptible(Box::pin(self.measure(&load, server))).await;
        let left = interruptible(async { Ok(load.clean().await) }).await;
        match left {
            Ok(0) => {}
            Ok(left) => output::note(format!("{left} jobs of this measurement could not be removed; they are gone after an hour")),
            Err(_) => output::note("not all jobs of this measurement were removed; they are gone after an hour"),
        }
        measured
    }

    async fn measure(&self, load: &Load, server: &str) -> anyhow::Result<Report> {
        self.warm_up(load).await?;
        Ok(Report {
            server: server.to_owned(),
            jobs: self.bench.jobs,
            submit: self.submit(load, None, None).await?,
            waiting: self.waiting(load, None, None).await?,
            groups: self.groups(load, None).await?,
            ..Report::default()
        })
    }

    /// Measures a server started for this purpose.
    async fn own(&self) -> anyhow::Result<Report> {
        let directory = TempDir::new()?;
        let pools: Vec<&str> = self.bench.pools.iter().flat_map(|pool| ["--pool", pool]).collect();
        let server = self.start(&directory, &pools).await?;
        let tree = Tree::of(server.pid());
        let load = Load::new(self.connect(&server.url).await?, &self.steps);
        self.warm_up(&load).await?;
        let rest = self.at_rest(tree).await?;
        // Does not measure the commands of a shared Redis.
        let gauge = if self.bench.redis.is_none() { Some(gauge(directory.path()).await?) } else { None };
        let waiting = self.waiting(&load, Some(tree), gauge.as_ref()).await?;
        let submit = self.submit(&load, Some(tree), gauge.as_ref()).await?;
        let groups = self.groups(&load, gauge.as_ref()).await?;
        let mut flows = Vec::new();
        if self.measures(Part::Flows) {
            flows = self.steps.step("running flows", 0, self.flows(&load, Some(tree))).await?;
        }
        let held = if self.measures(Part::Groups) { Box::pin(self.held()).await? } else { Vec::new() };
        let objects = self.objects(&load).await?;
        let scripts = self.scripts(&load).await?;
        drop((load, gauge));
        server.stop().await?;
        let python = self.python(&directory).await?;
        let drain = if self.measures(Part::Drain) { Some(self.drain(&directory, &pools, "").await?.0) } else { None };
        let compat = self.compat(&directory, &pools).await?;
        let (mut login, mut contexts) = (None, None);
        if self.measures(Part::Login) {
            login = Some(Box::pin(self.steps.step("calling with and without login", 0, self.login(&pools))).await?);
        }
        if self.measures(Part::Contexts) {
            let step = self.steps.step("making contexts and identities, and starting with them", 0, self.contexts());
            contexts = Some(Box::pin(step).await?);
        }
        let (server, jobs) = ("its own".to_owned(), self.bench.jobs);
        Ok(Report { server, jobs, rest, submit, drain, waiting, groups, held, objects, scripts, python, compat, login, flows, contexts })
    }

    /// Whether to measure this part.
    fn measures(&self, part: Part) -> bool {
        self.bench.only.is_empty() || self.bench.only.contains(&part)
    }

    async fn warm_up(&self, load: &Load) -> anyhow::Result<()> {
        self.steps.step("warming up", 0, load.warm_up()).await
    }

    async fn start(&self, directory: &TempDir, pools: &[&str]) -> anyhow::Result<LocalServer> {
        let redis = self.bench.redis.iter().flat_map(|url| ["--redis", url]);
        self.start_on_private_redis(directory, &pools.iter().copied().chain(redis).collect::<Vec<_>>()).await
    }

    async fn start_on_private_redis(&self, directory: &TempDir, arguments: &[&str]) -> anyhow::Result<LocalServer> {
        LocalServer::start(directory.path(), &[arguments, &["--log-level", "warn"]].concat()).await
    }

    async fn connect(&self, url: &str) -> anyhow::Result<Vec<Client>> {
        let mut clients = Vec::new();
        for _ in 0..self.bench.connections {
            // Without idempotency keys of the client, to measure exactly the given calls.
            clients.push(Client::connect_with(url, Options { reconnect: Reconnect::NEVER, ..Options::default() }).await?);
        }
        Ok(clients)
    }

    async fn at_rest(&self, tree: Tree) -> anyhow::Result<Option<Rest>> {
        if self.bench.rest == 0 || !self.measures(Part::Rest) {
            return Ok(None);
        }
        sleep(UNTIL_REST).await;
        let meter = Meter::start(Some(tree));
        let begun = Instant::now();
        let rest = async {
            sleep(Duration::from_secs(self.bench.rest)).await;
            Ok(())
        };
        self.steps.step("watching the server at rest", 0, rest).await?;
        let (cpu, wall) = (meter.stop(), begun.elapsed().as_secs_f64());
        Ok(Some(Rest {
            pss_mb: tree.pss()? as f64 / f64::from(1 << 20),
            processes: tree.len(),
            cpu_percent: cpu.server.unwrap_or_default() / wall * 100.0,
        }))
    }

    /// Submits all jobs to running actors, and waits until they are done.
    async fn submit(&self, load: &Load, tree: Option<Tree>, gauge: Option<&Profile>) -> anyhow::Result<Option<Submit>> {
        if !self.measures(Part::Submit) {
            return Ok(None);
        }
        let redis = RedisMeter::start(gauge).await?;
        let (meter, begun, jobs) = (Meter::start(tree), Instant::now(), self.bench.jobs);
        let ids = self.steps.step("submitting, actors running", jobs, load.submit(jobs)).await?;
        let submitted = begun.elapsed().as_secs_f64();
        load.wait_until_empty().await?;
        let done = begun.elapsed().as_secs_f64();
        let (cpu, redis_per_job) = (meter.stop().per_thousand(jobs), redis.per_job(jobs).await?);
        load.check(&ids).await?;
        let (submit_per_s, end_to_end_per_s) = (jobs as f64 / submitted, jobs as f64 / done);
        Ok(Some(Submit { submit_per_s, end_to_end_per_s, cpu_s_per_1000: cpu, redis_per_job }))
    }

    /// Stores objects, five for each job, and finds some of them.
    async fn objects(&self, load: &Load) -> anyhow::Result<Option<Objects>> {
        if !self.measures(Part::Objects) {
            return Ok(None);
        }
        let objects = 5 * self.bench.jobs;
        let measured = load.objects(objects, (self.bench.jobs / 10).clamp(10, 2000));
        self.steps.step("storing and finding objects", objects, measured).await.map(Some)
    }

    /// Runs several scripts.
    async fn scripts(&self, load: &Load) -> anyhow::Result<Vec<Script>> {
        if !self.measures(Part::Scripts) {
            return Ok(Vec::new());
        }
        self.steps.step("running several scripts", 0, load.scripts((self.bench.jobs / 60).clamp(2, 300), self.bench.bare.as_deref())).await
    }

    /// Runs empty Python jobs on a server with a pool for them.
    async fn python(&self, directory: &TempDir) -> anyhow::Result<Option<Python>> {
        if !self.measures(Part::Python) || !Python::is_here().await {
            return Ok(None);
        }
        let server = self.start(directory, &["--pool", "python=2"]).await?;
        let load = Load::new(self.connect(&server.url).await?, &self.steps);
        let measured = self.steps.step("running empty jobs in Python", 0, load.python((self.bench.jobs / 60).clamp(2, 300))).await?;
        drop(load);
        server.stop().await?;
        Ok(Some(measured))
    }

    /// Compares the cost of draining for Redis with and without the queues of other layouts, twice each in turn.
    async fn compat(&self, directory: &TempDir, pools: &[&str]) -> anyhow::Result<Option<Compat>> {
        if !self.measures(Part::Compat) {
            return Ok(None);
        }
        let mut least = [f64::INFINITY; 2];
        for run in 0..4 {
            let compat = ["none", "all"][run % 2];
            let arguments: Vec<&str> = pools.iter().copied().chain(["--compat", compat]).collect();
            let (_, Some(function_us)) = self.drain(directory, &arguments, &format!(", --compat {compat}")).await? else { return Ok(None) };
            least[run % 2] = least[run % 2].min(function_us);
        }
        let [canonical_us, all_us] = least;
        Ok(Some(Compat { canonical_us, all_us, ratio: all_us / canonical_us }))
    }

    /// Fills the queue while no actor lives, and measures how long new actors need to empty it. Also returns the cost
    /// for Redis per job, in microseconds of scripts.
    async fn drain(&self, directory: &TempDir, pools: &[&str], how: &str) -> anyhow::Result<(Drain, Option<f64>)> {
        let idle = self.start(directory, &["--pool", "none"]).await?;
        let load = Load::new(self.connect(&idle.url).await?, &self.steps);
        let (begun, jobs) = (Instant::now(), self.bench.jobs);
        let ids = self.steps.step(&format!("submitting, no actors{how}"), jobs, load.submit(jobs)).await?;
        let submitted = begun.elapsed().as_secs_f64();
        drop(load);
        idle.stop().await?;
        let server = self.start(directory, pools).await?;
        let load = Load::new(self.connect(&server.url).await?, &self.steps);
        let (meter, begun) = (Meter::start(Some(Tree::of(server.pid()))), Instant::now());
        let gauge = if self.bench.redis.is_none() { Some(gauge(directory.path()).await?) } else { None };
        if let Some(gauge) = &gauge {
            gauge.reset().await?;
        }
        let redis = RedisMeter::start(gauge.as_ref()).await?;
        let waiting = load.depth().await?;
        self.steps.step(&format!("draining a full queue{how}"), 0, load.wait_until_empty()).await?;
        let wall = begun.elapsed().as_secs_f64();
        let (cpu_s_per_1000, redis_per_job) = (meter.stop().per_thousand(waiting), redis.per_job(waiting).await?);
        let function_us = match &gauge {
            Some(gauge) => Some(gauge.function_us().await? / waiting.max(1) as f64),
            None => None,
        };
        load.check(&ids).await?;
        drop(load);
        server.stop().await?;
        let (submit_per_s, drain_per_s) = (jobs as f64 / submitted, waiting as f64 / wall);
        Ok((Drain { submit_per_s, timed_jobs: waiting, drain_per_s, cpu_s_per_1000, redis_per_job }, function_us))
    }

    async fn waiting(&self, load: &Load, tree: Option<Tree>, gauge: Option<&Profile>) -> anyhow::Result<Vec<Waiting>> {
        let mut rows = Vec::new();
        if !self.measures(Part::Waiting) {
            return Ok(rows);
        }
        for (callers, jobs) in [(1, self.bench.jobs / 10), (64, self.bench.jobs), (256, self.bench.jobs)] {
            let (redis, meter) = (RedisMeter::start(gauge).await?, Meter::start(tree));
            let run = self.steps.step(&report::run_and_wait(callers), jobs, load.run_and_wait(callers, jobs)).await?;
            let (cpu_s_per_1000, redis_per_job) = (meter.stop().per_thousand(jobs), redis.per_job(jobs).await?);
            let [p50_ms, p95_ms, p99_ms] = [0.5, 0.95, 0.99].map(|share| run.quantile_ms(share));
            let per_s = jobs as f64 / run.wall.as_secs_f64();
            rows.push(Waiting { callers, jobs, per_s, p50_ms, p95_ms, p99_ms, cpu_s_per_1000, redis_per_job });
        }
        Ok(rows)
    }
}

/// Opens the private Redis of the server with this data directory.
async fn gauge(data: &Path) -> anyhow::Result<Profile> {
    let url = format!("unix://{}", data.join("redis.sock").display());
    let secret = std::fs::read_to_string(data.join("redis.secret")).context("the server has no Redis of its own")?;
    let endpoint = Endpoint { url, password: Some(secret.trim().to_owned()), ..Endpoint::default() };
    Profile::of(&endpoint).await.context("the Redis of the server does not answer")
}
