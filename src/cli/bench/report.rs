use serde::Serialize;

use super::coordinator::{Contexts, Flows, Login};
use super::hold::Held;
use super::objects::{Objects, Times};
use super::redis_cost::RedisCost;
use super::scripts::{Python, Script};
use super::usage::Cpu;
use crate::cli::output::table::{Fit, Table};
use crate::cli::output::{Style, line};

/// The results of all measurements.
#[derive(Debug, Default, Serialize)]
pub(super) struct Report {
    /// The measured server.
    pub(super) server: String,
    /// The number of submitted jobs.
    pub(super) jobs: u64,
    /// The server at rest.
    pub(super) rest: Option<Rest>,
    /// Jobs submitted to running actors.
    pub(super) submit: Option<Submit>,
    /// A full queue drained.
    pub(super) drain: Option<Drain>,
    /// Callers that wait for their jobs.
    pub(super) waiting: Vec<Waiting>,
    /// Jobs created in groups, and jobs that wait for each other.
    pub(super) groups: Vec<Group>,
    /// The times that single functions blocked Redis while they handled many jobs.
    pub(super) held: Vec<Held>,
    /// Objects stored and found.
    pub(super) objects: Option<Objects>,
    /// The times of several scripts.
    pub(super) scripts: Vec<Script>,
    /// The times of empty Python jobs.
    pub(super) python: Option<Python>,
    /// The cost of the queues of other layouts.
    pub(super) compat: Option<Compat>,
    /// The cost of login.
    pub(super) login: Option<Login>,
    /// The cost of flows.
    pub(super) flows: Vec<Flows>,
    /// The cost of many contexts and identities.
    pub(super) contexts: Option<Contexts>,
}

/// Jobs created by `create_jobs`, 1000 per call.
#[derive(Debug, Serialize)]
pub(super) struct Group {
    /// `bulk` (no dependencies), `chain` (each waits for the one before), `fan_out` (all wait for one).
    pub(super) shape: &'static str,
    pub(super) jobs: u64,
    pub(super) create_per_s: f64,
    /// Counted from the start of the job that all wait for.
    pub(super) run_per_s: f64,
    /// The longest time that one command blocked Redis while the jobs were created; 0 means less than 0.5.
    pub(super) create_blocked_ms: Option<f64>,
    /// The longest time that one command blocked Redis while the jobs ran; 0 means less than 0.5.
    pub(super) run_blocked_ms: Option<f64>,
}

/// The time of Redis functions for taking and ending a job, in microseconds per job.
#[derive(Debug, Serialize)]
pub(super) struct Compat {
    /// With the queues of this server's own layout only.
    pub(super) canonical_us: f64,
    /// With those of all layouts.
    pub(super) all_us: f64,
    /// `all_us` divided by `canonical_us`.
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
    pub(super) redis_per_job: Option<RedisCost>,
}

#[derive(Debug, Serialize)]
pub(super) struct Drain {
    pub(super) submit_per_s: f64,
    pub(super) timed_jobs: u64,
    pub(super) drain_per_s: f64,
    pub(super) cpu_s_per_1000: Cpu,
    pub(super) redis_per_job: Option<RedisCost>,
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
    pub(super) redis_per_job: Option<RedisCost>,
}

/// Returns the name of a measurement of waiting callers.
pub(super) fn run_and_wait(callers: u64) -> String {
    format!("run and wait, {callers} caller{}", if callers == 1 { "" } else { "s" })
}

/// Returns the head of a table that keeps all columns.
fn head<const N: usize>(names: [&'static str; N]) -> [(&'static str, Fit); N] {
    names.map(|name| (name, Fit::Keep))
}

