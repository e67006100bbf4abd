//! `hero bench`: how fast a server is, seen from outside over WebSocket, and what that costs.

mod load;
mod report;
mod usage;

use std::time::{Duration, Instant};

use clap::Args;
use tokio::time::sleep;

use super::exit::Exit;
use super::output;
use super::session::Global;
use super::spawned::{Spawned, TempDir};
use crate::client::Client;
use load::Load;
use report::{Drain, Report, Rest, Submit, Waiting};
use usage::{Meter, Tree};

/// What settles after a start is over by then.
const SETTLE: Duration = Duration::from_secs(3);

/// Measures submitting, draining and run-and-wait of `40 + 2` jobs.
///
/// Without --server it starts a server of its own, and stops it again.
#[derive(Debug, Args)]
pub(super) struct Bench {
    /// How many jobs to submit and drain; run-and-wait uses as many, one caller a tenth
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(100..=10_000_000))]
    jobs: u64,
    /// Share the calls between so many connections
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=512))]
    connections: u16,
    /// How many seconds to watch the server at rest; 0 skips that
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    rest: u64,
    /// Let the server that is started use this Redis instead of a private one
    #[arg(long, value_name = "URL")]
    redis: Option<String>,
    /// Pools of the server that is started, as for `hero serve`
    #[arg(long = "pool", value_name = "TYPE[:GROUP]=N")]
    pools: Vec<String>,
}

impl Bench {
    pub(super) async fn main(&self, global: &Global) -> anyhow::Result<Exit> {
        if cfg!(debug_assertions) {
            eprintln!("this is a debug build: its figures say nothing; use `make bench`");
        }
        let report = match global.named_server() {
            Some(server) => self.foreign(global, server).await?,
            None => self.own().await?,
        };
        if global.json {
            output::json(&report)?
        } else {
            report.print()?
        }
        Ok(Exit::Ok)
    }

    /// Measures a server that others run.
    async fn foreign(&self, global: &Global, server: &str) -> anyhow::Result<Report> {
        let mut clients = Vec::new();
        for _ in 0..self.connections {
            clients.push(global.connect().await?);
        }
        let load = Load::new(clients);
        load.warm_up().await?;
        let submit = self.submit(&load, None).await?;
        Ok(Report {
            server: server.to_owned(),
            jobs: self.jobs,
            rest: None,
            submit,
            drain: None,
            waiting: self.waiting(&load, None).await?,
        })
    }

    /// Measures a server that is started for it.
    async fn own(&self) -> anyhow::Result<Report> {
        let directory = TempDir::new()?;
        let pools: Vec<&str> = self.pools.iter().flat_map(|pool| ["--pool", pool]).collect();
        let server = self.start(&directory, &pools).await?;
        let tree = Tree::of(server.pid());
        let load = Load::new(self.connect(&server.url).await?);
        load.warm_up().await?;
        sleep(SETTLE).await;
        let rest = self.at_rest(tree).await?;
        let waiting = self.waiting(&load, Some(tree)).await?;
        let submit = self.submit(&load, Some(tree)).await?;
        drop(load);
        server.stop().await?;
        let drain = self.drain(&directory, &pools).await?;
        Ok(Report { server: "its own".to_owned(), jobs: self.jobs, rest, submit, drain: Some(drain), waiting })
    }

    async fn start(&self, directory: &TempDir, pools: &[&str]) -> anyhow::Result<Spawned> {
        let redis = self.redis.iter().flat_map(|url| ["--redis", url]);
        let arguments: Vec<&str> = pools.iter().copied().chain(redis).chain(["--log-level", "warn"]).collect();
        Spawned::start(directory.path(), &arguments).await
    }

    async fn connect(&self, url: &str) -> anyhow::Result<Vec<Client>> {
        let mut clients = Vec::new();
        for _ in 0..self.connections {
            clients.push(Client::connect(url, None).await?);
        }
        Ok(clients)
    }

    async fn at_rest(&self, tree: Tree) -> anyhow::Result<Option<Rest>> {
        if self.rest == 0 {
            return Ok(None);
        }
        let meter = Meter::start(Some(tree));
        let begun = Instant::now();
        sleep(Duration::from_secs(self.rest)).await;
        let (cpu, wall) = (meter.stop(), begun.elapsed().as_secs_f64());
        Ok(Some(Rest {
            pss_mb: tree.pss()? as f64 / f64::from(1 << 20),
            processes: tree.len(),
            cpu_percent: cpu.server.unwrap_or_default() / wall * 100.0,
        }))
    }

    /// Submits all jobs to running actors, and waits until they are done.
    async fn submit(&self, load: &Load, tree: Option<Tree>) -> anyhow::Result<Submit> {
        let (meter, begun) = (Meter::start(tree), Instant::now());
        let ids = load.submit(self.jobs).await?;
        let submitted = begun.elapsed().as_secs_f64();
        load.wait_until_empty().await?;
        let done = begun.elapsed().as_secs_f64();
        let cpu = meter.stop().per_thousand(self.jobs);
        load.check(&ids).await?;
        Ok(Submit { submit_per_s: self.jobs as f64 / submitted, end_to_end_per_s: self.jobs as f64 / done, cpu_s_per_1000: cpu })
    }

    /// Fills the queue while no actor lives, and times how long fresh actors need to empty it.
    async fn drain(&self, directory: &TempDir, pools: &[&str]) -> anyhow::Result<Drain> {
        let idle = self.start(directory, &["--pool", "none"]).await?;
        let load = Load::new(self.connect(&idle.url).await?);
        let begun = Instant::now();
        let ids = load.submit(self.jobs).await?;
        let submitted = begun.elapsed().as_secs_f64();
        drop(load);
        idle.stop().await?;
        let server = self.start(directory, pools).await?;
        let load = Load::new(self.connect(&server.url).await?);
        let (meter, begun) = (Meter::start(Some(Tree::of(server.pid()))), Instant::now());
        let waiting = load.depth().await?;
        load.wait_until_empty().await?;
        let wall = begun.elapsed().as_secs_f64();
        let cpu = meter.stop().per_thousand(waiting);
        load.check(&ids).await?;
        drop(load);
        server.stop().await?;
        Ok(Drain {
            submit_per_s: self.jobs as f64 / submitted,
            timed_jobs: waiting,
            drain_per_s: waiting as f64 / wall,
            cpu_s_per_1000: cpu,
        })
    }

    async fn waiting(&self, load: &Load, tree: Option<Tree>) -> anyhow::Result<Vec<Waiting>> {
        let mut rows = Vec::new();
        for (callers, jobs) in [(1, self.jobs / 10), (64, self.jobs), (256, self.jobs)] {
            let meter = Meter::start(tree);
            let run = load.run_and_wait(callers, jobs).await?;
            let cpu_s_per_1000 = meter.stop().per_thousand(jobs);
            let [p50_ms, p95_ms, p99_ms] = [0.5, 0.95, 0.99].map(|share| run.quantile_ms(share));
            rows.push(Waiting { callers, jobs, per_s: jobs as f64 / run.wall.as_secs_f64(), p50_ms, p95_ms, p99_ms, cpu_s_per_1000 });
        }
        Ok(rows)
    }
}
