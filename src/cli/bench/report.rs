use serde::Serialize;

use super::usage::Cpu;
use crate::cli::output::{Style, Table, line};

/// Everything that was measured.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    /// Which server.
    pub(super) server: String,
    /// How many jobs were submitted.
    pub(super) jobs: u64,
    /// The server at rest.
    pub(super) rest: Option<Rest>,
    /// Jobs submitted to running actors.
    pub(super) submit: Submit,
    /// A full queue emptied.
    pub(super) drain: Option<Drain>,
    /// Callers that wait.
    pub(super) waiting: Vec<Waiting>,
    /// Jobs created in groups, and jobs that wait for each other.
    pub(super) groups: Vec<Group>,
    /// What it costs to look into the queues of other layouts, too.
    pub(super) compat: Option<Compat>,
}

/// Jobs that were created by `create_jobs`, 1000 a call.
#[derive(Debug, Serialize)]
pub(super) struct Group {
    /// `bulk` (nobody waits), `chain` (each waits for the one before), `fan_out` (all wait for one).
    pub(super) shape: &'static str,
    pub(super) jobs: u64,
    pub(super) create_per_s: f64,
    /// From the start of the job that all wait for.
    pub(super) run_per_s: f64,
    /// The longest time that Redis did nothing but one command while the jobs were created; 0 stands for less than 0.5.
    pub(super) create_blocked_ms: Option<f64>,
    /// The same while they ran.
    pub(super) run_blocked_ms: Option<f64>,
}

/// What Redis spends on taking and ending a job, in microseconds of scripts a job.
#[derive(Debug, Serialize)]
pub(super) struct Compat {
    /// With the queues of this server's own layout only.
    pub(super) canonical_us: f64,
    /// With those of all layouts.
    pub(super) all_us: f64,
    /// The second by the first.
    pub(super) ratio: f64,
}

#[derive(Debug, Serialize)]
pub(super) struct Rest {
    pub(super) pss_mb: f64,
    pub(super) processes: usize,
    pub(super) cpu_percent: f64,
}

#[derive(Debug, Serialize)]
pub(super) struct Submit {
    pub(super) submit_per_s: f64,
    pub(super) end_to_end_per_s: f64,
    pub(super) cpu_s_per_1000: Cpu,
}

#[derive(Debug, Serialize)]
pub(super) struct Drain {
    pub(super) submit_per_s: f64,
    pub(super) timed_jobs: u64,
    pub(super) drain_per_s: f64,
    pub(super) cpu_s_per_1000: Cpu,
}

#[derive(Debug, Serialize)]
pub(super) struct Waiting {
    pub(super) callers: u64,
    pub(super) jobs: u64,
    pub(super) per_s: f64,
    pub(super) p50_ms: f64,
    pub(super) p95_ms: f64,
    pub(super) p99_ms: f64,
    pub(super) cpu_s_per_1000: Cpu,
}

impl Report {
    pub(super) fn print(&self) -> anyhow::Result<()> {
        let head = ["MEASURE", "JOBS/S", "P50 MS", "P95 MS", "P99 MS", "SERVER CPU S/1000", "OF IT REDIS", "CLIENT"];
        let mut table = Table::new(Style::stdout(), &head);
        let mut row = |name: String, per_s: f64, times: [Option<f64>; 3], cpu: Option<Cpu>| {
            let cpu = [cpu.and_then(|cpu| cpu.server), cpu.and_then(|cpu| cpu.redis), cpu.map(|cpu| cpu.client)];
            let figures = times.into_iter().chain(cpu).map(|figure| figure.map_or("n/a".to_owned(), |figure| format!("{figure:.3}")));
            table.row([name, format!("{per_s:.0}")].into_iter().chain(figures));
        };
        for run in &self.waiting {
            let name = format!("run_and_wait, {} caller{}", run.callers, if run.callers == 1 { "" } else { "s" });
            row(name, run.per_s, [run.p50_ms, run.p95_ms, run.p99_ms].map(Some), Some(run.cpu_s_per_1000));
        }
        row("create + start, actors running".to_owned(), self.submit.submit_per_s, [None; 3], None);
        row("  until all are done".to_owned(), self.submit.end_to_end_per_s, [None; 3], Some(self.submit.cpu_s_per_1000));
        if let Some(drain) = &self.drain {
            row("create + start, no actors".to_owned(), drain.submit_per_s, [None; 3], None);
            row("drain of a full queue".to_owned(), drain.drain_per_s, [None; 3], Some(drain.cpu_s_per_1000));
        }
        table.print()?;
        for group in &self.groups {
            let blocked = |time: Option<f64>| match time {
                None => "n/a".to_owned(),
                Some(0.0) => "less than 0.5 ms".to_owned(),
                Some(time) => format!("{time:.1} ms"),
            };
            line(format!(
                "{}, {} jobs: {:.0} created/s (Redis blocked at most {}), {:.0} run/s (at most {})",
                group.shape,
                group.jobs,
                group.create_per_s,
                blocked(group.create_blocked_ms),
                group.run_per_s,
                blocked(group.run_blocked_ms)
            ))?;
        }
        if let Some(compat) = &self.compat {
            line(format!(
                "other layouts: {:.1} µs of Redis a job with all, {:.1} µs with none, ratio {:.2}",
                compat.all_us, compat.canonical_us, compat.ratio
            ))?;
        }
        match &self.rest {
            Some(rest) => line(format!(
                "at rest: {:.1} MB (proportional set size of {} processes), {:.2}% of one core",
                rest.pss_mb, rest.processes, rest.cpu_percent
            )),
            None => line("at rest: n/a"),
        }
    }
}
