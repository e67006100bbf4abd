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
        match &self.rest {
            Some(rest) => line(&format!(
                "at rest: {:.1} MB (proportional set size of {} processes), {:.2}% of one core",
                rest.pss_mb, rest.processes, rest.cpu_percent
            )),
            None => line("at rest: n/a"),
        }
    }
}