impl Report {
    pub(super) fn print(&self) -> anyhow::Result<()> {
        let style = Style::stdout();
        if !self.waiting.is_empty() || self.submit.is_some() || self.drain.is_some() {
            self.speeds(style).print()?;
            line(style.dim("times in ms; seconds of processor for 1000 jobs: of the server, of its Redis"))?;
            line(style.dim("among that, and of this program"))?;
            self.print_redis_costs(style)?;
        }
        if !self.groups.is_empty() {
            line("")?;
            self.shapes(style).print()?;
            line(style.dim("HELD: the longest that Redis did nothing but one command, in ms"))?;
        }
        if !self.held.is_empty() {
            line("")?;
            self.holds(style).print()?;
            line(style.dim("the longest call of the function that held Redis longest, and the median of each time's longest, ms"))?;
        }
        line("")?;
        if !self.scripts.is_empty() {
            self.of_scripts(style).print()?;
            line(style.dim("medians in ms: COLD and CACHED of one caller; of an engine alone; PYTHON, NODE: a process for each"))?;
            line(style.dim("COMPUTED: by the thread of an engine, cached, µs; BARE: by Rhai alone, without a job and limits"))?;
            line("")?;
        }
        if let Some(Python { job_ms, new_ms, per_s, process_ms }) = &self.python {
            line(format!(
                "empty Python jobs: {job_ms:.2} ms, {new_ms:.2} where each is new, {per_s:.0}/s by 16 callers; a process each: {process_ms:.2} ms"
            ))?;
        }
        if let Some(Objects { objects, set_per_s, get, find, find_in_script }) = &self.objects {
            line(format!("objects: {set_per_s:.0} stored a second, {objects} in all, with an index"))?;
            for (what, times) in [("one by its id", get), ("ten by an index", find), ("ten by an index, in a script", find_in_script)] {
                let Times { p50_ms, p95_ms, p99_ms } = times;
                line(format!("  {what}: p50 {p50_ms:.2}, p95 {p95_ms:.2}, p99 {p99_ms:.2} ms"))?;
            }
        }
        if let Some(compat) = &self.compat {
            let Compat { all_us, canonical_us, ratio } = compat;
            line(format!("other layouts: a job costs Redis {all_us:.1} µs with all, {canonical_us:.1} µs with none: {ratio:.2}"))?;
        }
        self.print_coordinator()?;
        match &self.rest {
            Some(Rest { pss_mb, processes, cpu_percent }) => {
                line(format!("at rest: {pss_mb:.1} MB (proportional, {processes} processes), {cpu_percent:.2}% of one core"))
            }
            None => line("at rest: n/a"),
        }
    }

    fn print_coordinator(&self) -> anyhow::Result<()> {
        if let Some(Login { none_ms, unrecorded_ms, recorded_ms, ratios: [unrecorded, recorded] }) = &self.login {
            line(format!(
                "login: p50 of one caller {none_ms:.3} ms without, {unrecorded_ms:.3} with ({unrecorded:.3}), {recorded_ms:.3} with the audit log, too ({recorded:.3})"
            ))?;
        }
        for Flows { width, jobs, plain_ms, flow_ms, ratio, cpu_ratio } in &self.flows {
            let cpu = cpu_ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"));
            line(format!(
                "flow of {jobs} jobs, {width} at once: {flow_ms:.2} ms a job, {plain_ms:.2} as plain jobs: {ratio:.2}, of processor time {cpu}"
            ))?;
        }
        if let Some(Contexts { contexts, identities, start_s, empty_start_s, pss_mb, empty_pss_mb, cpu_percent }) = &self.contexts {
            line(format!("{contexts} contexts, {identities} identities: start in {start_s:.2} s ({empty_start_s:.2} without them)"))?;
            line(format!("  at rest {pss_mb:.1} MB ({empty_pss_mb:.1} without them), {cpu_percent:.2}% of one core"))?;
        }
        Ok(())
    }

    fn speeds(&self, style: Style) -> Table {
        let mut table = Table::new(style, &head(["MEASURE", "JOBS/S", "P50", "P95", "P99", "SERVER", "REDIS", "CLIENT"]));
        let mut row = |name: &str, per_s: f64, times: [Option<f64>; 3], cpu: Option<Cpu>| {
            let cpu = [cpu.and_then(|cpu| cpu.server), cpu.and_then(|cpu| cpu.redis), cpu.map(|cpu| cpu.client)];
            // Long times have no decimals, so that the table fits.
            let decimals = |time: f64| if time < 100.0 { 2 } else { 0 };
            let times = times.map(|time| time.map_or("-".to_owned(), |time| format!("{time:.*}", decimals(time))));
            let cpu = cpu.map(|seconds| seconds.map_or("-".to_owned(), |seconds| format!("{seconds:.3}")));
            table.row([name.to_owned(), format!("{per_s:.0}")].into_iter().chain(times).chain(cpu));
        };
        for run in &self.waiting {
            row(&run_and_wait(run.callers), run.per_s, [run.p50_ms, run.p95_ms, run.p99_ms].map(Some), Some(run.cpu_s_per_1000));
        }
        if let Some(submit) = &self.submit {
            row("submit, actors running", submit.submit_per_s, [None; 3], None);
            row("  until all are done", submit.end_to_end_per_s, [None; 3], Some(submit.cpu_s_per_1000));
        }
        if let Some(drain) = &self.drain {
            row("submit, no actors", drain.submit_per_s, [None; 3], None);
            row("drain of a full queue", drain.drain_per_s, [None; 3], Some(drain.cpu_s_per_1000));
        }
        table
    }

    /// Prints what a job costs the private Redis, if there is one.
    fn print_redis_costs(&self, style: Style) -> anyhow::Result<()> {
        let waiting = self.waiting.iter().map(|run| (run_and_wait(run.callers), run.redis_per_job));
        let submit = self.submit.iter().map(|submit| ("submit until all are done".to_owned(), submit.redis_per_job));
        let drain = self.drain.iter().map(|drain| ("drain of a full queue".to_owned(), drain.redis_per_job));
        let mut rows = waiting.chain(submit).chain(drain).filter_map(|(name, cost)| Some((name, cost?))).peekable();
        if rows.peek().is_none() {
            return Ok(());
        }
        let mut table = Table::new(style, &head(["REDIS, A JOB", "FUNCTIONS", "COMMANDS", "BYTES"]));
        for (name, RedisCost { functions, commands, file_bytes }) in rows {
            let bytes = file_bytes.map_or("-".to_owned(), |bytes| format!("{bytes:.0}"));
            table.row([name, format!("{functions:.2}"), format!("{commands:.1}"), bytes]);
        }
        line("")?;
        table.print()?;
        line(style.dim("calls of functions, all commands with those within them, bytes of the append-only file"))
    }

    fn of_scripts(&self, style: Style) -> Table {
        let names = ["SCRIPT", "COLD", "CACHED", "ENGINE COLD", "CACHED", "COMPUTED", "BARE", "PYTHON", "NODE"];
        let mut table = Table::new(style, &head(names));
        let known = |figure: Option<f64>, decimals| figure.map_or("-".to_owned(), |figure| format!("{figure:.decimals$}"));
        for of in &self.scripts {
            let system = [of.cold_ms, of.cached_ms].map(|ms| known(Some(ms), 2));
            let engine = [of.engine_cold_ms, of.engine_ms].map(|ms| known(ms, 3));
            let computed = [of.engine_cpu_us, of.bare_us].map(|us| known(us, 1));
            let processes = [of.python_ms, of.node_ms].map(|ms| known(ms, 1));
            table.row(std::iter::once(of.script.to_owned()).chain(system).chain(engine).chain(computed).chain(processes));
        }
        table
    }

    fn holds(&self, style: Style) -> Table {
        let mut table = Table::new(style, &head(["AT ONCE", "JOBS", "MEDIAN", "LONGEST", "FUNCTION"]));
        for held in &self.held {
            let [median, longest] = [held.median_ms, held.longest_ms].map(|ms| format!("{ms:.2}"));
            table.row([held.what.to_owned(), held.jobs.to_string(), median, longest, held.function.clone()]);
        }
        table
    }

    fn shapes(&self, style: Style) -> Table {
        let mut table = Table::new(style, &head(["GROUPS", "JOBS", "CREATED/S", "HELD", "RUN/S", "HELD"]));
        let blocked = |time: Option<f64>| match time {
            None => "-".to_owned(),
            Some(0.0) => "< 0.5".to_owned(),
            Some(time) => format!("{time:.1}"),
        };
        for group in &self.groups {
            let (created, ran) = (format!("{:.0}", group.create_per_s), format!("{:.0}", group.run_per_s));
            let jobs = group.jobs.to_string();
            table.row([group.shape.to_owned(), jobs, created, blocked(group.create_blocked_ms), ran, blocked(group.run_blocked_ms)]);
        }
        table
    }
}
